"""What becomes of each sample: taken, or counted as what kept it out."""

import numpy as np

from pulsetrain.schemas.sample_block import SampleBlock
from pulsetrain.streams.align.validity import BoolArray, Validity, examine
from pulsetrain.streams.windows.arrival import Arrival
from pulsetrain.streams.windows.run import Run
from pulsetrain.streams.windows.source import Origin, TallyKind
from pulsetrain.streams.windows.step import SampleCounts
from pulsetrain.streams.windows.times import WindowTimes


class Intake:
    """Puts samples into runs and keeps `counts`, in which every sample appears once."""

    def __init__(self, times: WindowTimes) -> None:
        self.counts = SampleCounts()
        self.validity = Validity()
        self._times = times

    def quarantine(self, block: SampleBlock) -> None:
        """Leave out a block whose clock is in the future."""
        self.counts.quarantined += self._received(block)

    def leave(self, block: SampleBlock) -> None:
        """Leave out a block of a session that has ended."""
        self.counts.late += self._received(block)

    def take(self, arrival: Arrival, offset: int, run: Run) -> None:
        """Put a block's samples into its run."""
        block = arrival.block
        received = self._received(block)
        source = run.source(block.entity, block.collector)
        if source.has(block.sequence):
            self.counts.duplicate += received
            return
        limits = self.validity.limits(block.metrics)
        origin = Origin(
            offset=offset,
            interval_ns=block.interval_ns,
            labels=block.labels,
            metrics=limits.metrics,
            ticks=block.ticks_ns + self._times.tolerance_ns,
            first=arrival.first,
            last=arrival.last,
        )
        source.remember(block.sequence, origin)
        if arrival.is_late:
            self.counts.late += received
            source.tally(origin, TallyKind.LATE, ~np.isnan(block.values))
            return
        late_rows = run.late_rows(origin)
        late = int(np.count_nonzero(~np.isnan(block.values[late_rows])))
        invalid = 0
        examined = examine(block.values, limits)
        if examined is None:
            source.add(origin, block.values)
        else:
            source.add(origin, examined.values)
            source.tally(origin, TallyKind.INVALID, examined.invalid)
            invalid = self._count_invalid(
                _count_except(examined.not_finite, late_rows),
                _count_except(examined.sentinel, late_rows),
                _count_except(examined.out_of_range, late_rows),
            )
        self.counts.late += late
        self.counts.used += received - late - invalid

    def _received(self, block: SampleBlock) -> int:
        """How many samples the block has, added to what came in."""
        samples = block.values.size - int(np.count_nonzero(np.isnan(block.values)))
        self.counts.received += samples
        return samples

    def _count_invalid(self, not_finite: int, sentinel: int, out_of_range: int) -> int:
        self.counts.not_finite += not_finite
        self.counts.sentinel += sentinel
        self.counts.out_of_range += out_of_range
        return not_finite + sentinel + out_of_range


def _count_except(cells: BoolArray, rows: slice) -> int:
    return int(np.count_nonzero(cells)) - int(np.count_nonzero(cells[rows]))
