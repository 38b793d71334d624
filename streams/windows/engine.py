"""The window rules for one partition: sample blocks in, closed windows and a safe offset out.

Everything is decided by the log: ticks, `sent_until` and append times, never by the worker's own clock, so that any
other worker decides the same (decision 0005 has the rules and why they hold).
"""

from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from pulsetrain.schemas.sample_block import SampleBlock
from pulsetrain.schemas.status import Severity, StatusEvent
from pulsetrain.streams.align.validity import Validity, examine
from pulsetrain.streams.settings import NS, WindowSettings
from pulsetrain.streams.windows.closed import ClosedWindow
from pulsetrain.streams.windows.run import Run
from pulsetrain.streams.windows.source import Origin, TallyKind
from pulsetrain.streams.windows.step import NodeEvent, SampleCounts, Step
from pulsetrain.streams.windows.times import WindowTimes

RECALL_NS = 300 * NS
"""librdkafka's default `message.timeout.ms`: so long after a block, its producer sends no copy of it any more."""

TIMER_MARGIN_NS = 5 * NS
"""What `advance` waits beyond the idle timeout, for blocks that are appended but not fetched yet."""

_MAX_ENDED_SESSIONS = 16

FORGET_NS = 24 * 3600 * NS
"""Append time after which a silent node is forgotten."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """When a session's last block was appended, and the newest tick it had sent."""

    appended_ns: int
    newest: int


@dataclass
class _Node:
    """What is known of one node: its current run, when it last sent, and what has been said about it.

    `ended_sessions` are those whose run another session ended.
    """

    name: str
    appended_ns: int
    run: Run | None = None
    ended_sessions: OrderedDict[str, _Ended] = field(default_factory=OrderedDict)
    is_silent: bool = False
    is_stuck: bool = False
    is_in_future: bool = False

    def end(self, run: Run) -> None:
        self.ended_sessions[run.session] = _Ended(self.appended_ns, run.newest)
        self.ended_sessions.move_to_end(run.session)
        if len(self.ended_sessions) > _MAX_ENDED_SESSIONS:
            self.ended_sessions.popitem(last=False)


@dataclass(frozen=True, slots=True)
class _Held:
    """A message that is not safe yet. Windows of `run` that start at or before `last` need it."""

    offset: int
    appended_ns: int
    node: _Node | None = None
    run: Run | None = None
    last: int = 0

    @property
    def is_needed(self) -> bool:
        return self.run is not None and self.run.next <= self.last


