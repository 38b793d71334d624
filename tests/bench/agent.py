"""What the node agent costs on this machine: `pulsetrain agent` at 100 ms against the embedded broker."""

import time
from statistics import median

from pulsetrain.cli.brokers.embedded import EmbeddedBroker
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.sample_block import decode_sample_block
from pulsetrain.schemas.topics import TopicNames
from tests.bench.children import module_process
from tests.bench.figures import BenchError, Figure
from tests.bench.process_cost import cpu_seconds, resident_mib
from tests.topic_log import TopicReader

_START_SECONDS = 30.0
_WARM_UP_SECONDS = 3.0
_SLICES = 5
_SLICE_SECONDS = 2.0

_MEDIAN = f"median of {_SLICES} times {_SLICE_SECONDS:.0f} s"

FIGURES = (
    Figure("agent_cpu_percent_100ms", "% of a core", f"`pulsetrain agent` at 100 ms, all threads; {_MEDIAN}"),
    Figure("agent_rss_mib_100ms", "MiB", "its resident memory after that, shared libraries included"),
    Figure("agent_metrics", "metrics", "how many it read and sent meanwhile"),
    Figure(
        "agent_samples_per_s", "samples/s", "how many samples of them it sent; ten times as many as metrics at best"
    ),
)


def run() -> dict[str, float]:
    """A real agent, as an operator starts it, sends to a broker in this process."""
    topics = TopicNames()
    percents = []
    with (
        EmbeddedBroker() as broker,
        module_process(["pulsetrain.cli.main", "agent", "--bootstrap", broker.bootstrap], "agent.log") as agent,
    ):
        broker.declare([topics.samples, topics.status])
        sent = TopicReader(KafkaSettings(bootstrap=broker.bootstrap), topics.samples)
        sent.until("the agent's first samples", lambda records: len(records) > 0, _START_SECONDS)
        time.sleep(_WARM_UP_SECONDS)
        before = len(sent.poll())
        for _ in range(_SLICES):
            begin, cpu_begin = time.monotonic(), cpu_seconds(agent.pid)
            time.sleep(_SLICE_SECONDS)
            percents.append(100.0 * (cpu_seconds(agent.pid) - cpu_begin) / (time.monotonic() - begin))
        resident = resident_mib(agent.pid)
        blocks = [decode_sample_block(record.value) for record in sent.poll()[before:]]
        sent.close()
    if not blocks:
        raise BenchError("the agent sent nothing while it was measured: see build/bench/agent.log")
    return {
        "agent_cpu_percent_100ms": median(percents),
        "agent_rss_mib_100ms": resident,
        "agent_metrics": float(len({(block.entity, metric) for block in blocks for metric in block.metrics})),
        "agent_samples_per_s": sum(block.values.size for block in blocks) / (_SLICES * _SLICE_SECONDS),
    }
