"""The samples of one collector and entity that open windows still need."""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.windows.closed import SourceWindow

BoolArray = npt.NDArray[np.bool_]

_NO_ROWS = np.empty(0, dtype=np.int64)
_OFFSET = attrgetter("offset")


class Origin(NamedTuple):
    """What a block says about all its samples.

    `first` and `last` are its outer ticks shifted by the tolerance, as everywhere in this package; `ticks_ns` are as
    sent. `clock_offset_ns` is append time minus newest tick.
    """

    offset: int
    interval_ns: int
    boot_id: str
    labels: Mapping[str, str]
    metrics: tuple[str, ...]
    ticks_ns: IntArray
    tolerance_ns: int
    first: int
    last: int
    clock_offset_ns: int

    def rows_between(self, start: int, end: int) -> slice:
        """Rows with start <= tick < end."""
        if start <= self.first and self.last < end:
            return slice(0, len(self.ticks_ns))
        if self.last < start or end <= self.first:
            return slice(0, 0)
        low, high = np.searchsorted(self.ticks_ns, (start - self.tolerance_ns, end - self.tolerance_ns))
        return slice(int(low), int(high))


class TallyKind(IntEnum):
    """What a window counts of samples beside taking them."""

    LATE = 0
    OUT_OF_ORDER = 1
    NOT_FINITE = 2
    SENTINEL = 3
    OUT_OF_RANGE = 4


class _Piece(NamedTuple):
    """Rows of a block: ticks (ticks,) as sent and values (ticks, metrics)."""

    origin: Origin
    ticks_ns: IntArray
    values: FloatArray

    def between(self, start: int, end: int) -> "_Piece | None":
        """The rows with start <= tick < end of a whole block; the piece itself where those are all."""
        origin = self.origin
        if start <= origin.first and origin.last < end:
            return self
        rows = origin.rows_between(start, end)
        return _Piece(origin, self.ticks_ns[rows], self.values[rows]) if _is_some(rows) else None


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
    """Blocks in the order of the log, dropped once no open window can hold a sample of theirs."""

    def __init__(self, entity: str, collector: str) -> None:
        self.entity = entity
        self.collector = collector
        self._pieces: list[_Piece] = []
        self._tallies: list[_Tally] = []
        self._last_ticks: dict[int, int] = {}
        self._newest = 0

    @property
    def state_bytes(self) -> int:
        """Bytes of the arrays that are held."""
        values = sum(piece.values.nbytes + piece.ticks_ns.nbytes for piece in self._pieces)
        return values + sum(tally.cells.nbytes + tally.origin.ticks_ns.nbytes for tally in self._tallies)

    def has(self, sequence: int) -> bool:
        """Whether a block of this sequence number is still remembered."""
        return sequence in self._last_ticks

    def remember(self, sequence: int, origin: Origin) -> None:
        """Recognise a copy of this block from now on, as long as it could change a window."""
        self._last_ticks[sequence] = origin.last

    def add(self, origin: Origin, values: FloatArray) -> None:
        """Take a block's values, and count those older than what the source has already sent."""
        if origin.first < self._newest:
            older = origin.ticks_ns < self._newest - origin.tolerance_ns
            self.tally(origin, TallyKind.OUT_OF_ORDER, ~np.isnan(values) & older[:, None])
        self._newest = max(self._newest, origin.last)
        self._pieces.append(_Piece(origin, origin.ticks_ns, values))

    def tally(self, origin: Origin, kind: TallyKind, cells: BoolArray) -> None:
        """Count cells in every open window that their ticks fall in."""
        self._tallies.append(_Tally(origin, kind, cells))

    def prune(self, start: int) -> bool:
        """Forget blocks that end before the next window's start; False where nothing is left."""
        self._pieces = [piece for piece in self._pieces if piece.origin.last >= start]
        self._tallies = [tally for tally in self._tallies if tally.origin.last >= start]
        self._last_ticks = {sequence: last for sequence, last in self._last_ticks.items() if last >= start}
        return bool(self._last_ticks)

    def cut(self, start: int, end: int) -> SourceCut | None:
        """The samples with start <= tick < end; None where nothing happened.

        Where blocks share a tick the newest one that carries the metric wins. Metrics come in order of first sight.
        """
        pieces = [part for piece in self._pieces if (part := piece.between(start, end)) is not None]
        tallies = [(tally, rows) for tally in self._tallies if _is_some(rows := tally.origin.rows_between(start, end))]
        origins = [piece.origin for piece in pieces] + [tally.origin for tally, _ in tallies]
        if not origins:
            return None
        newest = max(origins, key=_OFFSET)
        metrics = _union(origins)
        ticks_ns, values = _joined(pieces, metrics)
        counted = np.zeros((len(TallyKind), len(metrics)), dtype=np.int64)
        for tally, rows in tallies:
            counted[tally.kind, _columns(tally.origin.metrics, metrics)] += tally.cells[rows].sum(axis=0)
        late, out_of_order, not_finite, sentinel, out_of_range = counted
        window = SourceWindow(
            collector=self.collector,
            interval_ns=newest.interval_ns,
            metrics=metrics,
            ticks_ns=ticks_ns,
            values=values,
            reboot_rows=_reboot_rows(pieces, ticks_ns),
            late=late,
            out_of_order=out_of_order,
            not_finite=not_finite,
            sentinel=sentinel,
            out_of_range=out_of_range,
        )
        return SourceCut(window, newest, min((piece.origin.clock_offset_ns for piece in pieces), default=None))


