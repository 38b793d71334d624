"""What is being read when a session ends comes into its last blocks, or is counted."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest

from pulsetrain.agents import background_threads, run
from pulsetrain.agents.agent import run_agent
from pulsetrain.agents.background import BackgroundThread, stop_all
from pulsetrain.agents.background_threads import BackgroundThreads
from pulsetrain.agents.collector_list import BackgroundSource
from pulsetrain.agents.collectors.base import Collected, Support
from pulsetrain.agents.collectors.scheduled import InBackground
from pulsetrain.agents.errors import CollectError
from pulsetrain.agents.orders import Orders
from pulsetrain.agents.reload import AllSettings
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.settings import AgentSettings
from pulsetrain.agents.spool import Spool, SpooledMessage
from pulsetrain.agents.spool.settings import SpoolSettings
from pulsetrain.schemas.json_record import decode_json
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.sample_block import decode_sample_block
from pulsetrain.schemas.status import Status, StatusEvent
from pulsetrain.schemas.topics import TopicNames
from tests.unit.agents.background_fakes import START, WAIT_SECONDS, ScriptedBackground, seen

BROUGHT = Collected([seen("gpu:1", START, 1.0, 2.0)])


class UnderWay(ScriptedBackground):
    """Is being asked when the session ends; answers when the test says so, or when it is closed."""

    def __init__(self, answer: Collected | Exception = BROUGHT, ends_when_closed: bool = False) -> None:
        super().__init__([answer], interval_ms=1, deadline_seconds=60.0)
        self.called, self.released = threading.Event(), threading.Event()
        self.before = self._answer_late
        self._ends_when_closed = ends_when_closed

    def close(self) -> None:
        super().close()
        if self._ends_when_closed:
            self.released.set()

    def registered(self) -> BackgroundSource:
        return BackgroundSource((), lambda: [InBackground(self)])

    def _answer_late(self, _: int) -> None:
        self.called.set()
        assert self.released.wait(WAIT_SECONDS), "nobody released the call"


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long an end waits, so that what hangs does not take the test's time."""
    monkeypatch.setattr(background_threads, "stop_all", partial(stop_all, seconds=0.2))


@contextmanager
def asked(background: BackgroundThreads, collector: UnderWay) -> Iterator[None]:
    """A thread that is asking its collector."""
    (thread,) = background.of({"nvml": collector.registered()})
    thread.start()
    assert collector.called.wait(WAIT_SECONDS), "the collector was not called"
    yield
    collector.released.set()
    assert thread.join(WAIT_SECONDS), "the thread did not end"


@pytest.mark.usefixtures("patience")
def test_a_reading_that_hangs_when_the_agent_ends_is_counted() -> None:
    stats = RunStats()
    background, collector = BackgroundThreads(stats, lambda _: None), UnderWay()
    with asked(background, collector):
        background.close()
        assert stats.unfinished_readings == 1


@pytest.mark.usefixtures("patience")
def test_a_reading_that_hangs_when_its_collectors_settings_change_is_counted_each_time() -> None:
    stats = RunStats()
    background = BackgroundThreads(stats, lambda _: None)
    for times in (1, 2, 3):
        with asked(background, UnderWay()):
            background.of({})
            assert stats.unfinished_readings == times


def closed_under_way(monkeypatch: pytest.MonkeyPatch, collector: UnderWay) -> tuple[RunStats, BackgroundThread]:
    """The counts, and the thread, of a collector that was closed in the middle of a call."""
    monkeypatch.setattr(background_threads, "stop_all", partial(stop_all, seconds=3.0))
    stats = RunStats()
    background = BackgroundThreads(stats, lambda _: None)
    (thread,) = background.of({"nvml": collector.registered()})
    thread.start()
    assert collector.called.wait(WAIT_SECONDS), "the collector was not called"
    background.close()
    return stats, thread


@pytest.mark.parametrize("answer", [CollectError("the child has ended"), Collected()], ids=["an error", "nothing"])
def test_a_reading_that_is_cut_short_by_closing_its_collector_is_counted_and_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, answer: Collected | Exception
) -> None:
    stats, thread = closed_under_way(monkeypatch, UnderWay(answer, ends_when_closed=True))
    assert stats.unfinished_readings == 1
    assert list(thread.outcomes()) == []


