"""Degraded mode seen from the readers' side: an interval that changes loses no sample and invents none."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from pulsetrain.agents.budget import BudgetSettings
from pulsetrain.agents.collectors.base import Support
from pulsetrain.agents.collectors.scheduled import Importance, Scheduled
from pulsetrain.agents.governor import Governor, Usage
from pulsetrain.agents.pace import Pace
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.runner import Runner
from pulsetrain.agents.session import Node
from pulsetrain.schemas.sample_block import SampleBlock
from pulsetrain.streams.settings import WindowSettings
from pulsetrain.streams.windows import ClosedWindow, WindowEngine
from tests.unit.agents.background_fakes import MS, SECOND, START
from tests.unit.agents.test_runner import Outlet

BUSY, FINE = Usage(5.0, 50.0, 1.0), Usage(0.1, 50.0, 1.0)


class Counting:
    """Reads how many readings there were before."""

    entity = "host"

    def __init__(self, name: str) -> None:
        self.name = name
        self.source = name
        self.read_so_far = 0

    def is_supported(self) -> Support:
        return Support(True)

    def metrics(self) -> tuple[str, ...]:
        return (self.name,)

    def read(self) -> int:
        self.read_so_far += 1
        return self.read_so_far - 1

    def decode(self, readings: Sequence[int]) -> list[list[float]]:
        return [[float(reading)] for reading in readings]

    def close(self) -> None:
        """Nothing is open."""


class Silent:
    """Listens to nothing."""

    def degraded(self, level: int, usage: Usage, exceeded: list[str], slowed: dict[str, int]) -> None:
        """It is not the test's matter."""


def degraded_run(busy_until: int, seconds: int) -> tuple[list[SampleBlock], dict[str, Counting]]:
    """Blocks of an agent that is over its budget for a while."""
    now_ns, outlet, stats = [START - 250 * MS], Outlet(), RunStats()
    collectors = {name: Counting(name) for name in ("cpu", "load")}
    pace = Pace(
        Governor(BudgetSettings()),
        lambda: BUSY if now_ns[0] < START + busy_until * SECOND else FINE,
        Silent(),
        stats,
        monotonic=lambda: now_ns[0] / SECOND,
    )
    scheduled = [Scheduled(collectors["cpu"]), Scheduled(collectors["load"], 1000, Importance.LOW)]
    runner = Runner(Node("n", "boot", {}), scheduled, 100 * MS, SECOND, outlet, stats, pace=pace)

    def wait(pause: float) -> bool:
        now_ns[0] += round(pause * SECOND)
        return now_ns[0] > START + seconds * SECOND

    runner.run(lambda: now_ns[0], wait)
    return outlet.blocks, collectors


def read_by_engine(blocks: list[SampleBlock]) -> tuple[WindowEngine, list[ClosedWindow]]:
    engine = WindowEngine(WindowSettings())
    windows = []
    for offset, block in enumerate(blocks):
        windows += engine.process(block, offset, int(block.ticks_ns[-1]) + SECOND // 10).windows
    return engine, windows


def test_the_way_down_and_back_leaves_every_reading_in_its_windows() -> None:
    blocks, collectors = degraded_run(busy_until=200, seconds=1000)
    intervals = [block.interval_ns // MS for block in blocks if block.collector == "host"]
    assert [interval for interval, _ in groupby(intervals)] == [100, 200, 400, 800, 400, 200, 100]

    for name, collector in collectors.items():
        values = np.concatenate([block.values[:, 0] for block in blocks if block.metrics == (name,)])
        # The reading before the first tick is for collectors that compute increments.
        np.testing.assert_array_equal(values, np.arange(1, collector.read_so_far))

    engine, windows = read_by_engine(blocks)
    counts = engine.counts
    assert counts.received == counts.used == sum(block.values.size for block in blocks)
    sent = {
        name: {
            int(tick): value
            for block in blocks
            if block.metrics == (name,)
            for tick, value in zip(block.ticks_ns, block.values[:, 0], strict=True)
        }
        for name in collectors
    }
    assert len(windows) > 190
    for window in windows:
        assert window.complete
        for source in window.entities[0].sources:
            (name,) = source.metrics
            in_window = {tick: value for tick, value in sent[name].items() if window.start_ns <= tick < window.end_ns}
            assert dict(zip(source.ticks_ns.tolist(), source.values[:, 0].tolist(), strict=True)) == in_window


def test_every_tick_lies_on_the_grid_of_its_blocks_interval() -> None:
    blocks, _ = degraded_run(busy_until=200, seconds=1000)
    for block in blocks:
        assert not np.any(block.ticks_ns % block.interval_ns), block.collector
        assert not np.any(np.diff(block.ticks_ns) != block.interval_ns), block.collector
