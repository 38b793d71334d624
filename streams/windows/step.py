"""What the window engine says after each message."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulsetrain.schemas.status import Severity, StatusEvent
from pulsetrain.streams.windows.closed import ClosedWindow


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """A turn in a node's life that an operator wants to know; `at_ns` is append time, `details` its figures."""

    event: StatusEvent
    severity: Severity
    node: str
    at_ns: int
    message: str
    details: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """What to send, and how far the log is then done with.

    `safe_offset` is the offset after the longest prefix of messages that no unemitted window starts at or before,
    None before the first. It may be acknowledged once the broker has confirmed all windows up to this step.
    `prepared` are windows that will be among `windows` of a later step, the same objects, unless something that belongs
    in them comes before: whoever computes from them now has it ready then.
    """

    windows: list[ClosedWindow] = field(default_factory=list)
    events: list[NodeEvent] = field(default_factory=list)
    safe_offset: int | None = None
    prepared: list[ClosedWindow] = field(default_factory=list)


@dataclass(slots=True)
class SampleCounts:
    """What became of every sample: received = used + late + duplicate + invalid + quarantined + dead_lettered.

    A cell that came as NaN is missing and no sample. Used is every valid sample that came in time, also one that no
    window holds because it lies before the first window of a run or in a hole.
    """

    received: int = 0
    used: int = 0
    late: int = 0
    duplicate: int = 0
    quarantined: int = 0
    dead_lettered: int = 0
    not_finite: int = 0
    sentinel: int = 0
    out_of_range: int = 0

    @property
    def invalid(self) -> int:
        """Samples that can't have been measured, whatever the reason."""
        return self.not_finite + self.sentinel + self.out_of_range
