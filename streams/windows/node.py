"""One node of a partition: which run a block belongs to, and what has been said about the node."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from pulsetrain.streams.windows.arrival import Arrival
from pulsetrain.streams.windows.clock import ClockWatch
from pulsetrain.streams.windows.closed import ClosedWindow
from pulsetrain.streams.windows.run import Run
from pulsetrain.streams.windows.times import WindowTimes

_MAX_ENDED_SESSIONS = 16


@dataclass(frozen=True, slots=True)
class _Ended:
    """When the last block of an ended run was appended, its newest tick that was sent, and the newest that came."""

    appended_ns: int
    newest: int
    newest_seen: int


@dataclass
class Node:
    """`appended_ns` is when the node last sent something usable. A silent node's windows are all closed."""

    name: str
    appended_ns: int
    run: Run | None = None
    is_silent: bool = False
    is_stuck: bool = False
    is_in_future: bool = False
    clock: ClockWatch = field(default_factory=ClockWatch, init=False)
    _ended_sessions: OrderedDict[str, _Ended] = field(default_factory=OrderedDict, init=False)

    def is_leftover(self, arrival: Arrival, now_ns: int, memory_ns: int) -> bool:
        """Whether a block is left over from a session that another one has ended.

        A session that goes on after all, with ticks newer than any of both, is none; nor is one whose last block was
        appended more than `memory_ns` ago.
        """
        session = arrival.block.session
        ended = self._ended_sessions.get(session)
        if ended is None or self.run is None or self.run.session == session:
            return False
        is_newer = arrival.last > max(self.run.newest_seen, ended.newest_seen)
        return now_ns - ended.appended_ns <= memory_ns and not is_newer

    def belongs_to_run(self, arrival: Arrival) -> bool:
        """Whether a block goes on with the current run, or is a copy of one that did."""
        run, block = self.run, arrival.block
        if run is None or run.session != block.session:
            return False
        is_copy = arrival.last < run.next or run.remembers(block.entity, block.collector, block.sequence)
        return is_copy or not arrival.begins_run

    def end_run(self) -> Iterator[ClosedWindow]:
        """Close all windows of the current run, if there is one, and remember where it ended."""
        run, self.run = self.run, None
        if run is None:
            return
        self._ended_sessions[run.session] = _Ended(self.appended_ns, run.newest, run.newest_seen)
        self._ended_sessions.move_to_end(run.session)
        if len(self._ended_sessions) > _MAX_ENDED_SESSIONS:
            self._ended_sessions.popitem(last=False)
        yield from run.close_through(run.newest)

    def begin_run(self, arrival: Arrival, times: WindowTimes) -> Run:
        """Begin a run with a block, or take part in one that another worker has read the beginning of.

        No window starts before the first tick of the run, at or before `sent_until` in the middle of one, or where an
        earlier run of the session has had its windows. A first tick up to the tolerance behind a grid point serves
        that point, so the window that starts there is whole.
        """
        if arrival.begins_run or arrival.sent_until is None:
            begins_at = arrival.first - 2 * times.tolerance_ns
        else:
            begins_at = arrival.sent_until + 1
        if ended := self._ended_sessions.pop(arrival.block.session, None):
            begins_at = max(begins_at, ended.newest + 1)
        self.run = Run(arrival, begins_at, times)
        return self.run
