"""Models of the simulated nodes, learned from a calm fleet and published before the first window is scored."""

from collections.abc import Iterator

from pulsetrain.models.fitting import fit
from pulsetrain.models.release import release_records, updated_pointer
from pulsetrain.models.training_windows import TrainingWindows
from pulsetrain.schemas.feature_window import decode_feature_window
from pulsetrain.schemas.kafka import KafkaSettings, checked_key
from pulsetrain.schemas.model_release import ModelRecord, encode_model_record
from pulsetrain.schemas.sample_block import encode_sample_block
from pulsetrain.streams.settings import WindowSettings
from tests.crash.reference import undisturbed_windows
from tests.crash.sources import SECOND_NS
from tests.crash.stream import troubled_fleet
from tests.crash.troubled_agent import CALM
from tests.model_releases import warm_up_release
from tests.topic_log import Record, produce

_NODES = 4
_SECONDS = 150
_MAX_COLUMNS = 24
_COLLECTION_NS = 3600 * SECOND_NS


def publish_models(
    kafka: KafkaSettings, topic: str, windows: WindowSettings, start_ns: int, second_version_ns: int
) -> int:
    """Two versions for each kind of entity; returns how many were published.

    The first scores every window, the second those that end at or after `second_version_ns`: what scores a window
    depends on the window alone, although both versions are there from the start.
    """
    learned = TrainingWindows(_COLLECTION_NS, _COLLECTION_NS)
    for window in undisturbed_windows(_calm_log(start_ns - _COLLECTION_NS), windows).values():
        learned.add(decode_feature_window(window))
    published = 0
    for kind in learned.kinds:
        pointer = None
        for version, effective_from_ns in ((1, 1), (2, second_version_ns)):
            produce(kafka, topic, map(_encoded, _release(learned, kind, version, windows)))
            pointer, _ = updated_pointer(kind, pointer, version, effective_from_ns)
            published += 1
        assert pointer is not None
        produce(kafka, topic, [_encoded(pointer)])
    return published


def _calm_log(start_ns: int) -> Iterator[Record]:
    fleet = troubled_fleet(_NODES, seed=0, start_ns=start_ns, troubles=CALM)
    offset = 0
    for second in range(_SECONDS):
        append_ms = (start_ns + second * SECOND_NS) // 1_000_000
        for agent in fleet:
            for block in agent.send_second():
                yield Record(0, offset, append_ms, None, encode_sample_block(block), {})
                offset += 1


def _release(learned: TrainingWindows, kind: str, version: int, windows: WindowSettings) -> list[ModelRecord]:
    span = learned.normal_span(kind)
    assert span is not None
    # The versions differ: the second has not seen the first fifth of the windows.
    normal = learned.matrix(kind, span.first_end_ns + (version - 1) * span.length_ns // 5, span.last_end_ns)
    model = fit(
        normal.rows,
        normal.names,
        normal.ends_ns,
        window_ns=round(windows.length_seconds * SECOND_NS),
        hop_ns=round(windows.hop_seconds * SECOND_NS),
        entities=normal.entities,
        max_columns=_MAX_COLUMNS,
    )
    return list(release_records(warm_up_release(model, kind, version, state=b"")))


def _encoded(record: ModelRecord) -> tuple[bytes, bytes]:
    return checked_key(record.key), encode_model_record(record)
