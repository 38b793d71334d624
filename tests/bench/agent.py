"""What the node agent costs on this machine: `pulsetrain agent` at 100 ms against the embedded broker."""

import time
from statistics import median

from pulsetrain.agents.agent import supported_collectors
from pulsetrain.agents.collectors import all_collectors
from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.cli.brokers.embedded import EmbeddedBroker
from tests.bench.children import module_process
from tests.bench.figures import BenchError, Figure
from tests.bench.process_cost import cpu_seconds, resident_mib

_START_SECONDS = 5.0
_SLICES = 5
_SLICE_SECONDS = 2.0
_MEDIAN = f"median of {_SLICES} times {_SLICE_SECONDS:.0f} s"

FIGURES = (
    Figure("agent_cpu_percent_100ms", "% of a core", f"`pulsetrain agent` at 100 ms, all threads; {_MEDIAN}"),
    Figure("agent_rss_mib_100ms", "MiB", "its resident memory after that, shared libraries included"),
    Figure("agent_metrics", "metrics", "how many it reads each time on this machine"),
)


def run() -> dict[str, float]:
    """A real agent, as an operator starts it, sends to a broker in this process."""
    percents = []
    with (
        EmbeddedBroker() as broker,
        module_process(["pulsetrain.cli.main", "agent", "--bootstrap", broker.bootstrap], "agent.log") as agent,
    ):
        time.sleep(_START_SECONDS)
        for _ in range(_SLICES):
            begin, cpu_begin = time.monotonic(), cpu_seconds(agent.pid)
            time.sleep(_SLICE_SECONDS)
            percents.append(100.0 * (cpu_seconds(agent.pid) - cpu_begin) / (time.monotonic() - begin))
        if agent.poll() is not None:
            raise BenchError(f"the agent ended with code {agent.returncode}: see build/bench/agent.log")
        resident = resident_mib(agent.pid)
    collectors, _ = supported_collectors(all_collectors(Roots(), RunStats()))
    return {
        "agent_cpu_percent_100ms": median(percents),
        "agent_rss_mib_100ms": resident,
        "agent_metrics": float(sum(len(collector.metrics()) for collector in collectors)),
    }
