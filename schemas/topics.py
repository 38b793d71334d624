"""The map of all topics: what each carries, how it is keyed, partitioned and kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulsetrain.schemas import feature_window, model_release, sample_block
from pulsetrain.schemas.json_record import MAX_JSON_BYTES

DEFAULT_PREFIX = "pulsetrain."
DEFAULT_PARTITIONS = 4

_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_RECORD_OVERHEAD_BYTES = 4096
"""Room for a record's key and headers beside its value."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic. `partitions` None means the number that the operator chose for the partitioned topics."""

    name: str
    key: str
    value: str
    description: str
    max_message_bytes: int
    partitions: int | None = None
    retention_ms: int = 7 * _DAY_MS
    compacted: bool = False
    broker_time: bool = False

    def full_name(self, prefix: str) -> str:
        """The topic's name on the broker."""
        return prefix + self.name

    def broker_settings(self) -> Mapping[str, str]:
        """Topic settings as Apache Kafka names them."""
        return {
            "cleanup.policy": "compact" if self.compacted else "delete",
            "retention.ms": "-1" if self.compacted else str(self.retention_ms),
            "message.timestamp.type": "LogAppendTime" if self.broker_time else "CreateTime",
            "max.message.bytes": str(self.max_message_bytes + _RECORD_OVERHEAD_BYTES),
        }

    def essential_settings(self) -> Mapping[str, str]:
        """Those of `broker_settings` without which readers go wrong: the broker's time, and compaction."""
        names = [
            *(["message.timestamp.type"] if self.broker_time else []),
            *(["cleanup.policy"] if self.compacted else []),
        ]
        settings = self.broker_settings()
        return {name: settings[name] for name in names}


SAMPLES = Topic(
    "samples",
    key="node",
    value="Avro SampleBlock",
    description="raw samples: many ticks of many metrics of one collector and entity",
    max_message_bytes=sample_block.MAX_BLOCK_BYTES,
    retention_ms=6 * _HOUR_MS,
    broker_time=True,
)
FEATURES = Topic(
    "features",
    key="node",
    value="Avro FeatureWindow",
    description="one window of one entity: features, counts of samples; the trainer reads it back",
    max_message_bytes=feature_window.MAX_WINDOW_BYTES,
)
ANOMALIES = Topic(
    "anomalies",
    key="entity",
    value="JSON Anomaly",
    description="verdicts with votes, evidence, model version, data quality and revision",
    max_message_bytes=MAX_JSON_BYTES,
    retention_ms=30 * _DAY_MS,
)
LABELS = Topic(
    "labels",
    key="anomaly id, or entity@start of a missed fault",
    value="JSON Label",
    description="operator feedback",
    max_message_bytes=MAX_JSON_BYTES,
    partitions=1,
    compacted=True,
)
MODELS = Topic(
    "models",
    key="name, name/version/manifest or name/version/chunk",
    value="Avro ModelPointer, ModelManifest or ModelChunk",
    description="models in chunks, their manifests and the pointer to what scores from when on",
    max_message_bytes=model_release.MAX_MESSAGE_BYTES,
    partitions=1,
    compacted=True,
)
STATUS = Topic(
    "status",
    key="node or worker",
    value="JSON Status",
    description="heartbeats, silent nodes, model and data-quality events",
    max_message_bytes=MAX_JSON_BYTES,
)
DEAD_LETTER = Topic(
    "dead-letter",
    key="original key",
    value="original bytes",
    description="what could not be processed; headers: topic, partition, offset, reason",
    max_message_bytes=feature_window.MAX_WINDOW_BYTES,
    retention_ms=30 * _DAY_MS,
)

ALL_TOPICS = (SAMPLES, FEATURES, ANOMALIES, LABELS, MODELS, STATUS, DEAD_LETTER)

MAX_RECORD_BYTES = max(topic.max_message_bytes for topic in ALL_TOPICS) + _RECORD_OVERHEAD_BYTES
"""The largest record of any topic, with its key and headers."""


@dataclass(frozen=True, slots=True)
class TopicNames:
    """The topics' full names under one prefix."""

    prefix: str = DEFAULT_PREFIX
    samples: str = field(init=False)
    features: str = field(init=False)
    anomalies: str = field(init=False)
    labels: str = field(init=False)
    models: str = field(init=False)
    status: str = field(init=False)
    dead_letter: str = field(init=False)

    def __post_init__(self) -> None:
        for topic in ALL_TOPICS:
            object.__setattr__(self, topic.name.replace("-", "_"), topic.full_name(self.prefix))
