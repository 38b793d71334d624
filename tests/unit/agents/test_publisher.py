"""Every message is accounted for: sent, failed or dropped, whatever Kafka does."""

import os
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, Producer
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.publisher import Publisher
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.schemas.kafka import KafkaSettings, producer_config
from tests.unit.agents.fake_producer import Clock, FakeProducer

KEY = b"node"


def publisher(producer: FakeProducer, queue_bytes: int = 1000) -> tuple[Publisher, RunStats]:
    stats = RunStats()
    opened: Callable[..., Any] = lambda _: producer  # noqa: E731
    return Publisher(opened, stats, queue_bytes, Clock()), stats


def unreachable(**overrides: Any) -> Callable[[Callable[[KafkaError], None]], Producer]:
    kafka = KafkaSettings(bootstrap="127.0.0.1:1")
    return lambda report: Producer(producer_config(kafka, error_cb=report, log_level=0, **overrides))


def test_messages_are_sent_in_order() -> None:
    producer = FakeProducer(room=3)
    sender, stats = publisher(producer)
    for number in range(10):
        sender.send("t", KEY, b"%d" % number)
    while len(producer.delivered) < 10:
        producer.report(2)
        sender.poll()
    assert producer.delivered == [b"%d" % number for number in range(10)]
    assert (stats.produced, stats.sent, stats.pending) == (10, 10, 0)


def test_while_nothing_is_held_librdkafka_is_left_alone() -> None:
    producer, polls = FakeProducer(room=3), list[float]()
    producer.poll = polls.append  # type: ignore[method-assign,assignment]
    sender, stats = publisher(producer)
    sender.poll()
    assert not polls
    sender.send("t", KEY, b"x")
    producer.report(1)
    # The poll that finds the message settled is the last one.
    for _ in range(3):
        sender.poll()
    assert (len(polls), stats.pending) == (2, 0)


def test_the_oldest_message_is_dropped_when_there_is_no_room() -> None:
    producer = FakeProducer(room=1)
    sender, stats = publisher(producer, queue_bytes=3 * (len(KEY) + 1))
    for number in range(7):
        sender.send("t", KEY, b"%d" % number, samples=10)
    assert (stats.dropped, stats.lost_samples, stats.pending) == (3, 30, 4)
    while stats.pending:
        producer.report(1)
        sender.poll()
    # The first one was with librdkafka already; 1, 2 and 3 had to go.
    assert producer.delivered == [b"0", b"4", b"5", b"6"]


def test_a_message_that_librdkafka_gives_up_is_a_failure_and_its_samples_are_lost() -> None:
    producer = FakeProducer(room=5)
    sender, stats = publisher(producer)
    sender.send("t", KEY, b"x", samples=70)
    producer.report(1, KafkaError(KafkaError._MSG_TIMED_OUT))
    assert (stats.sent, stats.failed, stats.lost_samples) == (0, 1, 70)


def test_a_message_that_is_refused_does_not_hold_up_the_next() -> None:
    producer = FakeProducer(room=5)
    sender, stats = publisher(producer)
    producer.refusal = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
    sender.send("t", KEY, b"too large", samples=3)
    producer.refusal = None
    sender.send("t", KEY, b"good")
    producer.report(5)
    assert producer.delivered == [b"good"]
    assert (stats.sent, stats.failed, stats.lost_samples) == (1, 1, 3)


def test_a_producer_that_gives_up_for_good_is_replaced_and_what_it_held_is_sent_again_first() -> None:
    first, second = FakeProducer(room=2), FakeProducer(room=5)
    producers: list[Any] = [first, second]
    stats = RunStats()
    sender = Publisher(lambda _: producers.pop(0), stats, 1000)
    sender.send("t", KEY, b"delivered by the first")
    sender.send("t", KEY, b"with the first")
    first.report(1)
    first.refusal = KafkaError(KafkaError._FATAL, "out of sequence", fatal=True)
    sender.send("t", KEY, b"waits")
    assert first.closed
    sender.poll()
    second.report(2)
    assert second.delivered == [b"with the first", b"waits"]
    assert (stats.sent, stats.failed, stats.pending) == (3, 0, 0)


def test_where_kafka_refuses_every_producer_few_are_tried_and_nothing_is_lost(caplog: Any) -> None:
    seconds, opened = [0.0], list[FakeProducer]()

    def open_producer(_: object) -> Any:
        opened.append(FakeProducer(room=5))
        opened[-1].refusal = KafkaError(KafkaError._FATAL, "may not write idempotently", fatal=True)
        return opened[-1]

    stats = RunStats()
    sender = Publisher(open_producer, stats, 1000, lambda: seconds[0])
    sender.send("t", KEY, b"x")
    for _ in range(600):
        seconds[0] += 0.1
        sender.poll()
    assert 5 <= len(opened) <= 8
    assert len(caplog.messages) == 1
    assert (stats.pending, stats.failed, stats.dropped) == (1, 0, 0)


