"""What the agent says about itself: status messages, each episode told once."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict

from pulsetrain.agents.collectors.base import Notice
from pulsetrain.agents.episodes import Episodes
from pulsetrain.agents.governor import MAX_LEVEL, Usage
from pulsetrain.agents.publisher import Publisher
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.schemas.errors import EncodeError
from pulsetrain.schemas.json_record import encode_json
from pulsetrain.schemas.kafka import checked_key
from pulsetrain.schemas.status import Severity, Status, StatusEvent
from pulsetrain.schemas.times import utc_time

_LOG = logging.getLogger(__name__)

_NS_PER_SECOND = 1_000_000_000

Details = dict[str, str | int | float | None]


class Reporter:
    """Status messages of one node.

    Args:
        node: who speaks.
        topic: the status topic.
        publisher: takes the messages.
        stats: what heartbeats tell.
        heartbeat_seconds: distance of two heartbeats.
        time_ns: the wall clock, Unix nanoseconds.
    """

    def __init__(
        self,
        node: str,
        topic: str,
        publisher: Publisher,
        stats: RunStats,
        heartbeat_seconds: float,
        time_ns: Callable[[], int],
    ) -> None:
        self._node = node
        self._key = checked_key(node)
        self._topic = topic
        self._publisher = publisher
        self._stats = stats
        self._heartbeat_ns = int(heartbeat_seconds * _NS_PER_SECOND)
        self._time_ns = time_ns
        self._last_beat_ns: int | None = None
        self._reported_losses = 0
        self._is_losing = False
        self._degraded_level = 0
        self._episodes = Episodes()
        self._unsupported: dict[str, str] = {}

    def started(self, metrics: int, unsupported: Mapping[str, str]) -> None:
        """The agent runs: how many metrics it reads, and by collector why this machine does not support it."""
        details: Details = {"metrics": metrics, **unsupported}
        self._say(StatusEvent.STARTED, f"The agent reads {metrics} metrics.", Severity.INFO, details)

    def begin_anew(self, heartbeat_seconds: float) -> None:
        """A session begins with other settings, at full pace: a collector that fails with them too is told again."""
        self._heartbeat_ns = int(heartbeat_seconds * _NS_PER_SECOND)
        self._episodes.begin_anew()
        self._unsupported.clear()
        self._stats.degraded_level = 0
        if self._degraded_level:
            self._leave_degraded_mode({"level": 0})

    def stopped(self) -> None:
        """The agent ends on request."""
        self._say(StatusEvent.STOPPED, "The agent was told to stop.", Severity.INFO, self._figures())

    def beat(self, time_ns: int) -> None:
        """A heartbeat if one is due, and what was lost since the previous one."""
        last = self._last_beat_ns
        if last is not None and 0 <= time_ns - last < self._heartbeat_ns:
            return
        self._last_beat_ns = time_ns
        self._say(StatusEvent.HEARTBEAT, "The agent runs.", Severity.INFO, self._figures())
        self._tell_losses()

    def collector_read(self, collector: str, failure: str | None) -> None:
        """How a collector fared lately (None: well); only a change is told."""
        details: Details = {"collector": collector}
        was_absent = self._unsupported.pop(collector, None) is not None
        if failure is not None:
            if self._episodes.failed(collector, self._time_ns()):
                text = f"The collector {collector} fails: {failure}."
                _LOG.warning("%s", text)
                self._say(StatusEvent.COLLECTOR_FAILED, text, Severity.WARNING, details)
        elif self._episodes.worked(collector, self._time_ns()) or was_absent:
            text = f"The collector {collector} {'has something to read now' if was_absent else 'works again'}."
            _LOG.warning("%s", text)
            self._say(StatusEvent.COLLECTOR_RECOVERED, text, Severity.INFO, details)

    def collector_unsupported(self, collector: str, reason: str) -> None:
        """This machine has not, or not now, what a background collector reads: heartbeats say so while it lasts."""
        if self._unsupported.get(collector) != reason:
            _LOG.info("The collector %s has nothing to read: %s. It is tried again later.", collector, reason)
        self._episodes.forget(collector)
        self._unsupported[collector] = reason

    def notice(self, notice: Notice) -> None:
        """What a collector has to tell."""
        entity = notice.entity
        if entity is not None and "/" not in entity:
            entity = f"{self._node}/{entity}"
        self._say(notice.event, notice.message, notice.severity, dict(notice.details), entity)

    def degraded(self, level: int, usage: Usage, exceeded: list[str], slowed: Mapping[str, int]) -> None:
        """The agent has slowed down to `level`, or come back to it; `slowed` has the factor by stream or collector."""
        is_worse, self._degraded_level = level > self._degraded_level, level
        details: Details = {"level": level, "exceeded": ", ".join(exceeded), **asdict(usage)}
        details |= {f"slowed.{name}": factor for name, factor in slowed.items()}
        if is_worse:
            over = " and ".join(exceeded)
            text = f"The agent is over its limit of {over} and reads less often: level {level} of {MAX_LEVEL}."
            _LOG.warning("%s", text)
            self._say(StatusEvent.DEGRADED_MODE_ENTERED, text, Severity.WARNING, details)
        elif level == 0:
            self._leave_degraded_mode(details)

    def _leave_degraded_mode(self, details: Details) -> None:
        self._degraded_level = 0
        text = "The agent reads at its full pace again."
        _LOG.warning("%s", text)
        self._say(StatusEvent.DEGRADED_MODE_LEFT, text, Severity.INFO, details)

    def _tell_losses(self) -> None:
        """Samples lost since the previous heartbeat; the log is told once, until a heartbeat passes without a loss."""
        lost = self._stats.lost_samples - self._reported_losses
        if lost:
            self._reported_losses += lost
            reasons = "; ".join(self._stats.loss_reasons.values())
            self._stats.loss_reasons.clear()
            text = f"{lost} samples were lost since the last report: {reasons}."
            self._say(StatusEvent.SAMPLES_DROPPED, text, Severity.WARNING, self._figures())
            if not self._is_losing:
                _LOG.warning("%s", text)
        self._is_losing = lost > 0

    def _figures(self) -> Details:
        stats = self._stats
        return {
            "ticks": stats.ticks,
            "skipped_ticks": stats.skipped_ticks,
            "unfinished_readings": stats.unfinished_readings,
            "produced": stats.produced,
            "recovered": stats.recovered,
            "pending": stats.pending,
            "sent": stats.sent,
            "failed": stats.failed,
            "dropped": stats.dropped,
            "lost_samples": stats.lost_samples,
            "spool_failures": stats.spool_failures,
            "spool_unreadable_files": stats.spool_unreadable_files,
            "spool_unreadable_bytes": stats.spool_unreadable_bytes,
            "degraded_level": stats.degraded_level,
            **{f"unsupported.{name}": reason for name, reason in self._unsupported.items()},
        }

    def _say(
        self,
        event: StatusEvent,
        message: str,
        severity: Severity,
        details: Details,
        entity: str | None = None,
    ) -> None:
        status = Status(
            source=self._node,
            event=event,
            severity=severity,
            at=utc_time(self._time_ns()),
            message=message,
            entity=entity,
            details=details,
        )
        try:
            encoded = encode_json(status)
        except EncodeError as error:
            _LOG.error("The status message %s can't be sent (%s): %.300r", event.value, error, message)
            return
        self._publisher.send(self._topic, self._key, encoded)
