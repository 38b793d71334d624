"""A collector that can't be made is told like one that fails, and keeps no other from being made."""

from pathlib import Path
from typing import NoReturn

import pytest

from pulsetrain.agents import collector_list
from pulsetrain.agents.background import BackgroundThread
from pulsetrain.agents.collector_list import background_collectors, scheduled_collectors
from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.run import supported_collectors
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.settings import AgentSettings
from tests.unit.agents.background_fakes import SECOND, START, Clock

REASON = "it could not be made: ValueError: no such chip"


def broken(*_: object, **__: object) -> NoReturn:
    raise ValueError("no such chip")


def test_what_is_read_at_ticks_goes_on_without_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    roots = Roots(tmp_path, tmp_path)
    whole = [entry.collector.name for entry in scheduled_collectors(roots, RunStats(), 1000)]
    monkeypatch.setattr(collector_list, "RaplCollector", broken)
    registered = scheduled_collectors(roots, RunStats(), 1000)
    assert [entry.collector.name for entry in registered] == whole
    assert supported_collectors(registered, RunStats())[1]["rapl"] == REASON


def test_what_is_read_in_the_background_goes_on_without_it_and_its_failure_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    roots = Roots(tmp_path, tmp_path)
    whole = [entry.collector.name for entry in background_collectors(roots, AgentSettings(node="n"))]
    monkeypatch.setattr(collector_list, "HwmonCollector", broken)
    registered = {entry.collector.name: entry for entry in background_collectors(roots, AgentSettings(node="n"))}
    assert list(registered) == whole
    clock = Clock(START + SECOND // 2)
    thread = BackgroundThread(registered["hwmon"], clock.time_ns, clock.monotonic)
    thread.run(clock.wait)
    assert [(outcome.failure, outcome.is_unsupported) for outcome in thread.outcomes()] == [(REASON, False)]
