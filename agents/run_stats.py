"""What the agent knows about itself while it runs."""

import math
from dataclasses import dataclass, field


@dataclass(slots=True)
class CollectorHealth:
    """How one collector fares.

    `failures` counts the readings that brought nothing, `is_up` says whether the latest one brought something; None
    where there is nothing to read.
    """

    failures: int = 0
    is_up: bool | None = None
    _longest_seconds: float = math.nan

    def took(self, seconds: float) -> None:
        """The source answered, or gave up, after so long."""
        if not seconds <= self._longest_seconds:
            self._longest_seconds = seconds

    def succeeded(self) -> None:
        """The latest reading brought something."""
        self.is_up = True

    def failed(self) -> None:
        """The latest reading brought nothing."""
        self.is_up = False
        self.failures += 1

    def take_longest_seconds(self) -> float:
        """How long the slowest answer took since this was last asked; NaN if there was none."""
        longest, self._longest_seconds = self._longest_seconds, math.nan
        return longest


@dataclass(slots=True)
class RunStats:
    """Written by the runner and the publisher, read by the agent's own collectors and by heartbeats.

    Every message that was handed to the publisher, or recovered from the spool of an earlier run, is pending, or it was
    sent (the broker confirmed it), it failed (librdkafka gave it up) or it was dropped (no room):
    produced + recovered = pending + sent + failed + dropped.
    """

    ticks: int = 0
    skipped_ticks: int = 0
    unfinished_readings: int = 0
    """Readings in the background that were under way when a session ended, and brought nothing within a moment."""
    tick_delay_seconds: float = 0.0
    collect_seconds: float = 0.0
    degraded_level: int = 0
    produced: int = 0
    recovered: int = 0
    sent: int = 0
    failed: int = 0
    dropped: int = 0
    lost_samples: int = 0
    spool_failures: int = 0
    """How often the spool could not be written."""
    spool_unreadable_files: int = 0
    spool_unreadable_bytes: int = 0
    """What an earlier run left in the spool and that can't be read; how many samples that were is not known."""
    loss_reasons: dict[str, str] = field(default_factory=dict)
    """Why samples were lost since that was last told: the first reason of each kind."""
    collectors: dict[str, CollectorHealth] = field(default_factory=dict)

    def health(self, collector: str) -> CollectorHealth:
        """How a collector fares; its entry is made when it is first asked for."""
        return self.collectors.setdefault(collector, CollectorHealth())

    def lose(self, samples: int, kind: str, reason: str) -> None:
        """Count lost samples, and remember why if it is the first loss of its kind."""
        if samples:
            self.lost_samples += samples
            self.loss_reasons.setdefault(kind, reason)

    def drop(self, messages: int, samples: int, kind: str, reason: str) -> None:
        """Count messages that had to go, and the samples in them."""
        self.dropped += messages
        self.lose(samples, kind, reason)

    @property
    def pending(self) -> int:
        """Messages whose fate is open."""
        return self.produced + self.recovered - self.sent - self.failed - self.dropped
