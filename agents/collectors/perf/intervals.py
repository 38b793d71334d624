"""Lines to rows to whole intervals."""

import math
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pulsetrain.agents.collectors.perf.rows import Row, parse_row

_MAX_LINE_BYTES = 8192
_MAX_ROWS = 4096
"""More than any event set on any number of sockets; what goes on longer is no interval."""


class LineReader:
    """Cuts what comes in parts into lines. A line that is too long is thrown away and counted."""

    def __init__(self) -> None:
        self.too_long = 0
        self._rest = b""
        self._skipping = False

    def lines(self, part: bytes) -> list[bytes]:
        """The lines that a part completes, without their ends."""
        *lines, rest = (self._rest + part).split(b"\n")
        if self._skipping and lines:
            lines, self._skipping = lines[1:], False
        kept = [line for line in lines if len(line) <= _MAX_LINE_BYTES]
        self.too_long += len(lines) - len(kept)
        if self._skipping or len(rest) > _MAX_LINE_BYTES:
            self.too_long += not self._skipping
            self._skipping, rest = True, b""
        self._rest = rest
        return kept


@dataclass(frozen=True, slots=True)
class Interval:
    """All rows of one interval; it ended `end_seconds` after perf began and lasted `seconds`."""

    end_seconds: float
    seconds: float
    rows: tuple[Row, ...]


def merged(intervals: Sequence[Interval]) -> Interval:
    """Several intervals that follow each other as one: all counts of an event stand beside each other.

    An event that one of them lacks is left out: the counts of the others would look like a fall.
    """
    in_all = frozenset.intersection(*(frozenset(row.event for row in interval.rows) for interval in intervals))
    return Interval(
        intervals[-1].end_seconds,
        math.fsum(interval.seconds for interval in intervals),
        tuple(row for interval in intervals for row in interval.rows if row.event in in_all),
    )


class IntervalAssembler:
    """Puts rows together that have the same time.

    perf says nowhere that an interval is complete. It is once a row of the next one comes, or once there are as many
    rows as before: perf prints the same rows each time. Of the two intervals before the longer one counts, since a row
    of the other may have been garbled. An event with fewer rows than in either of them is left out: what is left of it,
    for instance one of two kinds of cores, would look like a fall.
    """

    def __init__(self) -> None:
        self.errors = 0
        self.last_error = ""
        self._rows: list[Row] = []
        self._recent: deque[Counter[str]] = deque(maxlen=2)
        self._handed_over_seconds = 0.0

    def intervals(self, lines: Iterable[bytes]) -> list[Interval]:
        """The intervals that the lines complete. A line that can't be understood is counted in `errors`."""
        found = []
        for line in lines:
            try:
                row = parse_row(line)
            except ValueError as error:
                self._reject(str(error))
                continue
            if row is None:
                continue
            if self._rows and row.seconds != self._rows[0].seconds:
                found.append(self._hand_over())
            if row.seconds <= self._handed_over_seconds:
                self._recent.clear()
                self._reject(f"{row.event}: a row of an interval that is over")
                continue
            self._rows.append(row)
            if len(self._rows) >= max((counts.total() for counts in self._recent), default=_MAX_ROWS):
                found.append(self._hand_over())
        return found

    def _hand_over(self) -> Interval:
        rows, self._rows = tuple(self._rows), []
        end = rows[0].seconds
        seconds, self._handed_over_seconds = end - self._handed_over_seconds, end
        counts = Counter(row.event for row in rows)
        whole = {event for event, count in counts.items() if all(count >= before[event] for before in self._recent)}
        self._recent.append(counts)
        return Interval(end, seconds, tuple(row for row in rows if row.event in whole))

    def _reject(self, error: str) -> None:
        self.errors += 1
        self.last_error = error
