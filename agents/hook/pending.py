"""Values of finished steps that are on their way from a device; the steps themselves don't wait for them."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from pulsetrain.agents.hook.cuda import Snapshot, Timing, union_ns
from pulsetrain.agents.hook.message import MAX_STEPS, NonFinite, ValuesRow

_FLAGS = (NonFinite.LOSS, NonFinite.GRADIENT_NORM, NonFinite.LOSS_SCALE)

_MOST_WAITING = MAX_STEPS
"""When so many wait, half of them no longer wait for a device that is so far behind."""


@dataclass(slots=True)
class Values:
    """Of the step with that number: loss, gradient norm and loss scale, None where missing or still under way."""

    step: int
    all_reduce_ns: int | None
    numbers: list[float | None]
    snapshot: Snapshot | None = None
    timings: list[Timing] = field(default_factory=list)

    def is_resolved(self) -> bool:
        """Whether everything under way has arrived."""
        return (self.snapshot is None or self.snapshot.is_ready()) and all(one.is_ready() for one in self.timings)

    def resolve(self) -> None:
        """Take what has arrived; only when everything has."""
        if self.snapshot is not None:
            for position, number in self.snapshot.values().items():
                self.numbers[position] = number
        if self.timings:
            self.all_reduce_ns = union_ns(self.timings)

    def row(self) -> ValuesRow | None:
        """The values as they are sent, None if there are none: what is not finite is missing, and said so."""
        flags = NonFinite.NOTHING
        for position, number in enumerate(self.numbers):
            if number is not None and not math.isfinite(number):
                flags |= _FLAGS[position]
                self.numbers[position] = None
        loss, gradient_norm, loss_scale = self.numbers
        if self.all_reduce_ns is None and not flags and self.numbers == [None, None, None]:
            return None
        return self.step, self.all_reduce_ns, loss, gradient_norm, loss_scale, int(flags)


class PendingValues:
    """Values in the order of their steps.

    Args:
        give_back: takes what was borrowed for the way from the device.
        on_error: told what went wrong with values, which are missing then.
    """

    def __init__(self, give_back: Callable[[Snapshot | Timing], None], on_error: Callable[[Exception], None]) -> None:
        self._give_back = give_back
        self._on_error = on_error
        self._waiting: deque[Values] = deque()

    @property
    def is_full(self) -> bool:
        """Whether some must be taken before the next step."""
        return len(self._waiting) >= _MOST_WAITING

    def append(self, values: Values) -> None:
        """Add those of the newest step."""
        self._waiting.append(values)

    def take(self, everything: bool = False) -> list[ValuesRow]:
        """The oldest values up to the first that has not arrived; when full at least half of them, or everything.

        What has not arrived of values that are taken is missing.
        """
        rows: list[ValuesRow] = []
        at_least = len(self._waiting) if everything else _MOST_WAITING // 2 if self.is_full else 0
        taken = 0
        while self._waiting and taken < MAX_STEPS:
            values = self._waiting[0]
            if not self._resolve(values) and taken >= at_least:
                break
            self._waiting.popleft()
            taken += 1
            for used in (values.snapshot, *values.timings):
                if used is not None:
                    self._give_back(used)
            if (row := values.row()) is not None:
                rows.append(row)
        return rows

    def _resolve(self, values: Values) -> bool:
        """Whether nothing is to be waited for; what has arrived is in its place then."""
        try:
            is_resolved = values.is_resolved()
            if is_resolved:
                values.resolve()
        except Exception as error:  # a broken device must not keep values waiting
            self._on_error(error)
            return True
        return is_resolved
