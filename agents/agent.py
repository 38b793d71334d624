"""The node agent: reads this machine and sends what it reads to Kafka until it is told to stop."""

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import KafkaError, Producer

from pulsetrain.agents.background import BackgroundThread, stop_all
from pulsetrain.agents.collectors import background_collectors, scheduled_collectors
from pulsetrain.agents.collectors.base import Roots, Support
from pulsetrain.agents.collectors.scheduled import Scheduled
from pulsetrain.agents.errors import AgentError
from pulsetrain.agents.feed import BackgroundFeed
from pulsetrain.agents.governor import Governor
from pulsetrain.agents.pace import Pace
from pulsetrain.agents.publisher import Publisher
from pulsetrain.agents.reporter import Reporter
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.runner import Runner
from pulsetrain.agents.session import Node, read_boot_id
from pulsetrain.agents.settings import AgentSettings
from pulsetrain.agents.usage import UsageMeter
from pulsetrain.schemas.errors import EncodeError
from pulsetrain.schemas.kafka import (
    KafkaSettings,
    checked_key,
    producer_config,
    wait_for_broker,
    wait_for_topics,
)
from pulsetrain.schemas.sample_block import SampleBlock, encode_sample_block
from pulsetrain.schemas.topics import SAMPLES, STATUS, TopicNames

_LOG = logging.getLogger(__name__)

_NS_PER_MS = 1_000_000
_NS_PER_SECOND = 1_000_000_000
_MEBIBYTE = 1024 * 1024

_PRODUCER = {
    "compression.type": "lz4",
    "linger.ms": 20,
    # What waits longer than a moment waits in the publisher's queue, where it can be dropped.
    "queue.buffering.max.kbytes": 2048,
    # A topic that is deleted meanwhile must not come back with the broker's default settings.
    "allow.auto.create.topics": False,
    # The publisher says once that Kafka is away; librdkafka's own log says it many times a second.
    "log_level": 2,
}


class _StoppedError(AgentError):
    """The agent was told to stop before it had begun."""


def run_agent(settings: AgentSettings, kafka: KafkaSettings, topics: TopicNames, stop: threading.Event) -> RunStats:
    """Wait for Kafka and the two topics, then read and send until `stop` is set; afterwards nothing is pending.

    Raises:
        AgentError: `proc_root` or `sys_root` is no folder.
        SettingsError: the Kafka settings can't work.
        TopicsError: a topic is set up so that its readers would go wrong.
    """
    roots = _existing_roots(settings)
    stats = RunStats()
    try:
        wait_for_broker(kafka, _LOG.warning, sleep=_sleep_until(stop))
        wait_for_topics(kafka, (SAMPLES, STATUS), topics.prefix, None, _LOG.warning, sleep=_sleep_until(stop))
    except _StoppedError:
        return stats
    publisher = Publisher(_open_producer(kafka), stats, int(settings.queue_mebibytes * _MEBIBYTE))
    reporter = Reporter(settings.node, topics.status, publisher, stats, settings.heartbeat_seconds, time.time_ns)
    threads = [BackgroundThread(registered) for registered in background_collectors(roots, settings)]
    feed = BackgroundFeed(threads, reporter, stats)
    scheduled, unsupported = supported_collectors(scheduled_collectors(roots, stats), stats)
    meter = UsageMeter(roots.proc, os.cpu_count() or 1)
    try:
        runner = Runner(
            Node(settings.node, read_boot_id(roots.proc), settings.labels),
            scheduled,
            settings.interval_ms * _NS_PER_MS,
            int(settings.block_seconds * _NS_PER_SECOND),
            KafkaOutlet(topics.samples, settings.node, publisher, reporter, stats),
            stats,
            feed,
            Pace(Governor(settings.budget), meter.usage, reporter, stats),
        )
        metrics = sum(len(entry.collector.metrics()) for entry in scheduled)
        _LOG.info("Node %s: reading %d metrics every %d ms.", settings.node, metrics, settings.interval_ms)
        reporter.started(metrics, unsupported)
        for thread in threads:
            thread.start()
        runner.run(time.time_ns, stop.wait)
        reporter.stopped()
    finally:
        if hanging := stop_all(threads):
            _LOG.warning("The agent ends without waiting for what hangs: %s.", ", ".join(hanging))
        undelivered = publisher.close(settings.flush_seconds)
        for entry in scheduled:
            entry.collector.close()
        meter.close()
    if undelivered.lost:
        _LOG.error(
            "%d messages could not be delivered within %g s and are lost.", undelivered.lost, settings.flush_seconds
        )
    return stats


def supported_collectors(registered: list[Scheduled], stats: RunStats) -> tuple[list[Scheduled], dict[str, str]]:
    """Those that this machine supports; of the others, by name, why not."""
    supported, reasons = [], {}
    for entry in registered:
        collector = entry.collector
        stats.health(collector.name)
        try:
            support = collector.is_supported()
        except Exception as error:  # a fault in one collector must not end the others
            support = Support(False, f"{type(error).__name__}: {error}")
        if support.supported:
            supported.append(entry)
        else:
            reasons[collector.name] = support.reason
            collector.close()
    return supported, reasons


class KafkaOutlet:
    """Blocks to the samples topic, the fate of collectors and heartbeats to the status topic."""

    def __init__(self, topic: str, node: str, publisher: Publisher, reporter: Reporter, stats: RunStats) -> None:
        self._topic = topic
        self._key = checked_key(node)
        self._publisher = publisher
        self._reporter = reporter
        self._stats = stats
        self.collector_read = reporter.collector_read
        self.collector_unsupported = reporter.collector_unsupported
        self.notice = reporter.notice

    def block(self, block: SampleBlock) -> None:
        try:
            message = encode_sample_block(block)
        except EncodeError as error:
            self._stats.lose(block.values.size, "encode", f"a block can't be sent ({error})")
            return
        self._publisher.send(self._topic, self._key, message, block.values.size)

    def tick_done(self, time_ns: int) -> None:
        self._reporter.beat(time_ns)
        self._publisher.poll()


def _existing_roots(settings: AgentSettings) -> Roots:
    for name, folder in (("proc_root", settings.proc_root), ("sys_root", settings.sys_root)):
        if not Path(folder).is_dir():
            raise AgentError(f"agent.{name} {folder!r} is no folder: name where it is mounted")
    return Roots(Path(settings.proc_root), Path(settings.sys_root))


def _open_producer(kafka: KafkaSettings) -> Callable[[Callable[[KafkaError], None]], Producer]:
    return lambda report: Producer(producer_config(kafka, **_PRODUCER, error_cb=report))


def _sleep_until(stop: threading.Event) -> Callable[[float], None]:
    def sleep(seconds: float) -> None:
        if stop.wait(seconds):
            raise _StoppedError

    return sleep
