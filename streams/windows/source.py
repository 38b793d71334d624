"""The samples of one collector and entity that open windows still need."""

from collections.abc import Sequence
from enum import IntEnum
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.windows.closed import SourceWindow
from pulsetrain.streams.windows.stretch import (
    Origin,
    Stretch,
    columns_among,
    concatenated,
    is_some,
    merged,
    reboot_rows,
    union,
)

BoolArray = npt.NDArray[np.bool_]

_OFFSET = attrgetter("offset")
_ORIGINS = attrgetter("origins")
_CLOCK_OFFSET = attrgetter("clock_offset_ns")


class TallyKind(IntEnum):
    """What a window counts of samples beside taking them."""

    LATE = 0
    OUT_OF_ORDER = 1
    NOT_FINITE = 2
    SENTINEL = 3
    OUT_OF_RANGE = 4


class _Tally(NamedTuple):
    """Which cells of a block to count, (ticks, metrics)."""

    origin: Origin
    kind: TallyKind
    cells: BoolArray


class SourceCut(NamedTuple):
    """A source's part of a window, the newest block it came in, and the smallest clock offset of those with samples."""

    window: SourceWindow
    newest: Origin
    clock_offset_ns: int | None


class Source:
    """Blocks in the order of the log, dropped once no open window can hold a sample of theirs.

    Windows overlap: what one has put together is kept as one stretch for the next.
    """

    def __init__(self, entity: str, collector: str) -> None:
        self.entity = entity
        self.collector = collector
        self._stretches: list[Stretch] = []
        self._tallies: list[_Tally] = []
        self._last_ticks: dict[int, int] = {}
        self._newest = 0
        self._interval_ns = 0

    @property
    def state_bytes(self) -> int:
        """Bytes of the arrays that are held."""
        samples = sum(stretch.state_bytes for stretch in self._stretches)
        return samples + sum(tally.cells.nbytes + tally.origin.ticks_ns.nbytes for tally in self._tallies)

    def has(self, sequence: int) -> bool:
        """Whether a block of this sequence number is still remembered."""
        return sequence in self._last_ticks

    def remember(self, sequence: int, origin: Origin) -> None:
        """Recognise a copy of this block from now on, as long as it could change a window."""
        self._last_ticks[sequence] = origin.last

    def reaches(self, end: int) -> bool:
        """Whether the next sample will not lie before `end`, if the source keeps its interval."""
        return self._newest + self._interval_ns >= end

    def add(self, origin: Origin, values: FloatArray) -> None:
        """Take a block's values, and count those older than what the source has already sent."""
        if origin.first < self._newest:
            older = origin.ticks_ns < self._newest - origin.tolerance_ns
            self.tally(origin, TallyKind.OUT_OF_ORDER, ~np.isnan(values) & older[:, None])
        self._newest = max(self._newest, origin.last)
        self._interval_ns = origin.interval_ns
        self._stretches.append(Stretch((origin,), origin.ticks_ns, values))

    def tally(self, origin: Origin, kind: TallyKind, cells: BoolArray) -> None:
        """Count cells in every open window that their ticks fall in."""
        self._tallies.append(_Tally(origin, kind, cells))

    def prune(self, start: int) -> bool:
        """Forget blocks that end before the next window's start; False where nothing is left."""
        self._stretches = [stretch for stretch in self._stretches if stretch.last >= start]
        if self._tallies:
            self._tallies = [tally for tally in self._tallies if tally.origin.last >= start]
        self._last_ticks = {sequence: last for sequence, last in self._last_ticks.items() if last >= start}
        return bool(self._last_ticks)

    def cut(self, start: int, end: int) -> SourceCut | None:
        """The samples with start <= tick < end; None where nothing happened.

        Where blocks share a tick the newest one that carries the metric wins. Metrics come in order of first sight.
        """
        stretches = [cut for stretch in self._stretches if (cut := stretch.between(start, end)) is not None]
        tallies = [(tally, rows) for tally in self._tallies if is_some(rows := tally.origin.rows_between(start, end))]
        newest_blocks = [stretch.origins[-1] for stretch in stretches] + [tally.origin for tally, _ in tallies]
        if not newest_blocks:
            return None
        newest = max(newest_blocks, key=_OFFSET)
        metrics = union(newest_blocks)
        whole = concatenated(stretches)
        if whole is not None and whole.origins[0].metrics is metrics:
            ticks_ns, values = whole.ticks_ns, whole.values
            self._keep(whole, stretches, end)
        else:
            ticks_ns, values = merged(stretches, metrics)
        counted = np.zeros((len(TallyKind), len(metrics)), dtype=np.int64)
        for tally, rows in tallies:
            counted[tally.kind, columns_among(tally.origin.metrics, metrics)] += tally.cells[rows].sum(axis=0)
        late, out_of_order, not_finite, sentinel, out_of_range = counted
        window = SourceWindow(
            collector=self.collector,
            interval_ns=newest.interval_ns,
            metrics=metrics,
            ticks_ns=ticks_ns,
            values=values,
            reboot_rows=reboot_rows(stretches, ticks_ns),
            late=late,
            out_of_order=out_of_order,
            not_finite=not_finite,
            sentinel=sentinel,
            out_of_range=out_of_range,
        )
        offsets = map(_CLOCK_OFFSET, chain.from_iterable(map(_ORIGINS, stretches)))
        return SourceCut(window, newest, min(offsets, default=None))

    def _keep(self, whole: Stretch, parts: Sequence[Stretch], end: int) -> None:
        """Hold the leading blocks that end within a window as the stretch that they are in it."""
        count = 0
        for held, part in zip(self._stretches, parts, strict=False):
            if held.origins[-1] is not part.origins[-1] or held.last >= end:
                break
            count += 1
        if count > 1:
            rows = sum(len(part.ticks_ns) for part in parts[:count])
            blocks = sum(len(part.origins) for part in parts[:count])
            self._stretches[:count] = [Stretch(whole.origins[:blocks], whole.ticks_ns[:rows], whole.values[:rows])]
