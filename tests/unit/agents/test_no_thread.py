"""A system that has no thread for the agent costs it what that thread would have read, until there is one."""

import logging
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from pulsetrain.agents import run, topic_gate
from pulsetrain.agents.background import BackgroundThread, start_all, stop_all
from pulsetrain.agents.background_threads import BackgroundThreads
from pulsetrain.agents.collector_list import BackgroundSource
from pulsetrain.agents.collectors.base import Collected
from pulsetrain.agents.collectors.nvml.crew import Crew
from pulsetrain.agents.collectors.nvml.driver import Driver
from pulsetrain.agents.collectors.nvml.library import Nvml
from pulsetrain.agents.collectors.nvml.xid_events import XidEvents
from pulsetrain.agents.collectors.scheduled import InBackground, Scheduled
from pulsetrain.agents.collectors.training.collector import TrainingCollector
from pulsetrain.agents.collectors.training.settings import HookSettings
from pulsetrain.agents.errors import failure_of
from pulsetrain.agents.log_file import LogFile
from pulsetrain.agents.log_settings import LogSettings
from pulsetrain.agents.publisher import Publisher
from pulsetrain.agents.run import Run
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.settings import AgentSettings
from pulsetrain.agents.spare_threads import has_threads
from pulsetrain.agents.topic_gate import TopicGate
from pulsetrain.schemas.kafka import KafkaSettings, SettingsError
from pulsetrain.schemas.topics import TopicNames
from tests.processes import wait_until
from tests.unit.agents.background_fakes import WAIT_SECONDS, ScriptedBackground
from tests.unit.agents.collectors.nvml.fake_pynvml import FakeGpu, FakePynvml
from tests.unit.agents.fake_producer import FakeProducer
from tests.unit.agents.fakes import ScriptedCollector

KAFKA = KafkaSettings(bootstrap="127.0.0.1:1")
NO_THREAD = (
    "it has no thread: can't start new thread; allow the agent more of them (pids.max of its control group, ulimit -u)"
)


class Threads:
    """The system's threads: as many as the test says."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.left: float = float("inf")
        self._start = threading._start_new_thread  # type: ignore[attr-defined]
        patch.setattr(threading, "_start_new_thread", self._started)

    def _started(self, *arguments: Any) -> Any:
        if self.left < 1:
            raise RuntimeError("can't start new thread")
        self.left -= 1
        return self._start(*arguments)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Threads:
    return Threads(monkeypatch)


class Asked(ScriptedBackground):
    """Remembers that it was asked."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, interval_ms=1)
        self.called = threading.Event()
        self.before = lambda _: self.called.set()


def test_those_for_which_there_is_a_thread_begin_and_the_others_say_what_to_do(threads: Threads) -> None:
    collectors = [Asked(name) for name in ("perf", "nvml", "training")]
    threads.left = 1
    all_threads = [BackgroundThread(InBackground(collector)) for collector in collectors]
    assert start_all(all_threads) == all_threads[1:]
    assert collectors[0].called.wait(WAIT_SECONDS), "the first collector was not called"
    assert [[outcome.failure for outcome in thread.outcomes()] for thread in all_threads[1:]] == [[NO_THREAD]] * 2
    threads.left = 1
    assert start_all(all_threads) == all_threads[2:]
    assert collectors[1].called.wait(WAIT_SECONDS), "the second collector was not called"
    threads.left = 0
    assert stop_all(all_threads, seconds=WAIT_SECONDS) == []
    assert [collector.closed for collector in collectors] == [1, 1, 1]


def test_an_end_without_a_thread_to_close_what_hangs_leaves_it_behind(threads: Threads) -> None:
    collector, released = Asked("nvml"), threading.Event()

    def hang(_: int) -> None:
        collector.called.set()
        assert released.wait(WAIT_SECONDS), "nobody released the call"

    collector.before = hang
    thread = BackgroundThread(InBackground(collector))
    assert thread.start()
    assert collector.called.wait(WAIT_SECONDS), "the collector was not called"
    threads.left = 0
    assert stop_all([thread], seconds=0.1) == ["nvml"]
    released.set()
    assert thread.join(WAIT_SECONDS), "the thread did not end"
    assert collector.closed == 1


class Outlet:
    """Keeps how collectors fare."""

    def __init__(self) -> None:
        self.fates: list[tuple[str, str | None]] = []

    def collector_read(self, collector: str, failure: str | None) -> None:
        self.fates.append((collector, failure))

    def __getattr__(self, name: str) -> Any:
        return lambda *_arguments: None


