"""A real agent on this machine's /proc and a real client of Kafka's protocol."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from pulsetrain.agents import run
from pulsetrain.agents.agent import run_agent
from pulsetrain.agents.budget import BudgetSettings
from pulsetrain.agents.collector_list import scheduled_collectors as all_scheduled
from pulsetrain.agents.collectors.scheduled import Scheduled
from pulsetrain.agents.orders import Orders
from pulsetrain.agents.publisher import Publisher
from pulsetrain.agents.reload import AllSettings
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.settings import AgentSettings
from pulsetrain.agents.topic_gate import TopicGate
from pulsetrain.cli.brokers.embedded import EMBEDDED_PARTITIONS, EmbeddedBroker
from pulsetrain.schemas import catalogue
from pulsetrain.schemas.json_record import decode_json
from pulsetrain.schemas.kafka import KafkaSettings, SettingsError, admin_config, consumer_config
from pulsetrain.schemas.sample_block import MAX_BLOCK_BYTES, SampleBlock, decode_sample_block, encode_sample_block
from pulsetrain.schemas.status import Status, StatusEvent
from pulsetrain.schemas.topics import TopicNames
from tests.processes import wait_until

MS = 1_000_000
INTERVAL_NS = 100 * MS
WAIT_SECONDS = 20.0
UNLIMITED = BudgetSettings(cpu_percent=1e6, memory_mebibytes=1e6, load_per_core=1e6)
"""However busy the machine is that runs the tests, the agent keeps its pace."""


@contextmanager
def running_agent(
    kafka: KafkaSettings, topics: TopicNames, ended: list[RunStats], flush_seconds: float = 5.0
) -> Iterator[None]:
    orders = Orders()
    settings = AgentSettings(
        node="node-00", interval_ms=100, labels={"job": "demo"}, flush_seconds=flush_seconds, budget=UNLIMITED
    )
    agent = threading.Thread(target=lambda: ended.append(run_agent(AllSettings(settings, kafka, topics), orders)))
    agent.start()
    try:
        yield
    finally:
        orders.stop()
        agent.join(WAIT_SECONDS)
        assert not agent.is_alive(), f"the agent did not end within {WAIT_SECONDS:.0f} s"


def test_blocks_of_this_machine_arrive_complete_and_in_order(broker: EmbeddedBroker, unique: str) -> None:
    kafka, topics = KafkaSettings(bootstrap=broker.bootstrap), TopicNames(unique)
    broker.declare([topics.samples, topics.status])
    received = Received(kafka, topics)
    ended: list[RunStats] = []
    with running_agent(kafka, topics, ended):
        received.take_until(lambda: len(received.blocks) >= 3, "three blocks")
    stats = ended[0]
    received.take_until(lambda: received.count >= stats.produced, f"{stats.produced} messages")
    received.close()

    assert received.keys == {b"node-00"}
    events = [status.event for status in received.statuses]
    assert events[:2] == [StatusEvent.STARTED, StatusEvent.HEARTBEAT]
    assert events[-1] is StatusEvent.STOPPED
    _assert_a_whole_session(received.blocks)
    _assert_plausible(received.blocks)
    assert stats.produced == stats.sent == received.count
    assert stats.pending == stats.failed == stats.dropped == stats.lost_samples == 0
    assert stats.ticks == sum(len(block.ticks_ns) for block in received.blocks if block.collector == "host")


class Received:
    """What a consumer of both topics has been given."""

    def __init__(self, kafka: KafkaSettings, topics: TopicNames) -> None:
        self.blocks: list[SampleBlock] = []
        self.statuses: list[Status] = []
        self.keys: set[bytes | None] = set()
        self._status_topic = topics.status
        self._consumer = Consumer(consumer_config(kafka, None))
        self._consumer.assign(
            [
                TopicPartition(topic, partition, OFFSET_BEGINNING)
                for topic in (topics.samples, topics.status)
                for partition in range(EMBEDDED_PARTITIONS)
            ]
        )

    @property
    def count(self) -> int:
        return len(self.blocks) + len(self.statuses)

    def take_until(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not done():
            assert time.monotonic() < deadline, f"waited {WAIT_SECONDS:.0f} s for {what}, got {self.count} messages"
            message = self._consumer.poll(0.2)
            if message is None or message.error():
                continue
            self.keys.add(message.key())
            if message.topic() == self._status_topic:
                self.statuses.append(decode_json(message.value(), Status))
            else:
                self.blocks.append(decode_sample_block(message.value()))

    def close(self) -> None:
        self._consumer.close()


def _assert_a_whole_session(blocks: list[SampleBlock]) -> None:
    assert len({block.session for block in blocks}) == 1
    newest = None
    for block in blocks:
        assert block.sent_until_ns == newest
        newest = max(newest or 0, int(block.ticks_ns[-1]))
    host = [block for block in blocks if block.collector == "host"]
    slow = [block for block in blocks if block.collector == "host:1000ms"]
    assert {(block.entity, block.interval_ns) for block in host} == {("node-00/host", INTERVAL_NS)}
    assert {(block.entity, block.interval_ns) for block in slow} == {("node-00/host", 10 * INTERVAL_NS)}
    for stream in (host, slow):
        assert [block.sequence for block in stream] == list(range(len(stream)))
    assert all(len(set(block.ticks_ns // (10 * INTERVAL_NS))) == 1 for block in host), "a block lies within one second"
    ticks = np.concatenate([block.ticks_ns for block in host])
    # A busy machine delays a tick now and then; it never leaves its interval, and most are within 5 ms.
    assert np.median(ticks % INTERVAL_NS) < 5 * MS
    assert np.all(np.diff(ticks // INTERVAL_NS) >= 1)


def _assert_plausible(blocks: list[SampleBlock]) -> None:
    blocks = [block for block in blocks if block.collector == "host"]
    metrics, values = blocks[0].metrics, np.concatenate([block.values for block in blocks])
    assert len(metrics) >= 100
    assert not blocks[-1].missing
    modes = [index for index, metric in enumerate(metrics) if "cpu.mode=" in metric]
    np.testing.assert_allclose(values[:, modes].sum(axis=1), 1.0)
    for index, metric in enumerate(metrics):
        entry = catalogue.find(metric)
        assert entry is not None, metric
        column = values[:, index]
        assert entry.valid_min <= np.nanmin(column), metric
        assert np.nanmax(column) <= entry.valid_max, metric
    total = Path("/proc/meminfo").read_text().splitlines()[0]
    assert values[0, metrics.index("system.memory.limit")] == int(total.split()[1]) * 1024


def test_an_agent_whose_broker_is_gone_ends_in_time_and_accounts_for_every_message(unique: str) -> None:
    ended: list[RunStats] = []
    topics = TopicNames(unique)
    with ExitStack() as agent:
        with EmbeddedBroker() as broker:
            kafka = KafkaSettings(bootstrap=broker.bootstrap)
            broker.declare([topics.samples, topics.status])
            received = Received(kafka, topics)
            agent.enter_context(running_agent(kafka, topics, ended, flush_seconds=1.0))
            received.take_until(lambda: len(received.blocks) >= 1, "a block")
            received.close()
        began = time.monotonic()
    assert time.monotonic() - began < 10.0
    stats = ended[0]
    assert stats.pending == 0
    assert stats.sent >= received.count
    assert stats.sent + stats.failed + stats.dropped == stats.produced
    assert stats.failed + stats.dropped > 0


def test_an_agent_waits_for_its_topics_and_never_creates_them(
    broker: EmbeddedBroker, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    kafka, topics = KafkaSettings(bootstrap=broker.bootstrap), TopicNames(unique)
    ended: list[RunStats] = []

    def looks_in_vain() -> list[str]:
        return [line for line in caplog.messages if "create the topics with `pulsetrain topics create`" in line]

    with running_agent(kafka, topics, ended):
        wait_until("two looks in vain", lambda: len(looks_in_vain()) >= 2, WAIT_SECONDS)
        assert topics.samples in looks_in_vain()[0]
        assert topics.status in looks_in_vain()[0]
        assert not AdminClient(admin_config(kafka)).list_topics(timeout=10).topics
        broker.declare([topics.samples, topics.status])
        received = Received(kafka, topics)
        received.take_until(lambda: len(received.blocks) >= 1, "a block after the topics were created")
        received.close()
    assert ended[0].failed == ended[0].dropped == 0


def test_a_block_of_the_largest_size_arrives(broker: EmbeddedBroker, unique: str) -> None:
    kafka, topics = KafkaSettings(bootstrap=broker.bootstrap), TopicNames(unique)
    received = Received(kafka, topics)
    broker.declare([topics.samples, topics.status])
    stats = RunStats()
    gate = TopicGate(kafka, topics, refused=lambda: None)
    gate.start()
    publisher = Publisher(gate.open_producer, stats, 8_000_000)
    block = _largest_block()
    publisher.send(topics.samples, b"node-00", block, samples=1)

    def sent() -> int:
        publisher.poll()
        return stats.sent

    wait_until("Kafka to be found and to take the block", sent, WAIT_SECONDS)
    assert publisher.close(WAIT_SECONDS) == (0, 0)
    gate.close()
    assert (stats.sent, stats.failed) == (1, 0)
    received.take_until(lambda: bool(received.blocks), "the block")
    received.close()
    assert encode_sample_block(received.blocks[0]) == block


def test_a_producer_gathers_messages_for_as_long_as_its_node_has_to(broker: EmbeddedBroker, unique: str) -> None:
    kafka, topics = KafkaSettings(bootstrap=broker.bootstrap), TopicNames(unique)
    broker.declare([topics.samples, topics.status])
    gate = TopicGate(kafka, topics, lambda: None, linger_ms=1500)
    gate.start()
    producer = wait_until("Kafka to be found", lambda: gate.open_producer(lambda _: None), WAIT_SECONDS)
    seconds: list[float] = []

    def delivered(_: object, message: Message) -> None:
        seconds.append(message.latency() or 0.0)

    def send(count: int) -> None:
        producer.produce(topics.samples, key=b"n", value=b"v", on_delivery=delivered)
        wait_until("a delivery", lambda: producer.poll(0.1) and len(seconds) == count, WAIT_SECONDS)

    # The first one waits for the connection, too.
    send(1)
    send(2)
    producer.close()
    gate.close()
    assert min(seconds) >= 1.5


def _largest_block() -> bytes:
    """A message of exactly as many bytes as are permitted, filled up by what is said about a missing metric."""
    ticks = 1_767_225_600_000_000_000 + np.arange(60_000, dtype=np.int64)
    noise = np.random.default_rng(1).normal(size=(len(ticks), 1))

    def message(padding: int) -> bytes:
        block = SampleBlock(
            node="node-00",
            session="s",
            boot_id="",
            collector="host",
            entity="node-00/host",
            sequence=0,
            sent_until_ns=None,
            interval_ns=1,
            ticks_ns=ticks,
            metrics=("load",),
            values=noise,
            missing={"load": "x" * padding},
        )
        return encode_sample_block(block)

    padding = MAX_BLOCK_BYTES - len(message(10_000)) + 10_000
    largest = message(padding)
    assert len(largest) == MAX_BLOCK_BYTES
    return largest


def test_an_agent_that_finds_no_broker_reads_all_the_same_and_ends_when_told(unique: str) -> None:
    ended: list[RunStats] = []
    began = time.monotonic()
    with running_agent(KafkaSettings(bootstrap="127.0.0.1:1"), TopicNames(unique), ended):
        pass
    assert time.monotonic() - began < WAIT_SECONDS
    stats = ended[0]
    assert (stats.sent, stats.pending) == (0, 0)
    assert stats.failed + stats.dropped == stats.produced > 0


def test_kafka_settings_that_can_never_work_end_the_agent_with_their_error(unique: str) -> None:
    security = {"security.protocol": "ssl", "ssl.ca.location": "/nowhere/ca.pem"}
    kafka = KafkaSettings(bootstrap="127.0.0.1:1", security=security)
    with pytest.raises(SettingsError, match=r"The Kafka settings can't work: .*ssl\.ca\.location"):
        run_agent(AllSettings(AgentSettings(flush_seconds=0.0), kafka, TopicNames(unique)), Orders())


def test_settings_with_which_no_session_can_begin_are_rejected_and_the_old_ones_hold(
    broker: EmbeddedBroker, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka, topics = KafkaSettings(bootstrap=broker.bootstrap), TopicNames(unique)
    broker.declare([topics.samples, topics.status])
    received, orders = Received(kafka, topics), Orders()
    settings = AllSettings(AgentSettings(node="node-00", budget=UNLIMITED), kafka, topics)
    faulty = settings._replace(agent=msgspec.structs.replace(settings.agent, interval_ms=300))

    def scheduled_collectors(*arguments: Any) -> list[Scheduled]:
        if orders_given:
            orders_given.clear()
            raise RuntimeError("no collector works with that")
        return all_scheduled(*arguments)

    def rejections() -> list[str]:
        return [status.message for status in received.statuses if status.event is StatusEvent.SETTINGS_REJECTED]

    orders_given: list[str] = []
    monkeypatch.setattr(run, "scheduled_collectors", scheduled_collectors)
    agent = threading.Thread(target=run_agent, args=(settings, orders, lambda: faulty))
    agent.start()
    try:
        received.take_until(lambda: bool(received.blocks), "a block")
        orders_given.append("reload")
        orders.reload()
        received.take_until(lambda: len({block.session for block in received.blocks}) == 2, "a second session")
        received.take_until(lambda: bool(rejections()), "a rejection")
    finally:
        orders.stop()
        agent.join(WAIT_SECONDS)
    received.close()
    assert rejections() == ["The settings can't be used, the old ones hold: RuntimeError: no collector works with that"]
    assert {block.interval_ns for block in received.blocks if block.collector == "host"} == {INTERVAL_NS}
