"""What a worker holds of the models topic: the pointers, and every version of a model that may score, ready to do so.

The state is a function of the topic's records alone, so that every worker, now or in a replay, scores a window with
the same version. Whatever a record does, a model that could score before can score after it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from pulsetrain.models.errors import ModelRejectedError
from pulsetrain.models.graph import IR_VERSION, OPSETS
from pulsetrain.models.release import KEY_SEPARATOR, Release
from pulsetrain.models.release_assembler import MAX_VERSIONS_PER_NAME, RejectedRelease, ReleaseAssembler
from pulsetrain.models.runtime import Scorer, Scores
from pulsetrain.models.trial import trial_rows, trial_scores
from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.schemas.errors import DecodeError
from pulsetrain.schemas.model_release import ModelManifest, ModelPointer, decode_model_record

MAX_NAMES = 64

_VERSION_PATH = re.compile(r"[^/]+/([0-9]{1,19})/[^/]+")
"""Key of a manifest or of a chunk; the group is the version."""

TestRows = Callable[[str, tuple[str, ...]], FloatArray | None]
"""Recent rows (windows, columns) of a model's name and columns, NaN where missing; None where there are none."""


class RegistryChange(StrEnum):
    """What a record of the models topic led to."""

    LOADED = "loaded"
    REJECTED = "rejected"
    POINTER_MOVED = "pointer_moved"
    TOMBSTONE_IGNORED = "tombstone_ignored"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class RegistryEvent:
    """A change: `message` tells people; the trainer takes the `release` that loaded or the `pointer` that moved."""

    change: RegistryChange
    message: str
    name: str | None = None
    version: int | None = None
    release: Release | None = None
    pointer: ModelPointer | None = None


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A version that passed its test and can score."""

    manifest: ModelManifest
    scorer: Scorer

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def version(self) -> int:
        return self.manifest.version


@dataclass(frozen=True, slots=True)
class NoModel:
    """Why there is nothing to score a window with."""

    reason: str


@dataclass(slots=True)
class _Versions:
    """What is held of one model. `named` are the versions that a pointer ever named, `highest` is of any record."""

    highest: int = 0
    pointer: ModelPointer | None = None
    loaded: dict[int, LoadedModel] = field(default_factory=dict)
    rejected: dict[int, str] = field(default_factory=dict)
    named: set[int] = field(default_factory=set)

    def is_pointed_at(self, version: int) -> bool:
        return self.pointer is not None and any(release.version == version for release in self.pointer.releases)


class ModelRegistry:
    """Takes the records of the models topic one by one and says which model scores a window."""

    def __init__(self) -> None:
        self._assembler = ReleaseAssembler()
        self._models: dict[str, _Versions] = {}

    def apply(self, key: bytes | None, value: bytes | None, test_rows: TestRows | None = None) -> list[RegistryEvent]:
        """Takes one record; never raises, whatever it holds.

        A release that it completes is loaded and tested before it counts: on `test_rows` beside the newest model where
        there are any, else on its own medians.
        """
        try:
            name_or_path = (key or b"").decode()
        except UnicodeDecodeError:
            name_or_path = ""
        if not name_or_path:
            return [RegistryEvent(RegistryChange.UNREADABLE, "a record of the models topic has no readable key")]
        if value is None:
            return self._take_tombstone(name_or_path)
        try:
            record = decode_model_record(value)
        except DecodeError as error:
            return [RegistryEvent(RegistryChange.UNREADABLE, f"models record {name_or_path!r}: {error}")]
        if record.key != name_or_path or KEY_SEPARATOR in record.name:
            message = f"models record {name_or_path!r} holds {record.key!r}: neither is used"
            return [RegistryEvent(RegistryChange.UNREADABLE, message)]
        if record.name not in self._models and len(self._models) >= MAX_NAMES:
            message = f"models record {name_or_path!r} ignored: {MAX_NAMES} models are known already"
            return [RegistryEvent(RegistryChange.UNREADABLE, message)]
        if isinstance(record, ModelPointer):
            return self._take_pointer(record)
        model = self._models.setdefault(record.name, _Versions())
        model.highest = max(model.highest, record.version)
        events = []
        for outcome in self._assembler.add(record):
            if isinstance(outcome, RejectedRelease):
                events.append(self._reject(outcome.name, outcome.version, outcome.reason))
            else:
                events.append(self._load(outcome, test_rows))
        return events

    def scorer_at(self, name: str, window_end_ns: int) -> LoadedModel | NoModel:
        """The model that scores a window of entity kind `name` that ends at `window_end_ns`.

        It is the version effective at that time; where that one was rejected, the last earlier one that was not.
        """
        model = self._models.get(name)
        if model is None or model.pointer is None:
            return NoModel(f"there is no model of {name} yet")
        effective = [r.version for r in model.pointer.releases if r.effective_from_ns <= window_end_ns]
        if not effective:
            return NoModel(f"the first version of model {name} is effective only later than this window")
        usable = [version for version in effective if version in model.loaded]
        usable = usable or [v for v in model.loaded if v in model.named and v < effective[0]]
        if usable:
            return model.loaded[max(usable)]
        wanted = effective[-1]
        return NoModel(f"version {wanted} of model {name} can't be used: {self._obstacle(name, wanted)}")

    def newest(self, name: str) -> LoadedModel | None:
        """The newest version that the pointer names and that can score; None where there is none."""
        model = self._models.get(name)
        usable = [version for version in model.loaded if version in model.named] if model else []
        return model.loaded[max(usable)] if model and usable else None

    def highest_version(self, name: str) -> int:
        """The highest version of which any record was read, also of a release that was cut short; 0 where none was.

        Whoever publishes takes a higher one: chunks that were left behind would be mistaken for its own.
        """
        model = self._models.get(name)
        return model.highest if model else 0

    def _take_pointer(self, pointer: ModelPointer) -> list[RegistryEvent]:
        name = pointer.name
        if not pointer.releases:
            message = f"the pointer of model {name} names no version: the last one stays"
            return [RegistryEvent(RegistryChange.REJECTED, message, name)]
        model = self._models.setdefault(name, _Versions())
        if pointer == model.pointer:
            return []
        model.pointer = pointer
        model.named.update(release.version for release in pointer.releases)
        model.highest = max(model.highest, *model.named)
        newest = pointer.releases[-1]
        events = [
            RegistryEvent(
                RegistryChange.POINTER_MOVED,
                f"version {newest.version} of model {name} scores windows that end at or after "
                f"{newest.effective_from_ns} ns",
                name,
                newest.version,
                pointer=pointer,
            )
        ]
        if newest.version not in model.loaded and newest.version not in model.rejected:
            events.append(self._reject(name, newest.version, self._obstacle(name, newest.version)))
        self._prune(model)
        return events

    def _take_tombstone(self, path: str) -> list[RegistryEvent]:
        name = path.partition(KEY_SEPARATOR)[0]
        model = self._models.get(name)
        if model is None:
            return []
        if name == path:
            message = f"the pointer of model {name} was deleted: the last one stays"
            return [RegistryEvent(RegistryChange.TOMBSTONE_IGNORED, message, name)]
        found = _VERSION_PATH.fullmatch(path)
        if found is None:
            return []
        version = int(found[1])
        if model.is_pointed_at(version):
            message = f"{path} was deleted, though version {version} of model {name} may score: it stays"
            return [RegistryEvent(RegistryChange.TOMBSTONE_IGNORED, message, name, version)]
        self._assembler.forget(name, version)
        model.rejected.pop(version, None)
        if self.newest(name) is not model.loaded.get(version):
            model.loaded.pop(version, None)
        return []

    def _load(self, release: Release, test_rows: TestRows | None) -> RegistryEvent:
        manifest = release.manifest
        name, version = manifest.name, manifest.version
        try:
            loaded = _load(release)
            tested = _test(loaded, self.newest(name), test_rows)
        except ModelRejectedError as error:
            return self._reject(name, version, error.reason)
        model = self._models.setdefault(name, _Versions())
        model.rejected.pop(version, None)
        model.loaded[version] = loaded
        self._prune(model)
        message = f"version {version} of model {name} loaded; {tested}"
        return RegistryEvent(RegistryChange.LOADED, message, name, version, release=release)

    def _reject(self, name: str, version: int, reason: str) -> RegistryEvent:
        model = self._models.setdefault(name, _Versions())
        if version not in model.loaded:
            model.rejected[version] = reason
        self._prune(model)
        kept = self.newest(name)
        stays = f"version {kept.version} stays" if kept else "there is no earlier one"
        message = f"version {version} of model {name} rejected: {reason}; {stays}"
        return RegistryEvent(RegistryChange.REJECTED, message, name, version)

    def _obstacle(self, name: str, version: int) -> str:
        rejected = self._models[name].rejected.get(version)
        return rejected or self._assembler.missing(name, version) or "it is no longer held"

    @staticmethod
    def _prune(model: _Versions) -> None:
        """Forgets what can't score any more; the newest versions and the last good one stay."""
        known = set(model.loaded) | set(model.rejected)
        kept = {version for version in known if model.is_pointed_at(version)}
        kept.update(sorted(known)[-MAX_VERSIONS_PER_NAME:])
        good = [version for version in model.loaded if version in model.named]
        kept.update(sorted(good)[-1:])
        model.loaded = {version: loaded for version, loaded in model.loaded.items() if version in kept}
        model.rejected = {version: reason for version, reason in model.rejected.items() if version in kept}
        model.named = {version for version in model.named if version in kept or model.is_pointed_at(version)}


