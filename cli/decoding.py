"""What a message of each topic holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from pulsetrain.cli.topic_reader import Received
from pulsetrain.schemas.anomaly import Anomaly
from pulsetrain.schemas.feature_window import FeatureWindow, decode_feature_window
from pulsetrain.schemas.json_record import decode_json
from pulsetrain.schemas.label import Label
from pulsetrain.schemas.model_release import ModelRecord, decode_model_record
from pulsetrain.schemas.sample_block import SampleBlock, decode_sample_block
from pulsetrain.schemas.status import Status
from pulsetrain.schemas.topics import (
    ANOMALIES,
    DEAD_LETTER,
    FEATURES,
    LABELS,
    MODELS,
    SAMPLES,
    STATUS,
    Topic,
)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that could not be processed: where it stood, why, and its bytes."""

    topic: str
    partition: str
    offset: str
    reason: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A key that was deleted."""

    key: str


Record = SampleBlock | FeatureWindow | ModelRecord | Anomaly | Label | Status | DeadLetter | Tombstone

_DECODERS: Mapping[Topic, Callable[[bytes | None], Record]] = {
    SAMPLES: decode_sample_block,
    FEATURES: decode_feature_window,
    MODELS: decode_model_record,
    ANOMALIES: partial(decode_json, record_type=Anomaly),
    LABELS: partial(decode_json, record_type=Label),
    STATUS: partial(decode_json, record_type=Status),
}


def decode(topic: Topic, received: Received) -> Record:
    """The record of a message of `topic`.

    Raises:
        DecodeError: its bytes are no such record.
    """
    if topic is DEAD_LETTER:
        texts = {name: (value or b"").decode(errors="replace") for name, value in received.headers.items()}
        return DeadLetter(
            texts.get("topic", "?"),
            texts.get("partition", "?"),
            texts.get("offset", "?"),
            texts.get("reason", "no reason given"),
            received.value or b"",
        )
    if received.value is None and topic.compacted:
        return Tombstone(received.key)
    return _DECODERS[topic](received.value)
