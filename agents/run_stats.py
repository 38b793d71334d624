"""What the agent knows about itself while it runs."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class RunStats:
    """Written by the runner and the publisher, read by the agent's own collector and by heartbeats.

    Every message that was handed to the publisher is pending, or it was sent (the broker confirmed it), it failed
    (librdkafka gave it up) or it was dropped (no room): produced = pending + sent + failed + dropped.
    """

    ticks: int = 0
    skipped_ticks: int = 0
    tick_delay_seconds: float = 0.0
    collect_seconds: float = 0.0
    produced: int = 0
    sent: int = 0
    failed: int = 0
    dropped: int = 0
    lost_samples: int = 0
    loss_reasons: dict[str, str] = field(default_factory=dict)
    """Why samples were lost since that was last told: the first reason of each kind."""

    def lose(self, samples: int, kind: str, reason: str) -> None:
        """Count lost samples, and remember why if it is the first loss of its kind."""
        if samples:
            self.lost_samples += samples
            self.loss_reasons.setdefault(kind, reason)

    @property
    def pending(self) -> int:
        """Messages whose fate is open."""
        return self.produced - self.sent - self.failed - self.dropped