class WindowEngine:
    """Windows of all nodes of one partition during one assignment.

    First `recall` is given the blocks of the last `recall_ns` of append time before the committed offset; then every
    message from there on goes to `process` or `skip`, in order of offsets.
    """

    def __init__(self, settings: WindowSettings) -> None:
        self.counts = SampleCounts()
        self._times = WindowTimes.of(settings)
        self._validity = Validity()
        self._active: OrderedDict[str, _Node] = OrderedDict()
        self._silent: OrderedDict[str, _Node] = OrderedDict()
        self._held: deque[_Held] = deque()
        self._safe_offset: int | None = None
        self._clock_ns = 0
        self._windows: list[ClosedWindow] = []
        self._events: list[NodeEvent] = []

    @property
    def unknown_metrics(self) -> frozenset[str]:
        """Metrics that are not in the catalogue, the first thousand."""
        return frozenset(self._validity.unknown_metrics)

    @property
    def nodes(self) -> int:
        """Nodes that are not silent."""
        return len(self._active)

    @property
    def windows_open(self) -> int:
        """Windows that have started and are not emitted."""
        return sum(node.run.windows_open for node in self._active.values() if node.run is not None)

    @property
    def recall_ns(self) -> int:
        """How much append time before the committed offset to recall."""
        return max(RECALL_NS, self._times.idle_timeout_ns)

    def recall(self, block: SampleBlock, append_ns: int) -> None:
        """Learn from a block before the committed offset which windows other workers have emitted."""
        self._move_clock(append_ns)
        if not self._is_in_future(block, append_ns):
            run = self._enter(self._node(block.node), block)
            if run is not None:
                run.leave_through_newest()
        self._take_step()

    def process(self, block: SampleBlock, offset: int, append_ns: int) -> Step:
        """Take the next block. `append_ns` is its append time (LogAppendTime)."""
        self._move_clock(append_ns)
        if self._is_in_future(block, append_ns):
            self._quarantine(block)
            self._held.append(_Held(offset, self._clock_ns))
        else:
            node = self._node(block.node)
            run = self._enter(node, block)
            last = int(block.ticks_ns[-1]) + self._times.tolerance_ns
            if run is None:
                self.counts.late += self._received(block)
            else:
                self._fill(run, block, offset)
                self._emit_passed(node, run)
            self._held.append(_Held(offset, self._clock_ns, node, run, last))
        return self._take_step()

    def skip(self, offset: int) -> Step:
        """Take the next message, one that is no block: it holds nothing but keeps its place in the order."""
        self._held.append(_Held(offset, self._clock_ns))
        return self._take_step()

    def advance(self, now_ns: int) -> Step:
        """Close the windows of silent nodes by the wall clock; only when the partition has been read to its end."""
        self._silence_nodes(now_ns - TIMER_MARGIN_NS)
        return self._take_step()

    def _move_clock(self, append_ns: int) -> None:
        self._clock_ns = max(self._clock_ns, append_ns)
        self._silence_nodes(self._clock_ns)
        self._release_long_held()

    def _is_in_future(self, block: SampleBlock, append_ns: int) -> bool:
        newest = max(int(block.ticks_ns[-1]), block.sent_until_ns or 0)
        return newest - append_ns > self._times.future_limit_ns

    def _node(self, name: str) -> _Node:
        return self._active.get(name) or self._silent.get(name) or _Node(name, self._clock_ns)

    def _enter(self, node: _Node, block: SampleBlock) -> Run | None:
        """The run that the block belongs to, made where it begins one; None for a leftover of an earlier session."""
        times = self._times
        first = int(block.ticks_ns[0]) + times.tolerance_ns
        last = int(block.ticks_ns[-1]) + times.tolerance_ns
        sent_until = None if block.sent_until_ns is None else block.sent_until_ns + times.tolerance_ns
        begins_run = sent_until is None or first - sent_until >= times.length_ns
        run = node.run
        if run is not None and run.session == block.session:
            is_copy = last < run.next or run.remembers(block.entity, block.collector, block.sequence)
            if not begins_run or is_copy:
                self._mark_seen(node)
                run.extend(sent_until, last)
                return run
        elif run is not None and self._is_leftover(node, run, block):
            return None
        if run is not None:
            self._emit(run.close_through(run.newest))
            if run.session != block.session:
                node.end(run)
        # A first tick up to the tolerance behind a grid point serves that point, so the window there is whole.
        begins_at = first - 2 * times.tolerance_ns if sent_until is None or begins_run else sent_until + 1
        if ended := node.ended_sessions.pop(block.session, None):
            begins_at = max(begins_at, ended.newest + 1)
        newest = last if sent_until is None else max(sent_until, last)
        node.run = Run(node.name, block.session, begins_at, newest, times)
        self._mark_seen(node)
        return node.run

    def _is_leftover(self, node: _Node, run: Run, block: SampleBlock) -> bool:
        """Whether a block of another session than the current run's is left over from an earlier one.

        It is if that session ended not long ago; unless it is newer than both, when it goes on after all.
        """
        ended = node.ended_sessions.get(block.session)
        if ended is None or self._clock_ns - ended.appended_ns > self.recall_ns:
            return False
        last = int(block.ticks_ns[-1]) + self._times.tolerance_ns
        return last <= max(run.newest, ended.newest)

    def _mark_seen(self, node: _Node) -> None:
        """The node has sent something usable just now."""
        node.appended_ns = self._clock_ns
        node.is_in_future = False
        if node.is_silent:
            node.is_silent = False
            self._say(StatusEvent.NODE_RETURNED, Severity.INFO, node, f"{node.name} sends samples again")
        self._silent.pop(node.name, None)
        self._active[node.name] = node
        self._active.move_to_end(node.name)

    def _fill(self, run: Run, block: SampleBlock, offset: int) -> None:
        """Put the block's samples where they belong, and count them."""
        source = run.source(block.entity, block.collector)
        if source.has(block.sequence):
            self.counts.duplicate += self._received(block)
            return
        times = self._times
        limits = self._validity.limits(block.metrics)
        ticks = block.ticks_ns + times.tolerance_ns
        origin = Origin(
            offset, block.interval_ns, block.labels, limits.metrics, ticks, first=int(ticks[0]), last=int(ticks[-1])
        )
        source.remember(block.sequence, origin)
        if block.sent_until_ns is not None and int(block.ticks_ns[-1]) < block.sent_until_ns - times.lateness_ns:
            self.counts.late += self._received(block)
            source.tally(origin, TallyKind.LATE, ~np.isnan(block.values))
            return
        received = self._received(block)
        late_rows = run.late_rows(origin)
        late = int(np.count_nonzero(~np.isnan(block.values[late_rows])))
        examined = examine(block.values, limits)
        invalid = 0
        if examined is None:
            source.add(origin, block.values)
        else:
            source.add(origin, examined.values)
            source.tally(origin, TallyKind.INVALID, examined.invalid)
            before = self.counts.invalid
            self.counts.not_finite += _count_except(examined.not_finite, late_rows)
            self.counts.sentinel += _count_except(examined.sentinel, late_rows)
            self.counts.out_of_range += _count_except(examined.out_of_range, late_rows)
            invalid = self.counts.invalid - before
        self.counts.late += late
        self.counts.used += received - late - invalid

    def _quarantine(self, block: SampleBlock) -> None:
        self.counts.quarantined += self._received(block)
        name = block.node
        node = self._active.get(name) or self._silent.get(name)
        if node is None:
            node = self._active[name] = _Node(name, self._clock_ns)
        if not node.is_in_future:
            node.is_in_future = True
            ahead_seconds = (max(int(block.ticks_ns[-1]), block.sent_until_ns or 0) - self._clock_ns) / NS
            self._say(
                StatusEvent.CLOCK_IN_FUTURE,
                Severity.WARNING,
                node,
                f"{name} sends samples {ahead_seconds:.0f} s ahead of their arrival; they are not used. "
                f"Set its clock right and restart its agent",
            )

    def _received(self, block: SampleBlock) -> int:
        """How many samples the block has, added to the count of what came in."""
        samples = block.values.size - int(np.count_nonzero(np.isnan(block.values)))
        self.counts.received += samples
        return samples

    def _emit_passed(self, node: _Node, run: Run) -> None:
        emitted = len(self._windows)
        self._emit(run.close_passed())
        if len(self._windows) > emitted:
            node.is_stuck = False

    def _emit(self, windows: Iterable[ClosedWindow]) -> None:
        self._windows.extend(windows)

    def _silence_nodes(self, now_ns: int) -> None:
        """Close the windows of nodes that have sent nothing usable for the idle timeout."""
        while self._active:
            name, node = next(iter(self._active.items()))
            if now_ns - node.appended_ns < self._times.idle_timeout_ns:
                break
            self._silent[name] = self._active.pop(name)
            if node.run is not None:
                self._emit(node.run.close_through(node.run.newest))
                node.is_silent = True
                seconds = self._times.idle_timeout_ns / NS
                self._say(
                    StatusEvent.NODE_SILENT, Severity.WARNING, node, f"{name} has sent nothing usable for {seconds:g} s"
                )
        while self._silent:
            name, node = next(iter(self._silent.items()))
            if now_ns - node.appended_ns < FORGET_NS:
                break
            del self._silent[name]

    def _release_long_held(self) -> None:
        """Close the windows that need a block which has been held for longer than the limit."""
        while self._held and self._clock_ns - self._held[0].appended_ns > self._times.hold_limit_ns:
            held = self._held.popleft()
            self._safe_offset = held.offset + 1
            if held.run is None or held.node is None or not held.is_needed:
                continue
            self._emit(held.run.close_through(held.last))
            if not held.node.is_stuck:
                held.node.is_stuck = True
                seconds = self._times.hold_limit_ns / NS
                self._say(
                    StatusEvent.CLOCK_STUCK,
                    Severity.WARNING,
                    held.node,
                    f"{held.node.name}: its samples' times have not passed a window's end for {seconds:g} s; "
                    f"the windows are closed as they are. Check its clock",
                )

    def _say(self, event: StatusEvent, severity: Severity, node: _Node, message: str) -> None:
        self._events.append(NodeEvent(event, severity, node.name, self._clock_ns, message))

    def _take_step(self) -> Step:
        while self._held and not self._held[0].is_needed:
            self._safe_offset = self._held.popleft().offset + 1
        step = Step(self._windows, self._events, self._safe_offset)
        self._windows, self._events = [], []
        return step


def _count_except(cells: np.ndarray, rows: slice) -> int:
    return int(np.count_nonzero(cells)) - int(np.count_nonzero(cells[rows]))
