"""What a trainer remembers of one model: its versions, what they learned from, and the labels that have come since."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pulsetrain.models.fitting import FittedModel
from pulsetrain.models.labels import LabelledEpisode
from pulsetrain.models.selection.report import DropReason
from pulsetrain.models.trainer_state import TrainerState
from pulsetrain.models.training_task import TrainerSettings
from pulsetrain.schemas.label import LabelVerdict
from pulsetrain.schemas.model_release import KEPT_VERSIONS, ModelManifest, ModelPointer

NS = 1_000_000_000

LABEL_QUIET_NS = 2 * NS
LABEL_PATIENCE_NS = 30 * NS
"""Labels that come one upon another are learned together, but none waits longer than this for the next."""

Made = tuple[LabelVerdict, int]
"""What a training made of an episode: its verdict, and up to which end."""


@dataclass(slots=True)
class ModelHistory:
    """The past of one model that is learned with `settings`.

    `considered` is what a refused training could not learn from. `first_label_ns` is when the oldest label came for
    which no training has been due yet.
    """

    settings: TrainerSettings
    highest_version: int = 0
    pointer: ModelPointer | None = None
    manifests: dict[int, ModelManifest] = field(default_factory=dict)
    states: dict[int, TrainerState] = field(default_factory=dict)
    considered: dict[str, Made] = field(default_factory=dict)
    retry_from_ns: int = 0
    first_label_ns: int | None = None
    newest_label_ns: int = 0

    def observe_version(self, version: int) -> None:
        """Keeps the number from being used again."""
        self.highest_version = max(self.highest_version, version)

    def observe_manifest(self, manifest: ModelManifest) -> None:
        """Keeps what it takes to delete the version some day."""
        self.observe_version(manifest.version)
        self.manifests[manifest.version] = manifest

    def observe_pointer(self, pointer: ModelPointer) -> None:
        """Takes the pointer as the one that holds."""
        self.pointer = pointer
        for release in pointer.releases:
            self.observe_version(release.version)

    def observe_label(self, now_ns: int) -> None:
        """Takes note that a label came at this time of the clock."""
        self.newest_label_ns = now_ns
        if self.first_label_ns is None:
            self.first_label_ns = now_ns

    def keep_state(self, version: int, state: TrainerState) -> None:
        """Keeps the state of a version, and those of the few before it."""
        self.states[version] = state
        for number in sorted(self.states)[: -(KEPT_VERSIONS + 1)]:
            del self.states[number]

    def forget_superseded(self) -> None:
        """A new version was published: older refusals and the versions that no longer score don't matter any more."""
        self.considered.clear()
        for version in set(self.manifests) - self._named():
            del self.manifests[version]

    def base(self) -> TrainerState | None:
        """The state to learn on from: the newest one that the pointer names, of windows of the length in use."""
        window_ns = self.settings.window_ns
        usable = [v for v in self._named() & set(self.states) if self.states[v].model.window_ns == window_ns]
        return self.states[max(usable)] if usable else None

    def made_of_episodes(self) -> dict[str, Made]:
        """What trainings made of the episodes that they knew, by the id of the label."""
        base = self.base()
        learned = {each.episode.id: made_of(each.episode) for each in base.learned.values()} if base else {}
        return learned | self.considered

    def waits_for_labels(self, now_ns: int) -> bool:
        """Whether another label may follow within a moment."""
        if self.first_label_ns is None:
            return False
        is_quiet = now_ns - self.newest_label_ns >= LABEL_QUIET_NS
        return not is_quiet and now_ns - self.first_label_ns < LABEL_PATIENCE_NS

    def _named(self) -> set[int]:
        return {release.version for release in self.pointer.releases} if self.pointer else set()


def learned_otherwise(model: FittedModel, settings: TrainerSettings) -> bool:
    """Whether a model was learned with other settings than these, so that learning anew would give another."""
    if (model.hop_ns, model.false_alarms_per_day) != (settings.hop_ns, settings.false_alarms_per_day):
        return True
    columns = len(model.columns)
    had_more = any(column.reason is DropReason.OVER_LIMIT for column in model.selection.dropped)
    return columns > settings.max_columns or (had_more and columns < settings.max_columns)


def made_of(episode: LabelledEpisode) -> Made:
    """What a training that knows this episode makes of it."""
    return episode.label.verdict, episode.end_ns


def teaches(made: Made | None, episode: LabelledEpisode) -> bool:
    """Whether an episode says something that was not `made` of it before: a verdict, or more of what it is about."""
    if made is None:
        return True
    verdict, end_ns = made
    return verdict is not episode.label.verdict or (episode.is_settled and episode.end_ns > end_ns)


def can_excuse(base: TrainerState, episodes: Sequence[LabelledEpisode]) -> bool:
    """Whether there is or was something that an operator called a false positive."""
    benign = (each for each in episodes if each.label.verdict is LabelVerdict.FALSE_POSITIVE)
    return base.model.benign.profiles > 0 or any(benign)
