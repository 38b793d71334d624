"""Rows of blocks, and how they are put together in the order of their ticks."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray

_NO_ROWS = np.empty(0, dtype=np.int64)


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
        low = self.ticks_ns.searchsorted(start - self.tolerance_ns)
        high = self.ticks_ns.searchsorted(end - self.tolerance_ns)
        return slice(int(low), int(high))


class Stretch(NamedTuple):
    """Rows of one block, or of blocks of the same metrics and boot that followed one another.

    `ticks_ns` (ticks,) as sent and ascending, `values` (ticks, metrics).
    """

    origins: tuple[Origin, ...]
    ticks_ns: IntArray
    values: FloatArray

    @property
    def last(self) -> int:
        """The newest tick of its blocks, shifted by the tolerance."""
        return self.origins[-1].last

    @property
    def state_bytes(self) -> int:
        """Bytes that are held for it: those of the whole array of which its values are a part."""
        whole = self.values.base if isinstance(self.values.base, np.ndarray) else self.values
        return whole.nbytes + self.ticks_ns.nbytes

    def between(self, start: int, end: int) -> "Stretch | None":
        """The rows with start <= tick < end and the blocks that they are from; itself where those are all."""
        first, last = self.origins[0], self.origins[-1]
        if start <= first.first and last.last < end:
            return self
        if last.last < start or end <= first.first:
            return None
        low = int(self.ticks_ns.searchsorted(start - first.tolerance_ns))
        if last.last < end:
            begin = next(number for number, origin in enumerate(self.origins) if origin.last >= start)
            return Stretch(self.origins[begin:], self.ticks_ns[low:], self.values[low:])
        high = int(self.ticks_ns.searchsorted(end - first.tolerance_ns))
        if low == high:
            return None
        origins = tuple(origin for origin in self.origins if is_some(origin.rows_between(start, end)))
        return Stretch(origins, self.ticks_ns[low:high], self.values[low:high])


def is_some(rows: slice) -> bool:
    """Whether there is any row."""
    return bool(rows.start < rows.stop)


def union(origins: Iterable[Origin]) -> tuple[str, ...]:
    """All metrics in order of first sight; the tuple itself where all are one."""
    distinct = list({id(origin.metrics): origin.metrics for origin in origins}.values())
    return distinct[0] if len(distinct) == 1 else tuple(dict.fromkeys(chain.from_iterable(distinct)))


def columns_among(some: tuple[str, ...], metrics: tuple[str, ...]) -> IntArray:
    """Where some metrics stand among all."""
    if some is metrics:
        return np.arange(len(metrics))
    position = {metric: column for column, metric in enumerate(metrics)}
    return np.array([position[metric] for metric in some], dtype=np.int64)


def concatenated(stretches: Sequence[Stretch]) -> Stretch | None:
    """All rows as one stretch; None where they are none.

    That is where they have other metrics or boots, or where they do not follow one another.
    """
    if not stretches:
        return None
    first = stretches[0].origins[0]
    for stretch in stretches:
        origin = stretch.origins[0]
        if origin.metrics is not first.metrics or origin.boot_id != first.boot_id:
            return None
    ticks_ns = np.concatenate([stretch.ticks_ns for stretch in stretches])
    if not (ticks_ns[1:] > ticks_ns[:-1]).all():
        return None
    origins = tuple(chain.from_iterable(stretch.origins for stretch in stretches))
    return Stretch(origins, ticks_ns, np.concatenate([stretch.values for stretch in stretches]))


def merged(stretches: Sequence[Stretch], metrics: tuple[str, ...]) -> tuple[IntArray, FloatArray]:
    """Ticks (ticks,), ascending, and values (ticks, metrics); of those with the same tick a later stretch's win."""
    if not stretches:
        return _NO_ROWS, np.empty((0, len(metrics)))
    ticks_ns = np.unique(np.concatenate([stretch.ticks_ns for stretch in stretches]))
    values = np.full((len(metrics), len(ticks_ns)), np.nan).T
    for stretch in stretches:
        rows = np.searchsorted(ticks_ns, stretch.ticks_ns)
        values[np.ix_(rows, columns_among(stretch.origins[0].metrics, metrics))] = stretch.values
    return ticks_ns, values


def reboot_rows(stretches: Sequence[Stretch], ticks_ns: IntArray) -> IntArray:
    """Rows whose last stretch is of another boot than that of the row before."""
    boot_ids = {stretch.origins[0].boot_id for stretch in stretches}
    if len(boot_ids) <= 1:
        return _NO_ROWS
    numbers = {boot_id: number for number, boot_id in enumerate(boot_ids)}
    boots = np.zeros(len(ticks_ns), dtype=np.int64)
    for stretch in stretches:
        boots[np.searchsorted(ticks_ns, stretch.ticks_ns)] = numbers[stretch.origins[0].boot_id]
    return np.flatnonzero(np.diff(boots)) + 1
