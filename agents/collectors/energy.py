"""How much energy has been used, from a counter that runs over."""

import math
from collections.abc import Callable

MICROJOULES = 1e6
_MOST_POWER_FACTOR = 4.0
"""For moments a processor draws a multiple of its rated power; what is far beyond that was not drawn."""


class EnergySum:
    """Energy of one zone as one growing sum, its counter's wraps taken out.

    `after < before` is a wrap, and the growth `(range - before) + after`, unless the node was booted in between, or the
    growth is more than the zone can have drawn: then the counter was reset. After a pause in which the counter may have
    run round more than once, nobody knows. In both cases the value is NaN once, and the sum goes on from where it was:
    what was used meanwhile is missing in it.

    Args:
        range_microjoules: the counter's largest value.
        most_watts: what the zone draws at most.
        boot_id: tells one boot of the node from another.
    """

    def __init__(self, range_microjoules: int, most_watts: float, boot_id: Callable[[], str]) -> None:
        self._range = range_microjoules
        self._most_microwatts = most_watts * MICROJOULES
        self._boot_id = boot_id
        self._boot = boot_id()
        self._sum = 0
        self._before: tuple[float, int] | None = None

    def add(self, seconds: float, microjoules: int) -> float:
        """The sum in joules; the first one is the counter's own.

        Args:
            seconds: when the counter was read, on a clock that is never set.
            microjoules: what it said.
        """
        before, self._before = self._before, (seconds, microjoules)
        growth = microjoules if before is None else self._growth(before, seconds, microjoules)
        if growth is None:
            return math.nan
        self._sum += growth
        return self._sum / MICROJOULES

    def _growth(self, before: tuple[float, int], seconds: float, microjoules: int) -> int | None:
        most = (seconds - before[0]) * self._most_microwatts
        if most > self._range:
            return None
        growth = microjoules - before[1]
        if growth >= 0:
            return growth
        boot, self._boot = self._boot, self._boot_id()
        growth += self._range
        return growth if boot == self._boot and 0 <= growth <= _MOST_POWER_FACTOR * most else None
