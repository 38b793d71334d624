"""With a spool nothing is lost while Kafka is away, nor when the agent dies then; every message is accounted for."""

import errno
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.publisher import Publisher
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.spool import Spool
from tests.unit.agents.fake_producer import FakeProducer

KEY = b"node"
AWAY = KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")
MEBIBYTE = 2**20


class Node:
    """One run of a publisher with a spool: its producer, its clock, and a disk that can be full."""

    def __init__(self, folder: Path, room: int = 3, queue_bytes: int = 10_000, limit_bytes: int = MEBIBYTE) -> None:
        self.producer = FakeProducer(room)
        self.stats = RunStats()
        self.seconds = 0.0
        self.disk_full = False
        self.report: Callable[[KafkaError], None] = lambda _: None
        self.spool = Spool(folder, limit_bytes, 86_400, self._lost, self._write)
        self.publisher = Publisher(
            self._open, self.stats, queue_bytes, lambda: self.seconds, self.spool, lambda: 1 + int(self.seconds * 1e9)
        )

    def send(self, number: int) -> None:
        self.publisher.send("samples", KEY, b"%d" % number, samples=10)

    def deliver(self, count: int = 1000) -> None:
        """Kafka confirms what it has, and gets more."""
        self.producer.report(count)
        self.publisher.poll()

    def deliver_all(self) -> None:
        while self.stats.pending:
            self.seconds += 1.0
            self.deliver()

    def crash(self) -> None:
        """Nothing is told to anybody; the kernel closes the files."""
        self.spool.close()

    @property
    def delivered(self) -> list[int]:
        return [int(value) for value in self.producer.delivered]

    def _open(self, report: Callable[[KafkaError], None]) -> Any:
        self.report = report
        return self.producer

    def _lost(self, messages: int, samples: int, reason: str) -> None:
        self.stats.drop(messages, samples, "spool", reason)

    def _write(self, file: int, content: bytes) -> int:
        if self.disk_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.write(file, content)


def files(folder: Path) -> list[Path]:
    return list(folder.glob("*.spool"))


def test_while_kafka_answers_nothing_is_written(tmp_path: Path) -> None:
    node = Node(tmp_path)
    for number in range(10):
        node.send(number)
        node.deliver()
    assert node.delivered == list(range(10))
    assert files(tmp_path) == []


@pytest.mark.parametrize("told", [True, False], ids=["librdkafka says so", "nothing is confirmed for a while"])
def test_while_kafka_is_away_messages_are_on_disk_and_come_in_order_afterwards(tmp_path: Path, told: bool) -> None:
    node = Node(tmp_path, queue_bytes=200)
    node.send(0)
    if told:
        node.report(AWAY)
    else:
        node.seconds = 2.1
    for number in range(1, 500):
        node.send(number)
    # Those with the producer, and the next one, are in memory too.
    assert node.spool.unread_messages == 500 - node.producer.room - 1
    assert node.stats.pending == 500
    node.deliver_all()
    assert node.delivered == list(range(500))
    assert (node.stats.sent, node.stats.dropped, node.stats.lost_samples) == (500, 0, 0)
    assert files(tmp_path) == []
    node.send(500)
    assert files(tmp_path) == []


def test_what_an_agent_had_when_it_died_is_sent_first_by_the_next_one(tmp_path: Path) -> None:
    first = Node(tmp_path)
    first.send(0)
    first.deliver()
    first.report(AWAY)
    for number in range(1, 50):
        first.send(number)
    first.crash()
    second = Node(tmp_path)
    assert (second.stats.recovered, second.stats.produced, second.stats.pending) == (49, 0, 49)
    second.send(50)
    second.deliver_all()
    assert second.delivered == list(range(1, 51))
    assert (second.stats.sent, second.stats.lost_samples) == (50, 0)