def test_closing_delivers_what_is_held() -> None:
    producer = FakeProducer(room=2)
    sender, stats = publisher(producer)
    for number in range(5):
        sender.send("t", KEY, b"%d" % number)
    producer.poll = lambda timeout: producer.report(1)  # type: ignore[method-assign]
    assert sender.close(60.0) == (0, 0)
    assert len(producer.delivered) == stats.sent == 5


def test_closing_gives_up_at_the_deadline_and_says_how_many_are_lost() -> None:
    producer = FakeProducer(room=2)
    sender, stats = publisher(producer)
    for number in range(5):
        sender.send("t", KEY, b"%d" % number)
    assert sender.close(1.0) == (5, 0)
    assert (stats.failed, stats.dropped, stats.pending) == (2, 3, 0)
    assert producer.closed


def test_the_producer_is_opened_by_the_first_message_and_in_the_process_that_sends_it() -> None:
    opened_in: list[int] = []

    def open_producer(_: Callable[[KafkaError], None]) -> Any:
        opened_in.append(os.getpid())
        return FakeProducer(room=5)

    sender = Publisher(open_producer, RunStats(), 1000)
    sender.poll()
    assert not opened_in
    child = os.fork()
    if child == 0:
        sender.send("t", KEY, b"x")
        os._exit(0 if opened_in == [os.getpid()] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert not opened_in


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(0, 40)),
        st.tuples(st.just("deliver"), st.integers(1, 5)),
        st.tuples(st.just("fail"), st.integers(1, 5)),
        st.tuples(st.just("poll"), st.just(0)),
    ),
    max_size=80,
)


@given(STEPS, st.integers(1, 4), st.integers(20, 200))
def test_sent_failed_dropped_and_pending_add_up_to_produced_at_every_moment(
    steps: list[tuple[str, int]], room: int, queue_bytes: int
) -> None:
    producer = FakeProducer(room)
    sender, stats = publisher(producer, queue_bytes)
    produced = 0
    for step, number in steps:
        if step == "send":
            sender.send("t", KEY, b"x" * number, samples=number)
            produced += 1
        elif step == "deliver":
            producer.report(number)
        elif step == "fail":
            producer.report(number, KafkaError(KafkaError._MSG_TIMED_OUT))
        else:
            sender.poll()
        assert stats.produced == produced
        assert stats.pending >= len(producer.held)
        assert stats.sent == len(producer.delivered)
    undelivered = sender.close(0.0)
    assert stats.pending == 0
    assert stats.sent + stats.failed + stats.dropped == produced
    assert stats.sent == len(producer.delivered)
    assert undelivered.lost <= produced


def test_with_an_unreachable_broker_and_a_queue_of_ten_every_message_is_accounted_for() -> None:
    stats = RunStats()
    limits = {"queue.buffering.max.messages": 10, "message.timeout.ms": 1500, "linger.ms": 0}
    sender = Publisher(unreachable(**limits), stats, 15 * (len(KEY) + 1))
    for number in range(40):
        sender.send("t", KEY, b"%d" % (number % 10), samples=2)
    # 10 are with librdkafka, 15 wait, the other 15 had no room.
    assert (stats.dropped, stats.pending, stats.sent) == (15, 25, 0)
    undelivered = sender.close(4.0)
    assert stats.pending == 0
    assert stats.sent == 0
    assert stats.failed + stats.dropped == stats.produced == 40
    assert stats.failed >= 10
    assert stats.lost_samples == 80
    assert 0 < undelivered.lost <= 15
    assert undelivered.spooled == 0


def outage_reporter(
    producer: FakeProducer, stats: RunStats | None = None
) -> tuple[Publisher, Callable[[KafkaError], None]]:
    """A publisher that has sent a message, and what librdkafka calls with its errors."""
    reports: list[Callable[[KafkaError], None]] = []

    def open_producer(report: Callable[[KafkaError], None]) -> Any:
        reports.append(report)
        return producer

    sender = Publisher(open_producer, stats or RunStats(), 1000)
    sender.send("t", KEY, b"x")
    return sender, reports[0]


