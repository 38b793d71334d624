"""Where the work of the runner goes: to Kafka's topics."""

from pulsetrain.agents.publisher import Publisher
from pulsetrain.agents.reporter import Reporter
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.schemas.errors import EncodeError
from pulsetrain.schemas.kafka import checked_key
from pulsetrain.schemas.sample_block import SampleBlock, encode_sample_block


class KafkaOutlet:
    """Blocks to the samples topic, the fate of collectors and heartbeats to the status topic."""

    def __init__(self, topic: str, node: str, publisher: Publisher, reporter: Reporter, stats: RunStats) -> None:
        self._topic = topic
        self._key = checked_key(node)
        self._publisher = publisher
        self._reporter = reporter
        self._stats = stats
        self.collector_read = reporter.collector_read
        self.collector_unsupported = reporter.collector_unsupported
        self.notice = reporter.notice

    def block(self, block: SampleBlock) -> None:
        """Send a block; one that can't be encoded is lost and counted."""
        try:
            message = encode_sample_block(block)
        except EncodeError as error:
            self._stats.lose(block.values.size, "encode", f"a block can't be sent ({error})")
            return
        self._publisher.send(self._topic, self._key, message, block.values.size)

    def tick_done(self, time_ns: int) -> None:
        """Use the time until the next tick."""
        self._reporter.beat(time_ns)
        self._publisher.poll()
