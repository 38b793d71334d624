"""The agent's runtime for hours on an injected clock.

`python -m tests.unit.agents.runtime.long_run 100` takes eight hours of ticks of 100 ms and prints what it remembers.
"""

import gc
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulsetrain.agents.budget import BudgetSettings
from pulsetrain.agents.collector_list import scheduled_collectors
from pulsetrain.agents.collectors.base import Collected, Notice, Roots
from pulsetrain.agents.collectors.scheduled import InBackground
from pulsetrain.agents.errors import CollectError
from pulsetrain.agents.feed import BackgroundFeed
from pulsetrain.agents.governor import Governor, Usage
from pulsetrain.agents.outlet import KafkaOutlet
from pulsetrain.agents.pace import Pace
from pulsetrain.agents.publisher import Publisher
from pulsetrain.agents.reporter import Reporter
from pulsetrain.agents.run import supported_collectors
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.runner import Runner
from pulsetrain.agents.session import Node
from pulsetrain.schemas.status import Severity, StatusEvent
from tests.unit.agents.background_fakes import MS, SECOND, START, InStep, ScriptedBackground, seen

RECORDED = Path(__file__).parents[3] / "data/proc/epyc_vm"
HOUR = 3600 * SECOND


class Delivering:
    """A producer whose messages arrive at once."""

    def __init__(self) -> None:
        self.messages = 0
        self._reports: list[Any] = []

    def produce(self, topic: str, *, key: bytes, value: bytes, on_delivery: Any, timestamp: int) -> None:
        self.messages += 1
        self._reports.append(on_delivery)

    def poll(self, timeout: float) -> None:
        for report in self._reports:
            report(None, None)
        self._reports.clear()


class Containers(ScriptedBackground):
    """Containers that come and go, each with a name of its own; now and then it fails or has news."""

    def collect(self, time_ns: int) -> Collected:
        minute = time_ns // (60 * SECOND)
        if minute % 50 == 0:
            raise CollectError(f"the runtime was away at {minute}")
        notices = [Notice(StatusEvent.GPU_XID, Severity.WARNING, f"Xid at {minute}.")] if minute % 7 == 0 else []
        return Collected([seen(f"container:{minute}-{n}", time_ns, 1.0, 2.0, pod=f"p{n}") for n in range(3)], notices)


@dataclass(frozen=True)
class LongRun:
    """Objects and resident bytes after two hours and at the end, and what was done."""

    objects: tuple[int, int]
    resident_bytes: tuple[int, int]
    ticks: int
    messages: int
    lost_samples: int


def long_run(interval_ms: int, hours: int = 8) -> LongRun:
    """The whole runtime with all host collectors on recorded files, a changing background collector, and a producer."""
    now_ns, stats, producer = [START], RunStats(), Delivering()
    opened: Any = lambda _: producer  # noqa: E731
    publisher = Publisher(opened, stats, 1_000_000, clock=lambda: now_ns[0] / SECOND)
    reporter = Reporter("n", "status", publisher, stats, 10.0, lambda: now_ns[0])
    roots = Roots(RECORDED / "proc", RECORDED / "sys")
    scheduled, _ = supported_collectors(scheduled_collectors(roots, stats, 1000), stats)
    threads = [InStep(InBackground(Containers(interval_ms=10_000, name="containers")), lambda: now_ns[0])]
    seen_at: dict[int, tuple[int, int]] = {}

    def usage() -> Usage:
        """Every second hour is too expensive, so that degraded mode is entered and left as well."""
        return Usage(2.0 if now_ns[0] // HOUR % 2 else 0.1, 50.0, 1.0)

    def wait(pause: float) -> bool:
        now_ns[0] += round(pause * SECOND)
        for thread in threads:
            thread.step()
        # Both in the same kind of hour, so that the same is going on.
        if (hour := (now_ns[0] - START) // HOUR) in (2, hours) and hour not in seen_at:
            gc.collect()
            seen_at[hour] = sys.getallocatedblocks(), _resident_bytes()
        return hour >= hours

    runner = Runner(
        Node("n", "boot", {}),
        scheduled,
        interval_ms * MS,
        SECOND,
        KafkaOutlet("samples", "n", publisher, reporter, stats),
        stats,
        BackgroundFeed(threads, reporter, stats),
        Pace(Governor(BudgetSettings()), usage, reporter, stats, monotonic=lambda: now_ns[0] / SECOND),
    )
    runner.run(lambda: now_ns[0], wait)
    for entry in scheduled:
        entry.collector.close()
    (objects_before, bytes_before), (objects_after, bytes_after) = seen_at[2], seen_at[hours]
    return LongRun(
        (objects_before, objects_after),
        (bytes_before, bytes_after),
        stats.ticks,
        producer.messages,
        stats.lost_samples,
    )


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    print(long_run(int(sys.argv[1])))