def test_a_crash_in_the_middle_of_the_replay_repeats_little_and_loses_nothing(tmp_path: Path) -> None:
    first = Node(tmp_path, room=5)
    first.send(0)
    first.report(AWAY)
    for number in range(1, 100):
        first.send(number)
    while len(first.delivered) < 60:
        first.deliver(2)
    first.crash()
    second = Node(tmp_path, room=5)
    second.deliver_all()
    assert second.delivered == list(range(60, 100))


def test_closing_leaves_in_the_spool_what_could_not_be_delivered_and_says_how_much(tmp_path: Path) -> None:
    node = Node(tmp_path)
    for number in range(10):
        node.send(number)
    undelivered = node.publisher.close(0.0)
    assert undelivered == (0, 10)
    assert (node.stats.pending, node.stats.failed, node.stats.dropped, node.stats.lost_samples) == (10, 0, 0, 0)
    second = Node(tmp_path)
    second.deliver_all()
    assert second.delivered == list(range(10))


def test_a_producer_that_gives_up_for_good_is_replaced_and_everything_comes_in_order(tmp_path: Path) -> None:
    node = Node(tmp_path, room=2)
    node.send(0)
    node.report(AWAY)
    for number in range(1, 8):
        node.send(number)
    node.producer.refusal = KafkaError(KafkaError._FATAL, "out of sequence", fatal=True)
    node.publisher.poll()
    assert node.producer.closed
    node.producer = FakeProducer(room=2)
    node.deliver_all()
    assert node.delivered == list(range(8))


def test_a_full_disk_is_told_once_and_messages_wait_in_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    node = Node(tmp_path)
    node.send(0)
    node.report(AWAY)
    node.send(1)
    node.disk_full = True
    caplog.clear()
    for number in range(2, 20):
        node.seconds += 1
        node.send(number)
    assert [line for line in caplog.messages if "spool" in line] == [
        "The spool can't be written (No space left on device); messages wait in memory."
    ]
    assert node.stats.spool_failures == 2
    node.disk_full = False
    node.seconds += 11
    node.publisher.poll()
    assert caplog.messages[-1] == "The spool can be written again."
    assert node.stats.pending == 20
    node.deliver_all()
    assert node.delivered == list(range(20))


def test_with_a_full_disk_the_oldest_in_memory_is_dropped_and_what_is_on_disk_stays(tmp_path: Path) -> None:
    node = Node(tmp_path, room=1, queue_bytes=3 * (len(KEY) + 1))
    node.send(0)
    node.report(AWAY)
    node.send(1)
    node.disk_full = True
    for number in range(2, 9):
        node.send(number)
    assert (node.stats.dropped, node.stats.lost_samples) == (4, 40)
    node.deliver_all()
    assert node.delivered == [0, 1, 6, 7, 8]


def test_the_oldest_in_a_full_spool_is_dropped_and_counted(tmp_path: Path) -> None:
    node = Node(tmp_path, room=1, limit_bytes=3 * MEBIBYTE)
    node.send(0)
    node.report(AWAY)
    for number in range(1, 20):
        node.publisher.send("samples", KEY, b"%d" % number + b" " * 400_000, samples=10)
    assert node.stats.dropped > 0
    assert node.stats.lost_samples == 10 * node.stats.dropped
    assert node.stats.pending + node.stats.dropped == 20
    node.deliver_all()
    # 0 was with the producer and 1 was the next one.
    assert node.delivered == [0, 1, *range(2 + node.stats.dropped, 20)]
    assert node.stats.sent + node.stats.dropped == 20


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 5)),
        st.tuples(st.just("deliver"), st.integers(1, 4)),
        st.tuples(st.just("wait"), st.integers(1, 15)),
        st.tuples(st.sampled_from(["away", "crash", "close", "fatal", "full", "free"]), st.just(0)),
    ),
    max_size=60,
)


