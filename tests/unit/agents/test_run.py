"""One session from its settings to its blocks."""

from pathlib import Path
from typing import Any

import pytest

from pulsetrain.agents import run
from pulsetrain.agents.background_threads import BackgroundThreads
from pulsetrain.agents.collector_list import BackgroundSource
from pulsetrain.agents.collectors.base import Notice, Support
from pulsetrain.agents.collectors.health import HealthCollector
from pulsetrain.agents.collectors.scheduled import InBackground, Scheduled
from pulsetrain.agents.orders import Orders
from pulsetrain.agents.run import Run
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.settings import AgentSettings
from pulsetrain.schemas.sample_block import SampleBlock
from pulsetrain.schemas.status import StatusEvent
from tests.unit.agents.background_fakes import ScriptedBackground
from tests.unit.agents.fakes import ScriptedCollector


class Outlet:
    """Keeps blocks and orders to stop after the first tick; whatever else is told is not listened to."""

    def __init__(self) -> None:
        self.blocks: list[SampleBlock] = []
        self.orders = Orders()

    def block(self, block: SampleBlock) -> None:
        self.blocks.append(block)

    def tick_done(self, _time_ns: int) -> None:
        self.orders.stop()

    def __getattr__(self, name: str) -> Any:
        return lambda *_arguments: None


def session(
    monkeypatch: pytest.MonkeyPatch, scheduled: list[ScriptedCollector], slow: list[ScriptedBackground]
) -> tuple[Run, Outlet, RunStats, BackgroundThreads]:
    outlet, stats = Outlet(), RunStats()
    registered = [*map(Scheduled, scheduled), Scheduled(HealthCollector(stats))]
    monkeypatch.setattr(run, "scheduled_collectors", lambda *_: registered)
    source = BackgroundSource((), lambda: list(map(InBackground, slow)))
    monkeypatch.setattr(run, "background_sources", lambda *_: {"slow": source})
    anyone: Any = outlet
    background = BackgroundThreads(stats, anyone.notice)
    return Run(AgentSettings(node="n"), anyone, anyone, stats, background), outlet, stats, background


def test_how_every_collector_fares_is_a_metric_of_those_in_the_background_too(monkeypatch: pytest.MonkeyPatch) -> None:
    made, outlet, stats, background = session(monkeypatch, [ScriptedCollector("cpu", ["a"])], [ScriptedBackground()])
    made.run(outlet.orders.wait)
    made.close()
    background.close()
    outlet.orders.close()
    assert set(stats.collectors) == {"cpu", "collector_health", "nvml"}
    (block,) = outlet.blocks
    for collector in stats.collectors:
        for what in ("duration", "failures", "up"):
            assert f"pulsetrain.agent.collector.{what}{{agent.collector={collector}}}" in block.metrics


def test_what_collectors_that_are_read_at_ticks_have_to_tell_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for number in range(17):
        (tmp_path / f"devices/system/node/node{number}").mkdir(parents=True)
    told: list[Notice] = []
    anyone: Any = Outlet()
    monkeypatch.setattr(anyone, "notice", told.append, raising=False)
    monkeypatch.setattr(run, "background_sources", lambda *_: {})
    settings = AgentSettings(node="n", proc_root=str(tmp_path), sys_root=str(tmp_path))
    Run(settings, anyone, anyone, RunStats(), BackgroundThreads(RunStats(), anyone.notice)).close()
    anyone.orders.close()
    assert [(notice.event, notice.details["collector"]) for notice in told] == [(StatusEvent.SAMPLES_DROPPED, "numa")]


class Stubborn(ScriptedCollector):
    """Can't be closed."""

    def close(self) -> None:
        super().close()
        raise OSError("busy")


class Absent(Stubborn):
    """Has nothing to read here either."""

    def is_supported(self) -> Support:
        return Support(False, "no such device")


def test_a_collector_that_fails_to_close_keeps_no_other_open_and_the_agent_going(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    collectors = [Absent("gpu", ["a"]), ScriptedCollector("cpu", ["b"]), Stubborn("disk", ["c"])]
    collectors.append(ScriptedCollector("load", ["d"]))
    made, outlet, _, background = session(monkeypatch, collectors, [])
    made.close()
    background.close()
    outlet.orders.close()
    assert all(collector.closed for collector in collectors)
    for name in ("gpu", "disk"):
        assert f"The collector {name} could not be closed." in caplog.text


def test_a_session_that_cannot_begin_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("no runner works with that")

    monkeypatch.setattr(run, "Runner", refuse)
    collectors = [ScriptedCollector("cpu", ["a"]), ScriptedCollector("load", ["b"])]
    with pytest.raises(ValueError, match="no runner works with that"):
        session(monkeypatch, collectors, [])
    assert all(collector.closed for collector in collectors)
