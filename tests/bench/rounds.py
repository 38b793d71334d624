"""Work that takes turns in rounds, so that what else the machine does meets all of it alike."""

import time
from collections.abc import Callable, Sequence
from statistics import median

Work = Callable[[int], None]
"""Is given the number of the round."""


def milliseconds_in_turns(works: Sequence[Work], rounds: int) -> list[list[float]]:
    """CPU time of this thread for each work, by round: other load on the machine hardly counts."""
    timings: list[list[float]] = [[] for _ in works]
    for number in range(rounds):
        for work, milliseconds in zip(works, timings, strict=True):
            begin = time.thread_time()
            work(number)
            milliseconds.append((time.thread_time() - begin) * 1e3)
    return timings


def median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    """The median of the ratios within rounds."""
    return median(a / b for a, b in zip(numerators, denominators, strict=True))