def _load(release: Release) -> LoadedModel:
    """A scorer for the release.

    Raises:
        ModelRejectedError: the runtime of this worker does not fit what the manifest says, or the graph is unusable.
    """
    manifest = release.manifest
    if not 1 <= manifest.ir_version <= IR_VERSION:
        raise ModelRejectedError(f"ir_version {manifest.ir_version}: at most {IR_VERSION} is accepted")
    if dict(manifest.opsets) != OPSETS:
        raise ModelRejectedError(f"opsets {dict(manifest.opsets)}: {OPSETS} are expected")
    return LoadedModel(manifest, Scorer(release.graph, manifest.columns))


def _test(loaded: LoadedModel, live: LoadedModel | None, test_rows: TestRows | None) -> str:
    """Scores rows with the new model and with the live one, and says how it went.

    Raises:
        ModelRejectedError: the new model gives no finite verdict on a row.
    """
    scores = _scores_on_trial(loaded, test_rows)
    if live is None or test_rows is None:
        return "its medians score"
    try:
        beside = _scores_on_trial(live, test_rows)
    except ModelRejectedError:
        return f"it scores, version {live.version} does not"
    if len(beside.flagged) != len(scores.flagged):
        return "it scores"
    agreeing = int((beside.flagged == scores.flagged).sum())
    return f"it agrees with version {live.version} on {agreeing} of {len(scores.flagged)} recent windows"


def _scores_on_trial(model: LoadedModel, test_rows: TestRows | None) -> Scores:
    recent = test_rows(model.name, model.manifest.columns) if test_rows else None
    return trial_scores(model.manifest, model.scorer, trial_rows(model.manifest, recent))
