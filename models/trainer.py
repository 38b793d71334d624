"""When to train what: a state machine over windows, anomalies, labels and the models topic.

It decides and remembers; it does not train (`training_task.execute` does, off the event loop) and does not publish.
Time is event time, except for the short wait for further labels.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from pulsetrain.models.errors import ModelRejectedError
from pulsetrain.models.labels import LabelBook, LabelledEpisode, LabelOutcome
from pulsetrain.models.release import Release, tombstone_keys, updated_pointer
from pulsetrain.models.trainer_history import ModelHistory, can_excuse, made_of, teaches
from pulsetrain.models.trainer_state import TrainerState, decode_trainer_state
from pulsetrain.models.training_faults import FaultSpan, call_for_selection, fault_windows, settled_faults, with_windows
from pulsetrain.models.training_matrix import TrainingMatrix
from pulsetrain.models.training_task import (
    EpisodeWindows,
    Refused,
    TrainerSettings,
    TrainingReason,
    TrainingTask,
)
from pulsetrain.models.training_windows import TrainingWindows, entity_kind
from pulsetrain.models.warm_up import awaited_columns, warmed_up_share
from pulsetrain.schemas.anomaly import Anomaly
from pulsetrain.schemas.feature_window import FeatureWindow
from pulsetrain.schemas.label import Label, LabelVerdict
from pulsetrain.schemas.model_release import ModelPointer

NS = 1_000_000_000

HISTORY_WARM_UPS = 6
"""How far back windows count as normal, in warm-up times: room for a warm-up that is interrupted."""

ANOMALOUS_SPAN_NS = 7 * 24 * 3600 * NS
"""How long the windows of an anomaly wait for a label: as long as the features topic keeps them."""

FUTURE_LIMIT_NS = 600 * NS
"""A window that ends so far ahead of the clock does not move event time."""

RETRY_SHARE = 4
"""After a refused warm-up the next one waits for this fraction of the warm-up time."""

LATE_WINDOWS_NS = 60 * NS
"""After so much more event time the windows of an episode are taken as they are, also where some never came."""


@dataclass(frozen=True, slots=True)
class Activation:
    """What makes a published release the one that scores: the new pointer, then the keys that may be deleted."""

    pointer: ModelPointer
    tombstone_keys: tuple[str, ...]


class Trainer:
    """Fed with what the stream brings, it says when a training is due.

    Args:
        settings: how models are learned.
        clock: Unix time in nanoseconds; it dates releases, bounds event time and the moment from which a version
            scores, and decides nothing else than how long labels wait for each other.

    After a start, feed it the models topic, the anomalies, the features and the labels, each to its end and best in
    this order, before `due` is asked: a label needs its anomaly, and windows of anomalies are kept longer. One training
    runs at a time: after `due` gave a task, exactly one of `published`, `refused` and `abandoned` is called for it.
    """

    def __init__(self, settings: TrainerSettings, clock: Callable[[], int]) -> None:
        self._settings = settings
        self._clock = clock
        self._windows = TrainingWindows(HISTORY_WARM_UPS * settings.warm_up_ns, ANOMALOUS_SPAN_NS)
        self._book = LabelBook()
        self._models: dict[str, ModelHistory] = {}
        self._event_time_ns = 0
        self._running: TrainingTask | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The entity kinds of which windows were seen: each has a model of that name, or is to get one."""
        return self._windows.kinds

    def add_window(self, window: FeatureWindow) -> bool:
        """Takes a window; False where it is no training data."""
        if window.end_ns - window.start_ns != self._settings.window_ns or not self.observe_event_time(window.end_ns):
            return False
        return self._windows.add(window)

    def observe_event_time(self, window_end_ns: int) -> bool:
        """Takes the end of a window that was seen; False where it lies too far ahead of the clock to be true."""
        if window_end_ns > self._clock() + FUTURE_LIMIT_NS:
            return False
        self._event_time_ns = max(self._event_time_ns, window_end_ns)
        return True

    def observe_anomaly(self, anomaly: Anomaly) -> None:
        """Takes a revision of an anomaly; until someone calls it a false positive, its windows are not normal."""
        known = self._book.observe(anomaly)
        if known is None:
            return
        self._mark(known.entity, known.first_end_ns, known.last_end_ns, self._book.episode(known.id))

    def add_label(self, label: Label) -> LabelOutcome:
        """Takes a label; one of an unknown anomaly belongs to the dead letters."""
        outcome = self._book.add(label)
        episode = self._book.episode(label.anomaly_id)
        if outcome is LabelOutcome.ACCEPTED and episode is not None:
            self._mark(episode.entity, episode.start_ns, episode.end_ns, episode)
            kind = entity_kind(episode.entity)
            if kind in self.kinds:
                self._model(kind).observe_label(self._clock())
        return outcome

    def holding_label(self, anomaly_id: str) -> Label | None:
        """The label that holds for an anomaly or a missed fault, e.g. instead of one that is outdated."""
        return self._book.holding(anomaly_id)

    def observe_version(self, name: str, version: int) -> None:
        """Takes note of a version on the models topic, so that its number is not used again."""
        self._model(name).observe_version(version)

    def observe_pointer(self, pointer: ModelPointer) -> None:
        """Takes the pointer of a model."""
        self._model(pointer.name).observe_pointer(pointer)
        self._mark_learned(pointer.name)

    def observe_release(self, release: Release) -> str | None:
        """Takes a release from which training may go on; returns why its state is of no use, if it is not."""
        manifest = release.manifest
        model = self._model(manifest.name)
        model.observe_manifest(manifest)
        try:
            state = decode_trainer_state(release.state)
        except ModelRejectedError as error:
            return f"training can't go on from version {manifest.version} of model {manifest.name}: {error}"
        model.keep_state(manifest.version, state)
        self._book.restore(learned.episode for learned in state.learned.values())
        self._mark_learned(manifest.name)
        return None

    def warm_up_share(self, name: str) -> float:
        """How much of its warm-up a model has behind it, 0 to 1; 1 where it has been trained and needs no other."""
        lacking = self._awaited(name)
        return 1.0 if lacking is None else self._warmed_up(name, lacking)

    def due(self) -> TrainingTask | None:
        """The training to run now; None where nothing is to be learned yet, or while one is running."""
        if self._running is not None:
            return None
        due = (self._due(name) for name in self._windows.kinds)
        self._running = next((task for task in due if task is not None), None)
        return self._running

    def activation(self, release: Release) -> Activation:
        """What to publish once a release's records are confirmed: it scores from a moment that no worker has reached.

        That moment follows the newest window seen or, where that one lies ahead of the clock, the clock: one node
        whose clock is minutes fast must not put the model off for all others. What remains: windows of such a node
        that end after that moment may have been scored already, with the version before; the same holds where this
        worker's clock is slow.

        Raises:
            ReleaseError: a newer version was published meanwhile.
        """
        name = release.manifest.name
        model = self._model(name)
        effective_from_ns = min(self._event_time_ns, self._clock()) + self._settings.activation_delay_ns
        pointer, expired = updated_pointer(name, model.pointer, release.manifest.version, effective_from_ns)
        manifests = [model.manifests[version] for version in expired if version in model.manifests]
        return Activation(pointer, tuple(key for manifest in manifests for key in tombstone_keys(manifest)))

    def published(self, release: Release, pointer: ModelPointer) -> None:
        """The running training's release and pointer are on the topic."""
        self._running = None
        self.observe_pointer(pointer)
        self.observe_release(release)
        self._model(pointer.name).forget_superseded()

    def refused(self, refusal: Refused) -> None:
        """The running training gave nothing: it is tried again only with other labels, or with more windows."""
        task, self._running = self._running, None
        model = self._model(refusal.name)
        model.retry_from_ns = self._event_time_ns + self._settings.warm_up_ns // RETRY_SHARE
        if task is not None and task.reason is TrainingReason.LABELS:
            model.considered.update((each.episode.id, made_of(each.episode)) for each in task.episodes)

    def abandoned(self) -> None:
        """The running training ended for a reason that is not in its data, e.g. Kafka was away: it is due again."""
        task, self._running = self._running, None
        if task is not None:
            # Some records of it may be on the topic already.
            self.observe_version(task.name, task.version)

    def _model(self, name: str) -> ModelHistory:
        return self._models.setdefault(name, ModelHistory(self._settings))

    def _mark_learned(self, name: str) -> None:
        for episode in self._book.episodes():
            if entity_kind(episode.entity) == name:
                self._mark(episode.entity, episode.start_ns, episode.end_ns, episode)

    def _mark(self, entity: str, start_ns: int, end_ns: int, episode: LabelledEpisode | None) -> None:
        """Keeps an episode's windows apart; those of a false positive are normal once a model has learned from them."""
        is_normal = False
        if episode is not None and episode.label.verdict is LabelVerdict.FALSE_POSITIVE:
            is_normal = self._model(entity_kind(entity)).made_of_episodes().get(episode.id) == made_of(episode)
        if is_normal:
            self._windows.mark_normal(entity, start_ns)
        else:
            self._windows.mark_anomalous(entity, start_ns, end_ns)

    def _awaited(self, name: str) -> tuple[str, ...] | None:
        return awaited_columns(name, self._model(name).base(), self._windows, self._settings)

    def _warmed_up(self, name: str, lacking: tuple[str, ...]) -> float:
        return warmed_up_share(name, lacking, self._windows, self._settings)

    def _due(self, name: str) -> TrainingTask | None:
        base = self._model(name).base()
        episodes = [each for each in self._book.episodes() if entity_kind(each.entity) == name]
        lacking = self._awaited(name)
        if lacking is not None and self._can_learn_anew(name, lacking):
            return self._anew(name, TrainingReason.WARM_UP, episodes, lacking)
        if base is None or self._model(name).waits_for_labels(self._clock()):
            return None
        if lacking is None and self._calls_for_selection(name, base, episodes) and self._can_learn_anew(name, ()):
            return self._anew(name, TrainingReason.SELECTION, episodes, ())
        return self._from_labels(name, base, episodes)

    def _can_learn_anew(self, name: str, lacking: tuple[str, ...]) -> bool:
        return self._warmed_up(name, lacking) >= 1 and self._event_time_ns >= self._model(name).retry_from_ns

    def _calls_for_selection(self, name: str, base: TrainerState, episodes: Sequence[LabelledEpisode]) -> bool:
        # Asked in the order of what it costs: labels, then windows.
        chosen = base.model.selection
        if not call_for_selection(chosen, settled_faults(episodes, self._settings.window_ns)):
            return False
        return call_for_selection(chosen, self._faults(name, filter(self._has_windows, episodes)))

    def _faults(self, name: str, ready: Iterable[LabelledEpisode]) -> tuple[FaultSpan, ...]:
        return with_windows(settled_faults(ready, self._settings.window_ns), self._windows.ends_ns(name))

    def _anew(
        self, name: str, reason: TrainingReason, episodes: Sequence[LabelledEpisode], lacking: tuple[str, ...]
    ) -> TrainingTask:
        ready = [each for each in episodes if self._has_windows(each)]
        faults = fault_windows(self._windows, self._faults(name, ready), self._settings.window_ns)
        task = self._task(name, reason, self._normal_of_warm_up(name, episodes, lacking), ready)
        return replace(task, replaced=self._model(name).base(), faults=faults)

    def _from_labels(self, name: str, base: TrainerState, episodes: Sequence[LabelledEpisode]) -> TrainingTask | None:
        made = self._model(name).made_of_episodes()
        new = [each for each in episodes if teaches(made.get(each.id), each)]
        waiting = {each.id for each in new if not self._has_windows(each)}
        if len(waiting) == len(new) or not can_excuse(base, episodes):
            return None
        ready = [each for each in episodes if each.id not in waiting or each.id in base.learned]
        normal = self._windows.matrix(name, self._event_time_ns - self._settings.warm_up_ns, self._event_time_ns)
        return replace(self._task(name, TrainingReason.LABELS, normal, ready), base=base)

    def _task(
        self, name: str, reason: TrainingReason, normal: TrainingMatrix, ready: Sequence[LabelledEpisode]
    ) -> TrainingTask:
        model = self._model(name)
        model.first_label_ns = None
        return TrainingTask(
            name=name,
            version=model.highest_version + 1,
            reason=reason,
            created_ns=self._clock(),
            settings=self._settings,
            normal=normal,
            base=None,
            episodes=tuple(EpisodeWindows(each, self._windows_of(each)) for each in ready),
        )

    def _normal_of_warm_up(
        self, name: str, episodes: Sequence[LabelledEpisode], lacking: tuple[str, ...]
    ) -> TrainingMatrix:
        """Normal windows but for all that was ever labelled: what is benign is excused, and not made ordinary."""
        for each in episodes:
            self._windows.mark_anomalous(each.entity, each.start_ns, each.end_ns)
        normal = self._windows.matrix(name, 0, self._event_time_ns, lacking)
        self._mark_learned(name)
        return normal

    def _has_windows(self, episode: LabelledEpisode) -> bool:
        """Whether the windows of an episode have arrived, or had time enough to."""
        # A window that holds a short missed fault may end almost a window after it.
        last_end_ns = episode.end_ns + (self._settings.window_ns if episode.is_missed_fault else 0)
        newest_ns = self._windows.newest_end_ns(episode.entity)
        if newest_ns is not None and newest_ns + self._settings.hop_ns > last_end_ns:
            return True
        return self._event_time_ns >= last_end_ns + LATE_WINDOWS_NS

    def _windows_of(self, episode: LabelledEpisode) -> TrainingMatrix:
        find = self._windows.windows_during if episode.is_missed_fault else self._windows.windows_of
        return find(episode.entity, episode.start_ns, episode.end_ns)
