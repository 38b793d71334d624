"""What the governor is told of the agent and its node."""

import math
import os
from pathlib import Path

import pytest

from pulsetrain.agents.usage import UsageMeter

RECORDED = Path(__file__).parents[2] / "data/proc/epyc_vm/proc"
SECOND = 1_000_000_000


def test_processor_time_is_a_percentage_of_the_time_since_the_previous_call() -> None:
    cpu, clock = iter([0, 50_000_000, 350_000_000]), iter([0, 10 * SECOND, 20 * SECOND])
    meter = UsageMeter(RECORDED, 4, lambda: next(cpu), lambda: next(clock))
    assert meter.usage().cpu_percent == pytest.approx(0.5)
    assert meter.usage().cpu_percent == pytest.approx(3.0)
    meter.close()


def test_memory_and_load_come_from_proc() -> None:
    usage = UsageMeter(RECORDED, 4).usage()
    # statm's second column is 439 pages.
    assert usage.memory_mebibytes == pytest.approx(439 * os.sysconf("SC_PAGE_SIZE") / 2**20)
    assert usage.load_per_core == float((RECORDED / "loadavg").read_text().split()[0]) / 4


def test_what_cannot_be_read_is_not_known(tmp_path: Path) -> None:
    usage = UsageMeter(tmp_path, 4, lambda: 0, lambda: 0).usage()
    assert all(map(math.isnan, (usage.cpu_percent, usage.memory_mebibytes, usage.load_per_core)))
