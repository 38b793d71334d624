"""A run of the features stage over simulated nodes, and what an undisturbed run gives for the same log."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from confluent_kafka import Producer

from pulsetrain.cli.topics import create_topics
from pulsetrain.schemas.kafka import KafkaSettings, producer_config
from pulsetrain.schemas.sample_block import SampleBlock, encode_sample_block
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams.settings import WindowSettings
from tests.crash.reference import WindowId, identified_windows, undisturbed_windows
from tests.topic_log import GroupProgress, Record, TopicReader, whole_topic

PARTITIONS = 4
LONG_IDLE_SECONDS = 600.0

_CONFIG = """
[kafka]
bootstrap = "{bootstrap}"

[topics]
prefix = "{prefix}"
partitions = {partitions}

[worker]
heartbeat_seconds = 1.0

[worker.windows]
length_seconds = 5.0
hop_seconds = 1.0
idle_timeout_seconds = {idle_timeout_seconds}
"""


class FeaturesRun:
    """Topics of its own on the broker, a configuration file for workers, and the log of what went in and came out.

    The reference is the window engine itself, read through once without a worker; that it follows the rules is shown
    by its unit tests, against the rules as they are written down.

    Args:
        idle_timeout_seconds: a slow machine must not make nodes look silent where a test does not want that.
    """

    def __init__(
        self, kafka: KafkaSettings, prefix: str, folder: Path, idle_timeout_seconds: float = LONG_IDLE_SECONDS
    ) -> None:
        self.kafka = kafka
        self.topics = TopicNames(prefix)
        create_topics(kafka, prefix, PARTITIONS, replication_factor=1)
        self.config = folder / "pulsetrain.toml"
        self._windows = WindowSettings(length_seconds=5.0, hop_seconds=1.0, idle_timeout_seconds=idle_timeout_seconds)
        self.config.write_text(
            _CONFIG.format(
                bootstrap=kafka.bootstrap,
                prefix=prefix,
                partitions=PARTITIONS,
                idle_timeout_seconds=idle_timeout_seconds,
            )
        )
        self._producer = Producer(producer_config(kafka))
        self._progress = GroupProgress(kafka, f"{prefix}features", self.topics.samples)
        self.features = TopicReader(kafka, self.topics.features)
        self.status = TopicReader(kafka, self.topics.status)

    def send(self, blocks: Iterable[SampleBlock]) -> None:
        """Queues blocks; their confirmation is waited for in `flush`."""
        for block in blocks:
            self._producer.produce(self.topics.samples, key=block.node.encode(), value=encode_sample_block(block))
        self._producer.poll(0)

    def flush(self, seconds: float = 60.0) -> None:
        """Waits until the broker has all blocks."""
        assert self._producer.flush(seconds) == 0, f"blocks were not confirmed within {seconds:.0f} s"

    def committed(self) -> dict[int, int]:
        """The offset that the workers have committed, by partition."""
        return self._progress.committed()

    def expected(self, *, until_silent: bool = False) -> dict[WindowId, bytes]:
        """What one undisturbed worker makes of the whole log of samples, and of the silence after it."""
        log = whole_topic(self.kafka, self.topics.samples)
        return undisturbed_windows(log, self._windows, until_silent=until_silent)

    def close(self) -> None:
        """Leaves the broker."""
        self.features.close()
        self.status.close()
        self._progress.close()


def windows_by_id(records: Iterable[Record]) -> dict[WindowId, set[bytes]]:
    """Every content that was published under each window's id."""
    found: dict[WindowId, set[bytes]] = defaultdict(set)
    for identity, content in identified_windows(records):
        found[identity].add(content)
    return dict(found)