def test_a_session_goes_on_without_a_thread_and_starts_it_when_there_is_one(
    monkeypatch: pytest.MonkeyPatch, threads: Threads
) -> None:
    collector, cpu, stats, seconds = Asked("nvml"), ScriptedCollector("cpu", ["a"]), RunStats(), [0.0]
    collector.answers = [Collected()]
    outlet: Any = Outlet()
    source = BackgroundSource((), lambda: [InBackground(collector)])
    monkeypatch.setattr(run, "background_sources", lambda *_: {"nvml": source})
    monkeypatch.setattr(run, "scheduled_collectors", lambda *_: [Scheduled(cpu)])
    background = BackgroundThreads(stats, outlet.notice)
    made = Run(AgentSettings(node="n"), outlet, outlet, stats, background, monotonic=lambda: seconds[0])
    ticks: list[Callable[[], None]] = []

    def wait(_seconds: float) -> bool:
        if not ticks:
            background.close()
            return True
        ticks.pop(0)()
        return threading.Event().wait(_seconds) or False

    def after(later: float) -> None:
        seconds[0] += later

    def give_a_thread() -> None:
        threads.left = 1
        after(10.0)

    def until_called() -> None:
        assert collector.called.wait(WAIT_SECONDS), "the collector was not called"

    threads.left = 0
    ticks += [lambda: None, lambda: after(9.9), lambda: after(0.1), lambda: None, give_a_thread, until_called]
    made.run(wait)
    made.close()
    told = [failure for name, failure in outlet.fates if name == "nvml"]
    # At the start and ten seconds later there was none; then the collector was asked, at last in its own thread.
    assert told[:2] == [NO_THREAD] * 2
    assert set(told[2:]) == {None}
    assert ("cpu", None) in outlet.fates
    assert stats.health("nvml").failures >= 2


# What librdkafka says where pthread_create(3) fails.
LIBRDKAFKAS = KafkaError(KafkaError._CRIT_SYS_RESOURCE, "Failed to create producer: Failed to create thread")
NOT_OURS = KafkaError(KafkaError._INVALID_ARG, "No such configuration property")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """Errors that the next looks for Kafka have; without one Kafka is found."""
    errors: list[Exception] = []

    def look(*_arguments: Any, **_named: Any) -> None:
        if errors:
            raise errors.pop(0)

    monkeypatch.setattr(topic_gate, "wait_for_broker", look)
    monkeypatch.setattr(topic_gate, "wait_for_topics", look)
    return errors