def _is_some(rows: slice) -> bool:
    return bool(rows.start < rows.stop)


def _union(origins: Iterable[Origin]) -> tuple[str, ...]:
    """All metrics in order of first sight; the tuple itself where all are one."""
    distinct = list({id(origin.metrics): origin.metrics for origin in origins}.values())
    return distinct[0] if len(distinct) == 1 else tuple(dict.fromkeys(chain.from_iterable(distinct)))


def _columns(some: tuple[str, ...], metrics: tuple[str, ...]) -> IntArray:
    """Where some metrics stand among all."""
    if some is metrics:
        return np.arange(len(metrics))
    position = {metric: column for column, metric in enumerate(metrics)}
    return np.array([position[metric] for metric in some], dtype=np.int64)


def _joined(pieces: Sequence[_Piece], metrics: tuple[str, ...]) -> tuple[IntArray, FloatArray]:
    """Ticks (ticks,) and values (ticks, metrics) of all pieces; each metric's values lie together."""
    if not pieces:
        return _NO_ROWS, np.empty((0, len(metrics)))
    ticks_ns = np.concatenate([piece.ticks_ns for piece in pieces])
    same = all(piece.origin.metrics is metrics for piece in pieces)
    if same and bool((ticks_ns[1:] > ticks_ns[:-1]).all()):
        return ticks_ns, np.concatenate([piece.values.T for piece in pieces], axis=1).T
    distinct = np.unique(ticks_ns)
    values = np.full((len(metrics), len(distinct)), np.nan).T
    for piece in pieces:
        positions = np.searchsorted(distinct, piece.ticks_ns)
        values[np.ix_(positions, _columns(piece.origin.metrics, metrics))] = piece.values
    return distinct, values


def _reboot_rows(pieces: Sequence[_Piece], ticks_ns: IntArray) -> IntArray:
    """Rows whose newest block has another boot id than that of the row before."""
    boot_ids = {piece.origin.boot_id for piece in pieces}
    if len(boot_ids) <= 1:
        return _NO_ROWS
    numbers = {boot_id: number for number, boot_id in enumerate(boot_ids)}
    boots = np.zeros(len(ticks_ns), dtype=np.int64)
    for piece in pieces:
        boots[np.searchsorted(ticks_ns, piece.ticks_ns)] = numbers[piece.origin.boot_id]
    return np.flatnonzero(np.diff(boots)) + 1
