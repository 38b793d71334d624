"""The agent's figures about itself."""

import math
import os
from pathlib import Path

import pytest

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.own_cost import OwnCostCollector
from pulsetrain.agents.run_stats import RunStats

RECORDED = Path(__file__).parents[3] / "data/proc/epyc_vm"


def test_cpu_time_is_a_share_of_the_time_that_passed_and_memory_is_in_bytes() -> None:
    cpu = iter([5_000_000, 6_000_000])
    clock = iter([1_000_000_000, 1_100_000_000])
    stats = RunStats(
        collect_seconds=0.002, tick_delay_seconds=0.001, skipped_ticks=3, lost_samples=40, degraded_level=2
    )
    collector = OwnCostCollector(
        Roots(RECORDED / "proc", RECORDED / "sys"), stats, lambda: next(cpu), lambda: next(clock)
    )
    first = collector.read()
    assert math.isnan(first[0])
    # 1 ms of CPU time in 100 ms; statm's second column is 439 pages.
    expected = [0.01, 439 * os.sysconf("SC_PAGE_SIZE"), 0.002, 0.001, 3, 40, 2]
    assert list(collector.decode([collector.read()])[0]) == pytest.approx(expected)


def test_memory_that_cannot_be_read_is_missing(tmp_path: Path) -> None:
    collector = OwnCostCollector(Roots(tmp_path, tmp_path), RunStats())
    assert collector.is_supported().supported
    assert math.isnan(collector.read()[1])