@given(STEPS, st.integers(1, 4))
def test_whatever_happens_messages_come_in_order_and_the_counts_tell_of_each(
    steps: list[tuple[str, int]], room: int
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        node = Node(folder, room, queue_bytes=60)
        came: list[int] = []
        produced = untold = 0
        for step, number in steps:
            if step == "send":
                for _ in range(number):
                    node.send(produced)
                    produced += 1
            elif step == "deliver":
                node.deliver(number)
            elif step == "wait":
                node.seconds += number
                node.publisher.poll()
            elif step == "away":
                node.report(AWAY)
            elif step == "fatal":
                came += node.delivered
                untold += len(node.delivered)
                node.producer.refusal = KafkaError(KafkaError._FATAL, "out of sequence", fatal=True)
                node.publisher.poll()
                if node.producer.closed:
                    node.producer = FakeProducer(room)
                else:
                    node.producer.refusal = None
                    node.producer.delivered.clear()
            elif step in ("full", "free"):
                node.disk_full = step == "full"
            elif step == "close":
                undelivered = node.publisher.close(0.0)
                assert undelivered.spooled == node.stats.pending
                came += node.delivered
                node, before = Node(folder, room, queue_bytes=60), node
                assert node.stats.recovered == before.stats.pending
                untold = 0
            elif step == "crash":
                node.crash()
                came += node.delivered
                node, before = Node(folder, room, queue_bytes=60), node
                # All that was not in memory alone; a full disk leaves it there.
                assert node.stats.recovered <= before.stats.pending
                untold = 0
            stats = node.stats
            assert stats.sent == untold + len(node.delivered)
            assert stats.produced + stats.recovered == stats.pending + stats.sent + stats.failed + stats.dropped
            assert stats.lost_samples == 10 * (stats.failed + stats.dropped)
        node.disk_full = False
        node.deliver_all()
        came += node.delivered
        node.crash()
        firsts = list(dict.fromkeys(came))
        assert firsts == sorted(firsts)


def test_an_agent_without_room_for_large_files_goes_on_with_messages_in_memory(tmp_path: Path) -> None:
    """The kernel refuses (RLIMIT_FSIZE), not a stand-in."""
    child = os.fork()
    if child == 0:
        code = 1
        with suppress(BaseException):
            import resource
            import signal

            logging.disable()
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
            node = Node(tmp_path, queue_bytes=100_000)
            node.send(0)
            node.report(AWAY)
            for number in range(1, 300):
                node.send(number)
            pending, failures = node.stats.pending, node.stats.spool_failures
            node.seconds += 60
            node.deliver_all()
            code = 0 if (pending, node.delivered, failures > 0) == (300, list(range(300)), True) else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_waits_in_memory_does_not_overtake_a_spool_that_cannot_be_read_at_this_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(tmp_path)
    node.send(0)
    node.report(AWAY)
    for number in range(1, 6):
        node.send(number)
    node.crash()
    node = Node(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(node.spool, "take", lambda: None)
        node.disk_full = True
        for number in range(6, 9):
            node.send(number)
        assert node.producer.held == []
    node.disk_full = False
    node.deliver_all()
    assert node.delivered == list(range(9))


@pytest.mark.parametrize("ends_by", ["size", "age"])
def test_what_the_spool_had_to_drop_while_it_was_with_the_producer_is_lost_when_the_agent_ends(
    tmp_path: Path, ends_by: str
) -> None:
    node = Node(tmp_path)
    node.send(0)
    node.report(AWAY)
    for number in range(1, 4):
        node.send(number)
    if ends_by == "age":
        node.seconds += 86_400.1
        node.publisher.poll()
    else:
        for _ in range(30):
            node.publisher.send("samples", KEY, bytes(100_000), samples=10)
    assert len(node.producer.held) == node.producer.room
    lost, spooled = node.publisher.close(0.0)
    again = Node(tmp_path)
    assert spooled == again.stats.recovered == node.stats.pending
    assert lost >= node.producer.room
    stats = node.stats
    assert stats.failed + stats.dropped == stats.produced - spooled
    assert stats.lost_samples == 10 * (stats.failed + stats.dropped)
