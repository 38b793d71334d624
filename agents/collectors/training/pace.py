"""How far apart the observations of a rank have to be so that each of them has a step."""

from collections import deque
from collections.abc import Iterable
from statistics import median

_NS = 1_000_000_000

INTERVALS_NS = tuple(seconds * _NS for seconds in (1, 2, 5, 10, 30, 60))
"""The first is how often the collector is asked. A rank whose steps take longer than the last has gaps."""

_STEPS = 9
"""Of so many the median is the typical one: an evaluation or a checkpoint between two steps changes nothing."""

_FEWEST_STEPS = 3
"""The first steps of a run compile, and fill caches."""

_ROOM_TO_SHORTEN = 0.8
"""A shorter interval is taken only when a typical step takes less than this part of it, so that it does not swing."""


class Pace:
    """The shortest of `INTERVALS_NS` in which a typical step of one rank ends."""

    def __init__(self) -> None:
        self.interval_ns = INTERVALS_NS[0]
        self._durations_ns: deque[int] = deque(maxlen=_STEPS)

    def take(self, durations_ns: Iterable[int]) -> None:
        """Follow the newest steps."""
        self._durations_ns.extend(durations_ns)
        if len(self._durations_ns) >= _FEWEST_STEPS:
            typical_ns = median(self._durations_ns)
            if typical_ns > self.interval_ns:
                self.interval_ns = _shortest(typical_ns)
            else:
                self.interval_ns = min(self.interval_ns, _shortest(typical_ns / _ROOM_TO_SHORTEN))


def _shortest(duration_ns: float) -> int:
    return next((interval_ns for interval_ns in INTERVALS_NS if interval_ns >= duration_ns), INTERVALS_NS[-1])