def test_an_outage_is_told_once_and_its_end_once(caplog: Any) -> None:
    producer = FakeProducer(room=5)
    _, report = outage_reporter(producer)
    for _ in range(90):
        report(KafkaError(KafkaError._TRANSPORT, "Connection refused"))
        report(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    producer.report(1)
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "1/1 brokers are down (Connection refused)" in caplog.records[0].message
    assert "again" in caplog.records[1].message


def test_one_broker_of_several_that_comes_and_goes_is_no_outage(caplog: Any) -> None:
    producer = FakeProducer(room=50)
    sender, report = outage_reporter(producer)
    for _ in range(20):
        report(KafkaError(KafkaError._TRANSPORT, "kafka-1: Connection refused"))
        sender.send("t", KEY, b"x")
        producer.report(1)
    assert caplog.records == []


def test_a_login_that_fails_is_told(caplog: Any) -> None:
    _, report = outage_reporter(FakeProducer(room=5))
    report(KafkaError(KafkaError._AUTHENTICATION, "SASL authentication failed"))
    assert ["SASL authentication failed" in line for line in caplog.messages] == [True]


def test_the_first_error_of_each_code_is_logged_until_the_topic_takes_a_message(caplog: Any) -> None:
    producer = FakeProducer(room=50)
    sender, stats = publisher(producer)

    def send(topic: str, code: int | None, samples: int = 0) -> None:
        sender.send(topic, KEY, b"x", samples)
        producer.report(1, None if code is None else KafkaError(code))

    for _ in range(5):
        send("samples", KafkaError.TOPIC_AUTHORIZATION_FAILED, samples=10)
        send("status", None)  # another topic says nothing about this one
    send("samples", KafkaError._MSG_TIMED_OUT, samples=10)
    send("samples", None)
    send("samples", KafkaError.TOPIC_AUTHORIZATION_FAILED, samples=10)
    told = [
        next(cause for cause in ("authorization", "timed out") if cause in line)
        for line in caplog.messages
        if "samples" in line
    ]
    assert told == ["authorization", "timed out", "authorization"]
    assert len(caplog.messages) == 3
    assert list(stats.loss_reasons.values()) == ["Broker: Topic authorization failed", "Local: Message timed out"]


def test_what_waits_and_finds_no_room_is_lost_for_the_reason_of_the_outage() -> None:
    stats = RunStats()
    sender, report = outage_reporter(FakeProducer(room=1), stats)
    report(KafkaError(KafkaError._ALL_BROKERS_DOWN, "2/2 brokers are down"))
    sender.send("t", KEY, b"x" * 900, samples=5)
    sender.send("t", KEY, b"x" * 900, samples=5)
    assert list(stats.loss_reasons.values()) == [
        "no room was left for what waits (Kafka can't be reached: 2/2 brokers are down)"
    ]


@given(st.integers(1, 5), st.integers(0, 5))
def test_what_a_producer_never_reports_has_failed_when_it_ends(held: int, reported: int) -> None:
    producer = FakeProducer(room=held)
    producer.purge = lambda: producer.report(reported, KafkaError(KafkaError._PURGE_QUEUE))  # type: ignore[method-assign]
    sender, stats = publisher(producer)
    for _ in range(held):
        sender.send("t", KEY, b"x", samples=7)
    sender.close(0.0)
    assert (stats.failed, stats.lost_samples, stats.pending) == (held, 7 * held, 0)


def test_a_message_carries_the_time_at_which_it_was_made() -> None:
    producer = FakeProducer(room=1)
    opened: Callable[..., Any] = lambda _: producer  # noqa: E731
    times = iter([5_000_000_000, 6_000_000_000])
    sender = Publisher(opened, RunStats(), 1000, time_ns=lambda: next(times))
    sender.send("t", KEY, b"goes at once")
    sender.send("t", KEY, b"waits")
    producer.report(1)
    sender.poll()
    assert producer.timestamps == [5_000, 6_000]


def test_messages_are_held_until_there_may_be_a_producer() -> None:
    producer = FakeProducer(room=5)
    producers: list[Any] = [None, None, producer]
    stats = RunStats()
    sender = Publisher(lambda _: producers.pop(0), stats, 1000)
    sender.send("t", KEY, b"early")
    assert stats.pending == 1
    sender.poll()
    sender.poll()
    producer.report(1)
    assert producer.delivered == [b"early"]


def test_one_topic_that_stands_still_makes_nothing_pile_up_while_another_goes_on() -> None:
    producer = FakeProducer(room=2)
    sender, stats = publisher(producer)
    sender.send("status", KEY, b"stuck")
    for _ in range(30_000):
        sender.send("samples", KEY, b"x")
        on_delivery = producer.held[1][1]
        producer.held.pop()
        on_delivery(None, None)
    sender.poll()
    assert len(sender._in_flight) < 20_000
    producer.report(1)
    sender.poll()
    assert (stats.sent, stats.pending) == (30_001, 0)
