"""What the node agent costs on this machine: a real agent process at 100 ms against the embedded broker."""

import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

from pulsetrain.agents.agent import run_agent, supported_collectors
from pulsetrain.agents.collectors import all_collectors
from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.settings import AgentSettings
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import TopicNames

_START_SECONDS = 5.0
_MEASURED_SECONDS = 10.0
_END_SECONDS = 15.0
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def run() -> dict[str, float]:
    """CPU share of one core in per cent, resident MiB, and the number of metrics."""
    # Here, so that the agent's process does not load the broker.
    from pulsetrain.cli.brokers.embedded import EmbeddedBroker

    with EmbeddedBroker() as broker:
        agent = multiprocessing.get_context("spawn").Process(target=_serve, args=(broker.bootstrap,))
        agent.start()
        try:
            time.sleep(_START_SECONDS)
            begin, cpu_begin = time.monotonic(), _cpu_seconds(agent.pid)
            time.sleep(_MEASURED_SECONDS)
            seconds, cpu_seconds = time.monotonic() - begin, _cpu_seconds(agent.pid) - cpu_begin
            resident = int(Path(f"/proc/{agent.pid}/statm").read_text().split()[1]) * _PAGE_BYTES
        finally:
            agent.terminate()
            agent.join(_END_SECONDS)
    collectors, _ = supported_collectors(all_collectors(Roots(), RunStats()))
    return {
        "agent_cpu_percent_100ms": 100.0 * cpu_seconds / seconds,
        "agent_rss_mib_100ms": resident / 2**20,
        "agent_metrics": float(sum(len(collector.metrics()) for collector in collectors)),
    }


def _serve(bootstrap: str) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    run_agent(AgentSettings(interval_ms=100), KafkaSettings(bootstrap=bootstrap), TopicNames(), stop)


def _cpu_seconds(pid: int | None) -> float:
    """CPU time of all threads so far; the scheduler counts it in nanoseconds, /proc/<pid>/stat in hundredths."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) * 1e-9


if __name__ == "__main__":
    for figure, value in run().items():
        print(f"{figure:28} {value:.3f}")
