"""How far a node's clock is from the broker's, and whether it has jumped.

Append time minus sample time is the time of delivery plus how far the node's clock is behind the broker's. A delivery
can be late but never early, so the smallest of many such differences is the nearest to the clock's (a minimum filter,
as NTP's: RFC 5905, section 10).
"""

from pulsetrain.streams.settings import NS

CLOCK_JUMP_NS = 1 * NS
"""By more than this a clock must have moved to be reported; deliveries vary by less."""

STRETCH_NS = 30 * NS
MIN_BLOCKS = 3
"""One estimate takes blocks of at least so much append time, and at least so many."""


class ClockWatch:
    """Compares successive estimates of a node's clock offset, each from a stretch of blocks.

    An estimate counts only where at least half of its blocks lie within `CLOCK_JUMP_NS` of it: while a backlog is sent,
    each block is less delayed than the one before, and none of them tells the clock. It decides nothing but a report.
    """

    def __init__(self) -> None:
        self._estimate: int | None = None
        self._began_ns = 0
        self._blocks = 0
        self._agreeing = 0
        self._level = 0
        self._lowest = 0

    def observe(self, clock_offset_ns: int, append_ns: int) -> int | None:
        """Take a block with newer ticks than any before; by how much the clock was set forward, if it was, since the
        estimate before. Negative: it was set back, or every block of a stretch comes so much later than those before.
        """
        if self._blocks == 0:
            self._began_ns = append_ns
        if self._blocks == 0 or clock_offset_ns < self._level - CLOCK_JUMP_NS:
            self._level = self._lowest = clock_offset_ns
            self._agreeing = 0
        self._blocks += 1
        self._lowest = min(self._lowest, clock_offset_ns)
        if clock_offset_ns <= self._level + CLOCK_JUMP_NS:
            self._agreeing += 1
        if self._blocks < MIN_BLOCKS or append_ns - self._began_ns < STRETCH_NS:
            return None
        agree, self._blocks = 2 * self._agreeing >= self._blocks, 0
        if not agree:
            return None
        before, self._estimate = self._estimate, self._lowest
        if before is None or abs(before - self._lowest) <= CLOCK_JUMP_NS:
            return None
        return before - self._lowest
