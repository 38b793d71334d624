"""What one worker of each stage that nothing ever happens to makes of a log: the stages' own pure functions, called
one after the other in this process. That these follow the rules is shown by their unit tests."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator

from pulsetrain.models.registry import LoadedModel, ModelRegistry
from pulsetrain.models.training_windows import entity_kind
from pulsetrain.schemas.feature_window import FeatureWindow, decode_feature_window, encode_feature_window
from pulsetrain.schemas.json_record import encode_json
from pulsetrain.schemas.sample_block import decode_sample_block
from pulsetrain.streams.extraction import feature_windows
from pulsetrain.streams.features import FeatureSets
from pulsetrain.streams.scoring import WindowScorer
from pulsetrain.streams.settings import WindowSettings
from pulsetrain.streams.verdicts import State, judge
from pulsetrain.streams.windows import ClosedWindow, WindowEngine
from tests.topic_log import Record

WindowId = tuple[str, str, int]
"""Entity, session, end in ns."""

VerdictId = tuple[str, int]
"""Anomaly id, revision."""

_HOUR_NS = 3_600_000_000_000


def undisturbed_windows(
    log: Iterable[Record], settings: WindowSettings, *, until_silent: bool = False
) -> dict[WindowId, bytes]:
    """The encoded windows of a log of samples, each partition in order of offsets; those of an entity in their order.

    Args:
        until_silent: whether to wait, after the log, until all nodes count as silent.
    """
    feature_sets = FeatureSets.from_fc_parameters()
    engines: dict[int, WindowEngine] = defaultdict(lambda: WindowEngine(settings))
    windows: dict[WindowId, bytes] = {}

    def take(closed: Iterable[ClosedWindow]) -> None:
        for window in (window for one in closed for window in feature_windows(one, feature_sets, settings)):
            identity = window_id(window)
            assert identity not in windows, f"an undisturbed worker emits {identity} twice"
            windows[identity] = encode_feature_window(window)

    for record in log:
        block = decode_sample_block(record.value)
        take(engines[record.partition].process(block, record.offset, record.timestamp_ms * 1_000_000).windows)
    if until_silent:
        for engine in engines.values():
            take(engine.advance(time.time_ns() + _HOUR_NS).windows)
    return windows


def undisturbed_verdicts(windows: Iterable[bytes], models: Iterable[Record]) -> dict[VerdictId, bytes]:
    """The encoded verdicts on windows, those of an entity in their order, with the versions of a log of models."""
    registry = ModelRegistry()
    for record in models:
        registry.apply(record.key, record.value)
    states: dict[str, State] = defaultdict(dict)
    scorers: dict[str, WindowScorer] = {}
    verdicts: dict[VerdictId, bytes] = {}
    for window in map(decode_feature_window, windows):
        loaded = registry.scorer_at(entity_kind(window.entity), window.end_ns)
        judgement = None
        if isinstance(loaded, LoadedModel):
            version = loaded.manifest.sha256
            if version not in scorers:
                scorers[version] = WindowScorer(loaded.manifest, loaded.scorer)
            verdict = scorers[version].judge(window)
            judgement = None if isinstance(verdict, str) else verdict
        states[window.entity], anomaly = judge(states[window.entity], window, judgement)
        if anomaly is not None:
            assert (anomaly.id, anomaly.revision) not in verdicts, f"{anomaly.id} has revision {anomaly.revision} twice"
            verdicts[anomaly.id, anomaly.revision] = encode_json(anomaly)
    return verdicts


def window_id(window: FeatureWindow) -> WindowId:
    """What tells a window from all others."""
    return window.entity, window.session, window.end_ns


def identified_windows(records: Iterable[Record]) -> Iterator[tuple[WindowId, bytes]]:
    """Each record of the features topic with the id of its window."""
    for record in records:
        yield window_id(decode_feature_window(record.value)), record.value or b""
