"""Finished steps that wait: for values on their way from the device, and for the next datagram."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from pulsetrain.agents.hook.cuda import Snapshot, Timing
from pulsetrain.agents.hook.message import MAX_STEPS, NonFinite, StepRow

LOSS, GRADIENT_NORM, LOSS_SCALE = range(3)
_FLAGS = (NonFinite.LOSS, NonFinite.GRADIENT_NORM, NonFinite.LOSS_SCALE)

_MOST_WAITING = MAX_STEPS
"""When so many wait, half of them no longer wait for values of a device that is so far behind."""


@dataclass(slots=True)
class Step:
    """One step; `values` are loss, gradient norm and loss scale, None where missing or still under way."""

    time_ns: int
    number: int
    duration_ns: int | None
    data_wait_ns: int | None
    all_reduce_ns: int | None
    values: list[float | None]
    snapshot: Snapshot | None = None
    timings: list[Timing] = field(default_factory=list)

    def is_resolved(self) -> bool:
        """Whether everything under way has arrived."""
        return (self.snapshot is None or self.snapshot.is_ready()) and all(one.is_ready() for one in self.timings)

    def resolve(self) -> None:
        """Take what has arrived; only when everything has."""
        if self.snapshot is not None:
            for position, value in self.snapshot.values().items():
                self.values[position] = value
        if self.timings:
            self.all_reduce_ns = sum(timing.duration_ns() for timing in self.timings)

    def row(self) -> StepRow:
        """The step as it is sent: what is not finite is missing, and said so."""
        flags = NonFinite.NOTHING
        for position, value in enumerate(self.values):
            if value is not None and not math.isfinite(value):
                flags |= _FLAGS[position]
                self.values[position] = None
        loss, gradient_norm, loss_scale = self.values
        return (
            self.time_ns,
            self.number,
            self.duration_ns,
            self.data_wait_ns,
            self.all_reduce_ns,
            loss,
            gradient_norm,
            loss_scale,
            int(flags),
        )


class StepQueue:
    """Steps in their order.

    Args:
        give_back: takes what a step had borrowed for its values.
        on_error: told what went wrong with a step's values, which are missing then.
    """

    def __init__(self, give_back: Callable[[Snapshot | Timing], None], on_error: Callable[[Exception], None]) -> None:
        self._give_back = give_back
        self._on_error = on_error
        self._steps: deque[Step] = deque()

    @property
    def is_full(self) -> bool:
        """Whether some must be taken before the next one."""
        return len(self._steps) >= _MOST_WAITING

    def append(self, step: Step) -> None:
        """Add the newest step."""
        self._steps.append(step)

    def take(self, everything: bool = False) -> list[StepRow]:
        """The oldest steps up to the first that is not resolved; of a full queue at least half, of what is asked all.

        At most as many as fit a datagram. What has not arrived in a step that is taken is missing.
        """
        rows: list[StepRow] = []
        at_least = len(self._steps) if everything else _MOST_WAITING // 2 if self.is_full else 0
        while self._steps and len(rows) < MAX_STEPS:
            step = self._steps[0]
            if not self._resolve(step) and len(rows) >= at_least:
                break
            self._steps.popleft()
            for used in (step.snapshot, *step.timings):
                if used is not None:
                    self._give_back(used)
            rows.append(step.row())
        return rows

    def _resolve(self, step: Step) -> bool:
        """Whether nothing of the step is to be waited for; what has arrived is in its place then."""
        try:
            is_resolved = step.is_resolved()
            if is_resolved:
                step.resolve()
        except Exception as error:  # a broken device must not keep steps waiting
            self._on_error(error)
            return True
        return is_resolved
