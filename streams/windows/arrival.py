"""A block as the window rules see it."""

from typing import NamedTuple

from pulsetrain.schemas.sample_block import SampleBlock
from pulsetrain.streams.windows.times import WindowTimes


class Arrival(NamedTuple):
    """A block and its times, shifted by the tolerance: a tick a hair before a grid point belongs to that point.

    `newest` is the newest tick that the block proves to have been sent. `begins_run`: the first block of a session, or
    one after a gap of a window length or more. `is_late`: it comes later than the allowed lateness after newer ticks.
    `is_in_future`: its times are further ahead of its append time than any clock may be. `clock_offset_ns`: append
    time minus newest tick of the block.
    """

    block: SampleBlock
    first: int
    last: int
    sent_until: int | None
    newest: int
    begins_run: bool
    is_late: bool
    is_in_future: bool
    clock_offset_ns: int

    @classmethod
    def of(cls, block: SampleBlock, append_ns: int, times: WindowTimes) -> "Arrival":
        """What the block alone and its append time say."""
        first = int(block.ticks_ns[0]) + times.tolerance_ns
        last = int(block.ticks_ns[-1]) + times.tolerance_ns
        sent_until = None if block.sent_until_ns is None else block.sent_until_ns + times.tolerance_ns
        newest = last if sent_until is None else max(last, sent_until)
        return cls(
            block=block,
            first=first,
            last=last,
            sent_until=sent_until,
            newest=newest,
            begins_run=sent_until is None or first - sent_until >= times.length_ns,
            is_late=sent_until is not None and last < sent_until - times.lateness_ns,
            is_in_future=newest - times.tolerance_ns - append_ns > times.future_limit_ns,
            clock_offset_ns=append_ns - int(block.ticks_ns[-1]),
        )
