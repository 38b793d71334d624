"""The samples of one collector and entity that open windows still need."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.windows.closed import SourceWindow

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Origin:
    """What a block says about all its samples. `ticks` are shifted by the tolerance, as everywhere in this package."""

    offset: int
    interval_ns: int
    labels: Mapping[str, str]
    metrics: tuple[str, ...]
    ticks: IntArray
    first: int
    last: int

    def rows_between(self, start: int, end: int) -> slice:
        """Rows with start <= tick < end."""
        if start <= self.first and self.last < end:
            return slice(0, len(self.ticks))
        low, high = np.searchsorted(self.ticks, (start, end))
        return slice(int(low), int(high))


class TallyKind(Enum):
    """What a window counts of samples beside taking them."""

    LATE = auto()
    OUT_OF_ORDER = auto()
    INVALID = auto()


@dataclass(frozen=True, slots=True)
class _Piece:
    """Values of a block, (ticks, metrics)."""

    origin: Origin
    values: FloatArray


@dataclass(frozen=True, slots=True)
class _Tally:
    """Which cells of a block to count, (ticks, metrics)."""

    origin: Origin
    kind: TallyKind
    cells: BoolArray


class Source:
    """Blocks in the order of the log, dropped once no open window can hold a sample of theirs."""

    def __init__(self, entity: str, collector: str) -> None:
        self.entity = entity
        self.collector = collector
        self._pieces: list[_Piece] = []
        self._tallies: list[_Tally] = []
        self._last_ticks: dict[int, int] = {}
        self._newest = 0

    def has(self, sequence: int) -> bool:
        """Whether a block of this sequence number is still remembered."""
        return sequence in self._last_ticks

    def remember(self, sequence: int, origin: Origin) -> None:
        """Recognise a copy of this block from now on, as long as it could change a window."""
        self._last_ticks[sequence] = origin.last

    def add(self, origin: Origin, values: FloatArray) -> None:
        """Take a block's values, and count those older than what the source has already sent."""
        if origin.first < self._newest:
            older = origin.ticks < self._newest
            self.tally(origin, TallyKind.OUT_OF_ORDER, ~np.isnan(values) & older[:, None])
        self._newest = max(self._newest, origin.last)
        self._pieces.append(_Piece(origin, values))

    def tally(self, origin: Origin, kind: TallyKind, cells: BoolArray) -> None:
        """Count cells in every open window that their ticks fall in."""
        self._tallies.append(_Tally(origin, kind, cells))

    def prune(self, start: int) -> bool:
        """Forget blocks that end before the next window's start; False where nothing is left."""
        self._pieces = [piece for piece in self._pieces if piece.origin.last >= start]
        self._tallies = [tally for tally in self._tallies if tally.origin.last >= start]
        self._last_ticks = {sequence: last for sequence, last in self._last_ticks.items() if last >= start}
        return bool(self._last_ticks)

    def cut(self, start: int, end: int, tolerance: int) -> tuple[SourceWindow, Origin] | None:
        """The samples with start <= tick < end and the newest block they came in; None where nothing happened.

        Where blocks share a tick the newest one that carries the metric wins. Metrics come in order of first sight.
        """
        pieces = [(piece, rows) for piece in self._pieces if _is_some(rows := piece.origin.rows_between(start, end))]
        tallies = [(tally, rows) for tally in self._tallies if _is_some(rows := tally.origin.rows_between(start, end))]
        origins = [piece.origin for piece, _ in pieces] + [tally.origin for tally, _ in tallies]
        if not origins:
            return None
        newest = max(origins, key=lambda origin: origin.offset)
        metrics = _union(origin.metrics for origin in origins)
        ticks, values = _joined([(piece.origin, piece.values, rows) for piece, rows in pieces], metrics)
        counted = {kind: np.zeros(len(metrics), dtype=np.int64) for kind in TallyKind}
        for tally, rows in tallies:
            columns = _columns(tally.origin.metrics, metrics)
            counted[tally.kind][columns] += tally.cells[rows].sum(axis=0)
        window = SourceWindow(
            collector=self.collector,
            interval_ns=newest.interval_ns,
            metrics=metrics,
            ticks_ns=ticks - tolerance,
            values=values,
            late=counted[TallyKind.LATE],
            out_of_order=counted[TallyKind.OUT_OF_ORDER],
            invalid=counted[TallyKind.INVALID],
        )
        return window, newest


def _is_some(rows: slice) -> bool:
    return bool(rows.start < rows.stop)


def _union(several: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """All metrics in order of first sight; the tuple itself where all are one."""
    distinct = list({id(metrics): metrics for metrics in several}.values())
    return distinct[0] if len(distinct) == 1 else tuple(dict.fromkeys(chain.from_iterable(distinct)))


def _columns(some: tuple[str, ...], metrics: tuple[str, ...]) -> IntArray:
    """Where some metrics stand among all."""
    if some is metrics:
        return np.arange(len(metrics))
    position = {metric: column for column, metric in enumerate(metrics)}
    return np.array([position[metric] for metric in some], dtype=np.int64)


def _joined(parts: Sequence[tuple[Origin, FloatArray, slice]], metrics: tuple[str, ...]) -> tuple[IntArray, FloatArray]:
    """Ticks (ticks,) and values (ticks, metrics) of all parts."""
    if not parts:
        return np.empty(0, dtype=np.int64), np.empty((0, len(metrics)))
    ticks = np.concatenate([origin.ticks[rows] for origin, _, rows in parts])
    same = all(origin.metrics is metrics for origin, _, _ in parts)
    if same and bool((ticks[1:] > ticks[:-1]).all()):
        return ticks, np.concatenate([values[rows] for _, values, rows in parts])
    distinct = np.unique(ticks)
    joined = np.full((len(distinct), len(metrics)), np.nan)
    for origin, values, rows in parts:
        positions = np.searchsorted(distinct, origin.ticks[rows])
        joined[np.ix_(positions, _columns(origin.metrics, metrics))] = values[rows]
    return distinct, joined
