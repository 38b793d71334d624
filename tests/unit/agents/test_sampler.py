"""Samples of one entity from several collectors."""

import math

import numpy as np
import pytest

from pulsetrain.agents.errors import CollectError
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.sampler import Sampler
from pulsetrain.schemas.sample_block import MAX_BLOCK_BYTES
from tests.unit.agents.fakes import ScriptedCollector


def test_ticks_become_rows_and_collectors_columns() -> None:
    cpu, disk = ScriptedCollector("cpu", ["a", "b"]), ScriptedCollector("disk", ["c"])
    sampler = Sampler([cpu, disk], 10, RunStats())
    assert sampler.metrics == ("a", "b", "c")
    sampler.sample(100)
    cpu.value, disk.value = 2.0, 3.0
    sampler.sample(200)
    samples = sampler.take()
    assert samples is not None
    assert samples.ticks_ns.tolist() == [100, 200]
    assert samples.values.tolist() == [[1.0, 1.0, 1.0], [2.0, 2.0, 3.0]]
    assert not samples.missing
    assert sampler.take() is None


def test_a_failing_collector_leaves_only_its_own_metrics_missing_with_the_reason() -> None:
    cpu, disk = ScriptedCollector("cpu", ["a", "b"]), ScriptedCollector("disk", ["c"])
    sampler = Sampler([cpu, disk], 10, RunStats())
    sampler.sample(100)
    cpu.failure = CollectError("/proc/stat: No such file or directory")
    sampler.sample(200)
    cpu.failure = None
    sampler.sample(300)
    samples = sampler.take()
    assert samples is not None
    np.testing.assert_array_equal(samples.values, [[1, 1, 1], [math.nan, math.nan, 1], [1, 1, 1]])
    reason = "/proc/stat: No such file or directory"
    assert samples.missing == {"a": reason, "b": reason}
    assert samples.failures == {"cpu": reason}


@pytest.mark.parametrize("failure", [RuntimeError("bug"), ZeroDivisionError("bug"), MemoryError("bug")])
def test_a_fault_in_a_collector_does_not_stop_the_others(failure: Exception) -> None:
    cpu, disk = ScriptedCollector("cpu", ["a"]), ScriptedCollector("disk", ["c"])
    cpu.failure = failure
    sampler = Sampler([cpu, disk], 10, RunStats())
    sampler.sample(100)
    samples = sampler.take()
    assert samples is not None
    np.testing.assert_array_equal(samples.values, [[math.nan, 1]])
    assert samples.failures == {"cpu": f"{type(failure).__name__}: bug"}


def test_a_reading_that_cannot_be_understood_is_missing_with_the_reason() -> None:
    cpu = ScriptedCollector("cpu", ["a"])
    cpu.value = -1.0
    sampler = Sampler([cpu], 10, RunStats())
    sampler.sample(100)
    samples = sampler.take()
    assert samples is not None
    assert samples.missing == {"a": "a negative reading"}


def test_a_reading_that_cannot_be_understood_takes_no_other_with_it() -> None:
    cpu, stats = ScriptedCollector("cpu", ["a"]), RunStats()
    sampler = Sampler([cpu], 10, stats)
    for value in (1.0, -1.0, 3.0):
        cpu.value = value
        sampler.sample(len(sampler.metrics))
    samples = sampler.take()
    assert samples is not None
    np.testing.assert_array_equal(samples.values, [[1], [math.nan], [3]])
    assert samples.failures == {"cpu": "a negative reading"}
    assert (stats.collectors["cpu"].failures, stats.collectors["cpu"].is_up) == (1, True)


def test_a_value_that_a_source_does_not_have_is_missing_and_no_failure() -> None:
    cpu = ScriptedCollector("cpu", ["a"])
    cpu.value = math.nan
    sampler = Sampler([cpu], 10, RunStats())
    sampler.sample(100)
    samples = sampler.take()
    assert samples is not None
    assert samples.missing == {"a": "no value in /proc/cpu"}
    assert not samples.failures


def test_a_failure_is_forgotten_with_the_block_it_happened_in() -> None:
    cpu = ScriptedCollector("cpu", ["a"])
    cpu.failure = CollectError("gone")
    sampler = Sampler([cpu], 10, RunStats())
    sampler.sample(100)
    sampler.take()
    cpu.failure = None
    sampler.sample(200)
    samples = sampler.take()
    assert samples is not None
    assert not samples.failures
    assert not samples.missing


def test_many_ticks_are_all_there_in_order() -> None:
    cpu = ScriptedCollector("cpu", ["a"])
    sampler = Sampler([cpu], 100, RunStats())
    for tick in range(1, 101):
        cpu.value = float(tick)
        sampler.sample(tick)
    assert sampler.is_full
    samples = sampler.take()
    assert samples is not None
    assert samples.values[:, 0].tolist() == list(range(1, 101))


def test_a_block_never_holds_more_ticks_than_fit_into_a_message() -> None:
    sampler = Sampler([ScriptedCollector("gpu", [f"metric{n}" for n in range(2000)])], 100_000, RunStats())
    ticks = 0
    while not sampler.is_full:
        ticks += 1
        sampler.sample(ticks)
    assert ticks * 2000 * 8 <= MAX_BLOCK_BYTES


def test_the_time_and_fate_of_every_reading_are_noted() -> None:
    cpu, disk = ScriptedCollector("cpu", ["a"]), ScriptedCollector("disk", ["b"])
    stats, seconds = RunStats(), iter([0.0, 0.25, 1.0, 2.0, 2.5, 2.625])
    sampler = Sampler([cpu, disk], 10, stats, lambda: next(seconds))
    sampler.sample(100)
    disk.failure = CollectError("gone")
    sampler.sample(200)
    sampler.take()
    # cpu took 0.25 s and 0.5 s, disk 0.75 s and 0.125 s.
    assert stats.collectors["cpu"].take_longest_seconds() == 0.5
    assert stats.collectors["disk"].take_longest_seconds() == 0.75
    assert math.isnan(stats.collectors["disk"].take_longest_seconds())
    assert (stats.collectors["cpu"].failures, stats.collectors["cpu"].is_up) == (0, True)
    assert (stats.collectors["disk"].failures, stats.collectors["disk"].is_up) == (1, False)
