"""When to read: at wall-clock multiples of the interval, so that samples of different nodes meet on the grid."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

_NS_PER_SECOND = 1_000_000_000

PATIENCE_NS = _NS_PER_SECOND
"""A clock that was set back by less is waited for; after more it is a new beginning."""


@dataclass(frozen=True, slots=True)
class Tick:
    """One reading: the grid point it belongs to, its actual time, and how many grid points were missed before it.

    `clock_went_back` says that the wall clock was set back, so that this tick is not later than the previous one.
    """

    grid_ns: int
    time_ns: int
    skipped: int
    clock_went_back: bool


def ticks(interval_ns: Callable[[], int], time_ns: Callable[[], int], wait: Callable[[float], bool]) -> Iterator[Tick]:
    """Ticks until `wait` says to stop. A caller that takes too long between two ticks misses some, and delays none.

    Args:
        interval_ns: distance of the grid points, aligned to the Unix epoch; asked before each tick.
        time_ns: the wall clock, Unix nanoseconds.
        wait: sleeps for so many seconds, or less when it has to stop; true means stop.
    """
    previous: Tick | None = None
    while True:
        distance_ns = interval_ns()
        longest_wait_ns = distance_ns + PATIENCE_NS
        now_ns = time_ns()
        target_ns = (now_ns // distance_ns + 1) * distance_ns
        if previous is not None and target_ns <= previous.grid_ns:
            after_previous_ns = (previous.grid_ns // distance_ns + 1) * distance_ns
            target_ns = after_previous_ns if after_previous_ns - now_ns <= longest_wait_ns else target_ns
        while 0 < target_ns - now_ns <= longest_wait_ns:
            if wait((target_ns - now_ns) / _NS_PER_SECOND):
                return
            now_ns = time_ns()
        if now_ns < target_ns:
            # Set back while waiting: the next grid point is another one now.
            continue
        grid_ns = now_ns // distance_ns * distance_ns
        went_back = previous is not None and grid_ns <= previous.grid_ns
        skipped = 0 if previous is None or went_back else max(0, (grid_ns - previous.grid_ns) // distance_ns - 1)
        previous = Tick(grid_ns, now_ns, skipped, went_back)
        yield previous


def tick_interval_ns(interval_ns: int, longest_ns: int) -> int:
    """The longest interval of at most `longest_ns` whose multiples contain all multiples of `interval_ns`."""
    parts = -(-interval_ns // longest_ns)
    while interval_ns % parts:
        parts += 1
    return interval_ns // parts


def block_time_ns(interval_ns: int, block_ns: int) -> int:
    """How much time a block of a source holds that is read at an interval.

    A message has its price whatever its size, so a block holds two readings at least, unless the first would have to
    wait for the second for longer than `block_ns`.
    """
    return block_ns if interval_ns > block_ns else max(block_ns, 2 * interval_ns)