def test_kafka_is_looked_for_when_there_is_a_thread(
    threads: Threads, looks: list[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    seconds, refused = [0.0], threading.Event()
    gate = TopicGate(KAFKA, TopicNames(""), refused.set, monotonic=lambda: seconds[0])
    looks.append(ValueError("the look was made"))
    threads.left = 0
    gate.start()
    assert "Kafka can't be looked for: can't start new thread; allow the agent more of them" in caplog.text
    threads.left = 100
    seconds[0] = 9.9
    assert gate.open_producer(lambda _: None) is None
    assert not refused.is_set()
    seconds[0] = 10.0
    assert gate.open_producer(lambda _: None) is None
    assert refused.wait(WAIT_SECONDS), "nobody looked for Kafka"
    with pytest.raises(ValueError, match="the look was made"):
        gate.close()


def test_a_gate_whose_thread_never_began_can_be_closed(threads: Threads) -> None:
    gate = TopicGate(KAFKA, TopicNames(""), lambda: None)
    threads.left = 0
    gate.start()
    gate.close()


def settings_error(error: KafkaError) -> SettingsError:
    refused = SettingsError(f"The Kafka settings can't work: {error.str()}.")
    refused.__cause__ = KafkaException(error)
    return refused


def test_a_client_that_gets_no_thread_to_look_with_is_no_wrong_setting(
    monkeypatch: pytest.MonkeyPatch, looks: list[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(topic_gate, "_NO_THREAD_SECONDS", 0.001)
    refused = threading.Event()
    gate = TopicGate(KAFKA, TopicNames(""), refused.set)
    looks += [settings_error(LIBRDKAFKAS), KafkaException(LIBRDKAFKAS), settings_error(NOT_OURS)]
    gate.start()
    assert refused.wait(WAIT_SECONDS), "the wrong setting was not told"
    assert caplog.text.count("Failed to create thread; allow the agent more of them") == 2
    with pytest.raises(SettingsError, match="No such configuration property"):
        gate.close()


def test_messages_wait_while_the_producer_gets_no_thread(caplog: pytest.LogCaptureFixture) -> None:
    producer, stats, seconds, tries = FakeProducer(10), RunStats(), [0.0], [0]

    def open_producer(_: object) -> Any:
        tries[0] += 1
        if tries[0] <= 3:
            raise KafkaException(LIBRDKAFKAS)
        return producer

    publisher = Publisher(open_producer, stats, 10_000, lambda: seconds[0])
    for tenth in range(300):
        seconds[0] = tenth / 10
        publisher.send("samples", b"n", b"%d" % tenth)
    # At once, at the next call, and then every ten seconds.
    assert tries == [4]
    assert caplog.text.count("Failed to create thread") == 1
    while stats.pending:
        producer.report(10)
        publisher.poll()
    assert producer.delivered == [b"%d" % tenth for tenth in range(300)]


def test_a_log_file_needs_no_thread_to_be_written_and_compresses_later(tmp_path: Path, threads: Threads) -> None:
    (tmp_path / "agent.log.20260101T120000Z").write_text("a line\n")
    hours, logger = [0.0], logging.Logger("test")
    threads.left = 0
    handler = LogFile(LogSettings(file=str(tmp_path / "agent.log")), clock=lambda: 1_767_268_800.0 + 3600 * hours[0])
    with closing(handler):
        logger.addHandler(handler)
        logger.info("one")
        threads.left = 1
        hours[0] = 0.9
        logger.info("two")
        assert threads.left == 1
        hours[0] = 1.1
        logger.info("three")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent.log", "agent.log.20260101T120000Z.gz"]
    assert (tmp_path / "agent.log").read_text() == "one\ntwo\nthree\n"


def test_no_client_of_librdkafka_is_made_before_there_are_threads_for_all_of_it(
    monkeypatch: pytest.MonkeyPatch, threads: Threads, caplog: pytest.LogCaptureFixture
) -> None:
    more_threads, codes = threading.Event(), list[int]()

    def sleep(*_: object) -> None:
        assert more_threads.wait(WAIT_SECONDS), "the test did not go on"

    monkeypatch.setattr(TopicGate, "_sleep", sleep)
    monkeypatch.setattr(topic_gate, "broker_problem", lambda _: None)
    monkeypatch.setattr(topic_gate, "wait_for_topics", lambda *_, **__: None)
    gate = TopicGate(KafkaSettings(bootstrap="a:1,b:1,c:1"), TopicNames(""), lambda: None)
    # One that looks, and the client's without one: four and one a broker, twice.
    threads.left = 1 + 2 * (4 + 3) - 1
    gate.start()
    wait_until("a look in vain", lambda: "no thread for a client; allow the agent more of them" in caplog.text)
    assert gate.open_producer(lambda _: None) is None
    threads.left = 2 * (4 + 3)
    more_threads.set()

    def refused() -> list[int]:
        try:
            gate.open_producer(lambda _: None)
        except KafkaException as error:
            codes.append(error.args[0].code())
        return codes

    assert wait_until("Kafka to be found", refused) == [KafkaError._CRIT_SYS_RESOURCE]
    gate.close()


def test_threads_that_are_tried_end_at_once(threads: Threads) -> None:
    before = threading.active_count()
    assert has_threads(20)
    threads.left = 19
    assert not has_threads(20)
    assert threading.active_count() == before


def test_xids_are_waited_for_as_soon_as_there_is_a_thread(threads: Threads) -> None:
    module = FakePynvml(FakeGpu("GPU-a", 1))
    driver = Driver(lambda: Nvml(module))
    driver.refreshed(WAIT_SECONDS)
    events = XidEvents(driver)
    threads.left = 0
    for _ in range(2):
        with pytest.raises(RuntimeError, match="can't start new thread"):
            events.start()
    threads.left = 1
    events.start()
    module.tell(module.gpus[0], 79)
    assert wait_until("the event", events.take) == [("GPU-a", 79)]
    events.close()
    driver.close()


def test_devices_are_asked_as_soon_as_there_is_a_thread_and_by_no_more_of_them_than_before(threads: Threads) -> None:
    crew: Crew[str] = Crew("test")
    threads.left = 0
    for _ in range(2):
        with pytest.raises(RuntimeError, match="can't start new thread"):
            crew.ask({"a": lambda: "1"}, 0.0)
    threads.left = 1
    wait_until("an answer", lambda: crew.ask({"a": lambda: "1"}, 1.0).given)
    for _ in range(3):
        assert crew.ask({"a": lambda: "1"}, WAIT_SECONDS).given == {"a": "1"}
    assert crew.threads == 1
    crew.close()


def test_hooks_are_listened_to_as_soon_as_there_is_a_thread(threads: Threads, tmp_path: Path) -> None:
    path = tmp_path / "hook.sock"
    collector = TrainingCollector(HookSettings(socket_path=str(path)), lambda _: {})
    threads.left = 0
    with pytest.raises(RuntimeError) as raised:
        collector.is_supported()
    assert not path.exists()
    # What becomes of it when a collector raises it.
    assert failure_of(raised.value) == (
        "RuntimeError: can't start new thread; allow the agent more of them (pids.max of its control group, ulimit -u)"
    )
    threads.left = 1
    assert collector.is_supported().supported
    collector.close()
