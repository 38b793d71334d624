"""Our agent, as an operator starts it; what it sends is read from Kafka."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.sample_block import SampleBlock, decode_sample_block
from pulsetrain.schemas.topics import TopicNames
from tests.bench.children import module_process
from tests.bench.figures import BenchError
from tests.bench.peers.peer import Peer
from tests.topic_log import TopicReader

_START_SECONDS = 60.0
_LAST_BLOCK_SECONDS = 10.0

# Nothing may slow it down while it is measured, and agents must not meet at one socket of hooks.
_CONFIGURATION = """
[agent]
node = "{node}"
interval_ms = {interval_ms}
budget = {{ cpu_percent = 100.0, memory_mebibytes = 1000.0, load_per_core = 1000.0 }}
hook = {{ socket_path = "{folder}/hook.sock" }}
"""


class PulsetrainAgent(Peer):
    """An agent whose blocks are read from the samples topic by its node's name."""

    def __init__(self, pid: int, node: str, samples: TopicReader) -> None:
        super().__init__(pid)
        self._node = node
        self._samples = samples
        self._read = 0
        self._blocks: list[SampleBlock] = []
        self._series: set[tuple[str, str]] = set()
        self._begin_ns = 0

    def begin(self) -> None:
        self._begin_ns = time.time_ns()

    def end(self) -> float:
        end_ns = time.time_ns()
        self.wait_for_tick(end_ns, _LAST_BLOCK_SECONDS)
        count = 0
        for block in self._blocks:
            rows = (block.ticks_ns >= self._begin_ns) & (block.ticks_ns < end_ns)
            finite = np.isfinite(block.values[rows])
            count += int(np.count_nonzero(finite))
            self._series |= {(block.entity, block.metrics[column]) for column in np.flatnonzero(finite.any(axis=0))}
        self._blocks.clear()
        return float(count)

    def series(self) -> int:
        return len(self._series)

    def wait_for_tick(self, time_ns: int, seconds: float) -> None:
        """Read blocks until one reaches that time.

        Raises:
            BenchError: none does within so many seconds.
        """
        until = time.monotonic() + seconds
        while not any(block.ticks_ns[-1] >= time_ns for block in self._blocks):
            if time.monotonic() > until:
                raise BenchError(f"{self._node} sent nothing for {seconds:.0f} s: see build/bench/{self._node}.log")
            records = self._samples.poll()[self._read :]
            self._read += len(records)
            blocks = (decode_sample_block(record.value) for record in records)
            self._blocks += [block for block in blocks if block.node == self._node]


@contextmanager
def pulsetrain_agent(interval_ms: int, bootstrap: str, folder: Path) -> Iterator[PulsetrainAgent]:
    """`pulsetrain agent` at that interval, with its configuration in the folder; it has begun to send."""
    node = f"bench-{interval_ms}ms"
    config = folder / "pulsetrain.toml"
    config.write_text(_CONFIGURATION.format(node=node, interval_ms=interval_ms, folder=folder))
    command = ["pulsetrain.cli.main", "agent", "--config", str(config), "--bootstrap", bootstrap]
    with (
        closing(TopicReader(KafkaSettings(bootstrap=bootstrap), TopicNames().samples)) as samples,
        module_process(command, f"{node}.log") as process,
    ):
        agent = PulsetrainAgent(process.pid, node, samples)
        agent.wait_for_tick(0, _START_SECONDS)
        yield agent
