"""The node agent: reads this machine and sends what it reads to Kafka until it is told to stop."""

import logging
import time
from collections.abc import Callable
from pathlib import Path

from pulsetrain.agents.background_threads import BackgroundThreads
from pulsetrain.agents.collectors.base import Notice
from pulsetrain.agents.errors import AgentError
from pulsetrain.agents.linger import linger_ms
from pulsetrain.agents.orders import Orders
from pulsetrain.agents.outlet import KafkaOutlet
from pulsetrain.agents.publisher import Publisher
from pulsetrain.agents.reload import AllSettings, reloaded
from pulsetrain.agents.reporter import Reporter
from pulsetrain.agents.run import Run, existing_roots
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.spool import Spool, SpoolError
from pulsetrain.agents.spool.settings import SpoolSettings
from pulsetrain.agents.topic_gate import TopicGate
from pulsetrain.schemas.status import Severity, StatusEvent

_LOG = logging.getLogger(__name__)

_MEBIBYTE = 1024 * 1024
_SECONDS_PER_HOUR = 3600


class RejectedError(AgentError):
    """Settings that were read anew can't be used; the message says why."""


def run_agent(settings: AllSettings, orders: Orders, read_anew: Callable[[], AllSettings] | None = None) -> RunStats:
    """Read and send until there is the order to stop; afterwards only what stays in the spool is pending.

    What is read before Kafka and the topics are found is held like what is read while Kafka is away.

    Args:
        settings: how to begin.
        orders: to stop, or to read the settings anew.
        read_anew: gives the settings of now; raises RejectedError when they can't be used.

    Raises:
        AgentError: `proc_root` or `sys_root` is no folder.
        SettingsError: the Kafka settings can't work.
        TopicsError: a topic is set up so that its readers would go wrong.
    """
    existing_roots(settings.agent)
    stats = RunStats()
    gate = TopicGate(settings.kafka, settings.topics, orders.stop, linger_ms(settings.agent.node))
    spool = _opened_spool(settings.agent.spool, stats)
    queue_bytes = int(settings.agent.queue_mebibytes * _MEBIBYTE)
    publisher = Publisher(gate.open_producer, stats, queue_bytes, spool=spool)
    agent = _Agent(settings, publisher, stats, orders, read_anew)
    for complaint in spool.complaints if spool else ():
        agent.tell_loss(complaint)
    gate.start()
    try:
        agent.run()
    finally:
        undelivered = publisher.close(settings.agent.flush_seconds)
        seconds = settings.agent.flush_seconds
        if undelivered.lost:
            _LOG.error("%d messages could not be delivered within %g s and are lost.", undelivered.lost, seconds)
        if undelivered.spooled:
            folder = settings.agent.spool.folder
            _LOG.warning("%d messages stay in %s for the next start.", undelivered.spooled, folder)
        gate.close()
    return stats


class _Agent:
    """Session after session, each with the settings that were read last."""

    def __init__(
        self,
        settings: AllSettings,
        publisher: Publisher,
        stats: RunStats,
        orders: Orders,
        read_anew: Callable[[], AllSettings] | None,
    ) -> None:
        agent = settings.agent
        self._settings = settings
        self._stats = stats
        self._orders = orders
        self._read_anew = read_anew
        self._reporter = Reporter(
            agent.node, settings.topics.status, publisher, stats, agent.heartbeat_seconds, time.time_ns
        )
        self._outlet = KafkaOutlet(settings.topics.samples, agent.node, publisher, self._reporter, stats)
        self._background = BackgroundThreads(stats, self._reporter.notice)

    def run(self) -> None:
        """Run until the order to stop."""
        try:
            self._run()
        finally:
            # There are some left only where the order to stop came between two sessions, or a session failed.
            self._background.of({})
        self._reporter.stopped()

    def _run(self) -> None:
        run = self._new_run()
        while True:
            before = self._settings
            try:
                run.run(self._wait)
            finally:
                run.close()
            if self._orders.is_stopping:
                break
            run = self._next_run(before)

    def tell_loss(self, text: str) -> None:
        """Tell of samples that are lost and that nobody can number."""
        _LOG.warning("%s", text)
        self._reporter.notice(Notice(StatusEvent.SAMPLES_DROPPED, Severity.WARNING, text))

    def _new_run(self) -> Run:
        return Run(self._settings.agent, self._outlet, self._reporter, self._stats, self._background)

    def _next_run(self, before: AllSettings) -> Run:
        """A session with the new settings, or if no collector can be made with them, with the old ones."""
        self._reporter.begin_anew(self._settings.agent.heartbeat_seconds)
        try:
            return self._new_run()
        except Exception as error:  # the agent ran well until it was given these settings
            self._reject(f"{type(error).__name__}: {error}")
            self._settings = before
            return self._new_run()

    def _wait(self, seconds: float) -> bool:
        """Whether the session ends: the agent stops, or there are other settings to go on with."""
        if not self._orders.wait(seconds):
            return False
        if not self._orders.is_stopping:
            return self._orders.take_reload() and self._reload()
        # Before the session hands over what there is, so that what they bring last is part of it.
        self._background.close()
        return True

    def _reload(self) -> bool:
        """Whether there are new settings to go on with."""
        if self._read_anew is None:
            return False
        try:
            after = self._read_anew()
            existing_roots(after.agent)
        except AgentError as error:
            self._reject(str(error))
            return False
        settings, changed, needs_restart = reloaded(self._settings, after)
        self._settings = settings
        news = ", ".join(f"{name} {what}" for name, what in changed.items())
        text = f"The settings were read anew: {news or 'nothing is new'}."
        if needs_restart:
            text += f" What changed in {', '.join(needs_restart)} holds after a restart."
        _LOG.info("%s", text)
        self._reporter.notice(Notice(StatusEvent.SETTINGS_RELOADED, Severity.INFO, text, details=changed))
        return bool(changed)

    def _reject(self, reason: str) -> None:
        text = f"The settings can't be used, the old ones hold: {reason}"
        _LOG.error("%s", text)
        self._reporter.notice(Notice(StatusEvent.SETTINGS_REJECTED, Severity.WARNING, text))


def _opened_spool(settings: SpoolSettings, stats: RunStats) -> Spool | None:
    """The spool; None, with a warning, if it can't be used: an agent without one is better than none."""
    if not settings.folder:
        return None

    def lost(messages: int, samples: int, reason: str) -> None:
        stats.drop(messages, samples, reason, reason)

    try:
        spool = Spool(
            Path(settings.folder), int(settings.mebibytes * _MEBIBYTE), settings.hours * _SECONDS_PER_HOUR, lost
        )
    except SpoolError as error:
        stats.spool_failures += 1
        _LOG.warning("%s Messages wait in memory while Kafka is away.", error)
        return None
    stats.spool_unreadable_files += spool.unreadable_files
    stats.spool_unreadable_bytes += spool.unreadable_bytes
    if spool.unread_messages:
        _LOG.info("%d messages of an earlier run are sent first.", spool.unread_messages)
    return spool