def test_what_a_closed_collector_brings_after_all_is_taken_and_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    stats, thread = closed_under_way(monkeypatch, UnderWay(ends_when_closed=True))
    assert stats.unfinished_readings == 0
    assert [outcome.collected for outcome in thread.outcomes()] == [BROUGHT]


@pytest.mark.usefixtures("patience")
def test_a_source_that_hangs_while_it_is_tried_is_no_reading() -> None:
    class NeverThere(UnderWay):
        def is_supported(self) -> Support:
            self._answer_late(0)
            return Support(False, "no such device")

    stats = RunStats()
    background = BackgroundThreads(stats, lambda _: None)
    with asked(background, NeverThere()):
        background.close()
        assert stats.unfinished_readings == 0


def messages_of_an_agent(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    collector: UnderWay,
    release_at_end: bool,
    order: Callable[[Orders], None] = Orders.stop,
    read_anew: Callable[[Orders, AllSettings], AllSettings] | None = None,
) -> list[SpooledMessage]:
    """What an agent without Kafka leaves in its spool if an order to stop comes while its collector is asked."""
    orders = Orders()

    def stopping(threads: Sequence[BackgroundThread]) -> list[str]:
        if release_at_end and threads:
            collector.released.set()
        return stop_all(threads, seconds=WAIT_SECONDS if release_at_end else 0.2)

    def stop_when_called() -> None:
        assert collector.called.wait(WAIT_SECONDS), "the collector was not called"
        order(orders)

    monkeypatch.setattr(background_threads, "stop_all", stopping)
    monkeypatch.setattr(run, "scheduled_collectors", lambda *_: [])
    monkeypatch.setattr(run, "background_sources", lambda *_: {"nvml": collector.registered()})
    settings = AgentSettings(node="n", flush_seconds=0.1, spool=SpoolSettings(folder=str(folder)))
    everything = AllSettings(settings, KafkaSettings(bootstrap="127.0.0.1:1"), TopicNames(""))
    stopper = threading.Thread(target=stop_when_called)
    stopper.start()
    run_agent(everything, orders, read_anew and partial(read_anew, orders, everything))
    stopper.join(WAIT_SECONDS)
    collector.released.set()
    orders.close()
    spool = Spool(folder, 2**30, 1e9, lambda *_: None)
    messages = []
    while (taken := spool.take()) is not None:
        messages.append(taken[0])
    spool.close()
    return messages


def test_what_is_being_read_when_the_order_to_stop_comes_is_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    messages = messages_of_an_agent(monkeypatch, tmp_path, UnderWay(), release_at_end=True)
    blocks = [decode_sample_block(message.value) for message in messages if message.topic == "samples"]
    assert [(block.entity, block.values.tolist()) for block in blocks] == [("n/gpu:1", [[1.0, 2.0]])]
    assert stopped(messages).details["unfinished_readings"] == 0


def test_what_hangs_when_the_order_to_stop_comes_is_in_the_last_figures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    messages = messages_of_an_agent(monkeypatch, tmp_path, UnderWay(), release_at_end=False)
    assert stopped(messages).details["unfinished_readings"] == 1


def test_what_is_brought_when_the_order_to_stop_comes_between_two_sessions_is_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stopped_meanwhile(orders: Orders, settings: AllSettings) -> AllSettings:
        orders.stop()
        return settings._replace(agent=msgspec.structs.replace(settings.agent, interval_ms=500))

    messages = messages_of_an_agent(
        monkeypatch, tmp_path, UnderWay(), release_at_end=True, order=Orders.reload, read_anew=stopped_meanwhile
    )
    assert [message for message in messages if message.topic == "samples"] == []
    assert stopped(messages).details["lost_samples"] == 2


def stopped(messages: list[SpooledMessage]) -> Status:
    statuses = [decode_json(message.value, Status) for message in messages if message.topic == "status"]
    (last,) = (status for status in statuses if status.event is StatusEvent.STOPPED)
    return last
