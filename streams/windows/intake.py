"""What becomes of each sample: taken, or counted as what kept it out."""

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.schemas.sample_block import SampleBlock
from pulsetrain.streams.align.validity import BoolArray, Validity, are_plain, examine
from pulsetrain.streams.windows.arrival import Arrival
from pulsetrain.streams.windows.run import Run
from pulsetrain.streams.windows.source import TallyKind
from pulsetrain.streams.windows.step import SampleCounts
from pulsetrain.streams.windows.stretch import Origin
from pulsetrain.streams.windows.times import WindowTimes


class Intake:
    """Puts samples into runs and keeps `counts`, in which every sample appears once."""

    def __init__(self, times: WindowTimes) -> None:
        self.counts = SampleCounts()
        self.validity = Validity()
        self._times = times

    def quarantine(self, block: SampleBlock) -> None:
        """Leave out a block whose clock is in the future."""
        self.counts.quarantined += self._receive(block)

    def leave(self, block: SampleBlock) -> None:
        """Leave out a block of a session that has ended."""
        self.counts.late += self._receive(block)

    def give_up(self, block: SampleBlock) -> None:
        """Leave out a block that could not be taken, and goes to the dead letters."""
        self.counts.dead_lettered += self._receive(block)

    def take(self, arrival: Arrival, offset: int, run: Run) -> None:
        """Put a block's samples into its run. Counts last, so that a block that fails is not counted here."""
        block = arrival.block
        source = run.source(block.entity, block.collector)
        if source.has(block.sequence):
            self.counts.duplicate += self._receive(block)
            return
        run.touch(arrival.first)
        limits = self.validity.limits(block.metrics)
        origin = Origin(
            offset=offset,
            interval_ns=block.interval_ns,
            boot_id=block.boot_id,
            labels=block.labels,
            metrics=limits.metrics,
            ticks_ns=block.ticks_ns,
            tolerance_ns=self._times.tolerance_ns,
            first=arrival.first,
            last=arrival.last,
            clock_offset_ns=arrival.clock_offset_ns,
        )
        if arrival.is_late:
            source.remember(block.sequence, origin)
            source.tally(origin, TallyKind.LATE, ~np.isnan(block.values))
            self.counts.late += self._receive(block)
            return
        late_rows = run.late_rows(origin)
        late = _samples(block.values[late_rows]) if late_rows.stop else 0
        is_plain = are_plain(block.values, limits)
        examined = None if is_plain else examine(block.values, limits)
        source.remember(block.sequence, origin)
        invalid = 0
        if examined is None:
            source.add(origin, block.values)
        else:
            source.add(origin, examined.values)
            by_kind = {
                TallyKind.NOT_FINITE: examined.not_finite,
                TallyKind.SENTINEL: examined.sentinel,
                TallyKind.OUT_OF_RANGE: examined.out_of_range,
            }
            for kind, cells in by_kind.items():
                if cells.any():
                    source.tally(origin, kind, cells)
            invalid = self._count_invalid(*(_count_except(cells, late_rows) for cells in by_kind.values()))
        self.counts.late += late
        self.counts.used += self._receive(block, is_plain) - late - invalid

    def _receive(self, block: SampleBlock, is_whole: bool = False) -> int:
        """How many samples the block has, added to what came in."""
        samples = block.values.size if is_whole else _samples(block.values)
        self.counts.received += samples
        return samples

    def _count_invalid(self, not_finite: int, sentinel: int, out_of_range: int) -> int:
        self.counts.not_finite += not_finite
        self.counts.sentinel += sentinel
        self.counts.out_of_range += out_of_range
        return not_finite + sentinel + out_of_range


def _samples(values: FloatArray) -> int:
    """How many cells are not missing."""
    return values.size - int(np.count_nonzero(np.isnan(values)))


def _count_except(cells: BoolArray, rows: slice) -> int:
    return int(np.count_nonzero(cells)) - int(np.count_nonzero(cells[rows]))
