"""The window rules for one partition: sample blocks in, closed windows and a safe offset out.

Everything is decided by the log: ticks, `sent_until` and append times, never by the worker's own clock, so that any
other worker decides the same (decision 0005 has the rules and why they hold).
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pulsetrain.schemas.sample_block import SampleBlock
from pulsetrain.schemas.status import Severity, StatusEvent
from pulsetrain.streams.settings import NS, WindowSettings
from pulsetrain.streams.windows.arrival import Arrival
from pulsetrain.streams.windows.closed import ClosedWindow
from pulsetrain.streams.windows.intake import Intake
from pulsetrain.streams.windows.node import Node
from pulsetrain.streams.windows.run import Run
from pulsetrain.streams.windows.step import NodeEvent, SampleCounts, Step
from pulsetrain.streams.windows.times import WindowTimes

RESEND_LIMIT_NS = 300 * NS
"""Copies of blocks and leftovers of ended sessions that come so much later can open windows again (decision 0005)."""

TIMER_MARGIN_NS = 5 * NS
"""What `advance` waits beyond the idle timeout, for blocks that are appended but not fetched yet."""

FORGET_NS = 24 * 3600 * NS
"""Append time after which a silent node is forgotten."""


class _Held(NamedTuple):
    """A message that is not safe yet: windows of `run` that start at or before `last` need it."""

    offset: int
    appended_ns: int
    node: Node | None = None
    run: Run | None = None
    last: int = 0

    @property
    def is_needed(self) -> bool:
        return self.run is not None and self.run.next <= self.last


class WindowEngine:
    """Windows of all nodes of one partition during one assignment.

    First `recall` is given the blocks of the last `recall_ns` of append time before the committed offset; then every
    message from there on goes to `process` or `skip`, in order of offsets. Without `recall` the windows are the same
    as long as every block comes once, and those of a node in the order in which they were sent.
    """

    def __init__(self, settings: WindowSettings) -> None:
        self._times = WindowTimes.of(settings)
        self._intake = Intake(self._times)
        self._active: OrderedDict[str, Node] = OrderedDict()
        self._silent: OrderedDict[str, Node] = OrderedDict()
        self._held: deque[_Held] = deque()
        self._safe_offset: int | None = None
        self._clock_ns = 0
        self._windows: list[ClosedWindow] = []
        self._prepared: list[ClosedWindow] = []
        self._events: list[NodeEvent] = []

    @property
    def counts(self) -> SampleCounts:
        """What became of the samples of all processed blocks."""
        return self._intake.counts

    @property
    def unknown_metrics(self) -> frozenset[str]:
        """Metrics that are not in the catalogue, the first thousand."""
        return frozenset(self._intake.validity.unknown_metrics)

    @property
    def nodes(self) -> int:
        """Nodes that are not silent."""
        return len(self._active)

    @property
    def windows_open(self) -> int:
        """Windows that have started and are not emitted."""
        return sum(node.run.windows_open for node in self._active.values() if node.run is not None)

    @property
    def remembered_nodes(self) -> int:
        """Nodes that something is known of; a silent one is forgotten after `FORGET_NS`."""
        return len(self._active) + len(self._silent)

    @property
    def state_bytes(self) -> dict[str, int]:
        """Bytes of the samples that the open windows of each node need. A silent node needs none."""
        return {name: node.run.state_bytes for name, node in self._active.items() if node.run is not None}

    @property
    def recall_ns(self) -> int:
        """How much append time before the committed offset to recall."""
        return max(RESEND_LIMIT_NS, self._times.idle_timeout_ns)

    def recall(self, block: SampleBlock, append_ns: int) -> None:
        """Learn from a block before the committed offset which windows other workers have emitted.

        What there is to say about it, they have said, or say again when it comes to `process`: nothing is reported.
        """
        self._move_clock(append_ns)
        arrival = Arrival.of(block, append_ns, self._times)
        if not arrival.is_in_future:
            run = self._enter(self._node(block.node), arrival)
            if run is not None:
                run.leave_through_newest()
        self._take_step()

    def process(self, block: SampleBlock, offset: int, append_ns: int) -> Step:
        """Take the next block. `append_ns` is its append time (LogAppendTime).

        If it raises before the block is taken, its samples are counted as dead-lettered; the message is then one to
        `skip`.
        """
        self._move_clock(append_ns)
        try:
            arrival = Arrival.of(block, append_ns, self._times)
            node = self._node(block.node)
            run = self._take(arrival, offset, node)
        except Exception:
            self._intake.give_up(block)
            raise
        self._held.append(_Held(offset, self._clock_ns, node, run, arrival.last))
        if run is not None:
            self._close_passed(node, run)
            if (prepared := run.prepare(run.source(block.entity, block.collector))) is not None:
                self._prepared.append(prepared)
        return self._take_step()

    def skip(self, offset: int) -> Step:
        """Take the next message, one that can't be used: it holds nothing but keeps its place in the order."""
        self._held.append(_Held(offset, self._clock_ns))
        return self._take_step()

    def is_idle_due(self, now_ns: int) -> bool:
        """Whether `advance` would close windows of a silent node now."""
        oldest = next(iter(self._active.values()), None)
        idle_ns = self._times.idle_timeout_ns + TIMER_MARGIN_NS
        return oldest is not None and now_ns - oldest.appended_ns >= idle_ns

    def advance(self, now_ns: int) -> Step:
        """Close the windows of silent nodes by the wall clock; only when the partition has been read to its end."""
        self._silence_nodes(now_ns - TIMER_MARGIN_NS)
        return self._take_step()

    def _take(self, arrival: Arrival, offset: int, node: Node) -> Run | None:
        """Count a block's samples and put those that are used into the node's run; None where none is."""
        if arrival.is_in_future:
            self._intake.quarantine(arrival.block)
            self._report_future(node, arrival)
            return None
        run = self._enter(node, arrival)
        if run is None:
            self._intake.leave(arrival.block)
        else:
            self._intake.take(arrival, offset, run)
        return run

    def _node(self, name: str) -> Node:
        return self._active.get(name) or self._silent.get(name) or Node(name, self._clock_ns)

    def _enter(self, node: Node, arrival: Arrival) -> Run | None:
        """The run that the block belongs to, begun where it is the first; None for a leftover of an ended session."""
        if node.is_leftover(arrival, self._clock_ns, self.recall_ns):
            return None
        if node.run is not None and node.belongs_to_run(arrival):
            run = node.run
            is_newest = arrival.last > run.newest_seen
            run.extend(arrival)
        else:
            self._emit(node.end_run())
            run = node.begin_run(arrival, self._times)
            is_newest = True
        self._mark_active(node)
        if is_newest:
            self._watch_clock(node, arrival)
        return run

    def _watch_clock(self, node: Node, arrival: Arrival) -> None:
        jump_ns = node.clock.observe(arrival.clock_offset_ns, self._clock_ns)
        if jump_ns is None:
            return
        jump_seconds = jump_ns / NS
        moved, cause = (
            ("sooner", "its clock was set forward: check its time synchronisation")
            if jump_ns > 0
            else ("later", "its clock was set back, or their delivery is delayed: check its time synchronisation first")
        )
        self._say(
            StatusEvent.CLOCK_JUMPED,
            Severity.WARNING,
            node,
            f"the samples of {node.name} come {abs(jump_seconds):.1f} s {moved} than before, by the broker's clock: "
            f"{cause}",
            {"jump_seconds": jump_seconds},
        )

    def _mark_active(self, node: Node) -> None:
        node.appended_ns = self._clock_ns
        node.is_in_future = False
        if node.is_silent:
            node.is_silent = False
            self._say(StatusEvent.NODE_RETURNED, Severity.INFO, node, f"{node.name} sends samples again")
        self._silent.pop(node.name, None)
        self._active[node.name] = node
        self._active.move_to_end(node.name)

    def _report_future(self, node: Node, arrival: Arrival) -> None:
        if node.name not in self._active and node.name not in self._silent:
            self._active[node.name] = node
        if not node.is_in_future:
            node.is_in_future = True
            ahead_seconds = (arrival.newest - self._clock_ns) / NS
            self._say(
                StatusEvent.CLOCK_IN_FUTURE,
                Severity.WARNING,
                node,
                f"{node.name} sends samples from {ahead_seconds:.0f} s in the future, which are not used; "
                "set its clock right and restart its agent",
            )

    def _move_clock(self, append_ns: int) -> None:
        """Append times ascend within a partition; where a new leader's clock is behind, time stands still."""
        self._clock_ns = max(self._clock_ns, append_ns)
        self._silence_nodes(self._clock_ns)
        self._release_long_held()

    def _silence_nodes(self, now_ns: int) -> None:
        """Close the windows of nodes that have sent nothing usable for the idle timeout."""
        while self._active:
            node = next(iter(self._active.values()))
            if now_ns - node.appended_ns < self._times.idle_timeout_ns:
                break
            self._silent[node.name] = self._active.pop(node.name)
            if node.run is not None:
                node.is_silent = True
                self._emit(node.run.close_through(node.run.newest))
                seconds = self._times.idle_timeout_ns / NS
                self._say(
                    StatusEvent.NODE_SILENT,
                    Severity.WARNING,
                    node,
                    f"{node.name} has sent nothing that could be used for {seconds:g} s",
                )
        while self._silent:
            node = next(iter(self._silent.values()))
            if now_ns - node.appended_ns < FORGET_NS:
                break
            del self._silent[node.name]

    def _release_long_held(self) -> None:
        """Close the windows that need a block which has been held for longer than the limit."""
        while self._held and self._clock_ns - self._held[0].appended_ns > self._times.hold_limit_ns:
            held = self._held.popleft()
            self._safe_offset = held.offset + 1
            if held.run is not None and held.node is not None and held.is_needed:
                self._emit(held.run.close_through(held.last))
                self._report_stuck(held.node)

    def _report_stuck(self, node: Node) -> None:
        if not node.is_stuck:
            node.is_stuck = True
            seconds = self._times.hold_limit_ns / NS
            self._say(
                StatusEvent.CLOCK_STUCK,
                Severity.WARNING,
                node,
                f"the sample times of {node.name} have not reached a window's end for {seconds:g} s, so its windows "
                "are closed as they are; check its clock",
            )

    def _close_passed(self, node: Node, run: Run) -> None:
        for window in run.close_passed():
            self._windows.append(window)
            node.is_stuck = False

    def _emit(self, windows: Iterable[ClosedWindow]) -> None:
        self._windows.extend(windows)

    def _say(
        self,
        event: StatusEvent,
        severity: Severity,
        node: Node,
        message: str,
        details: Mapping[str, float] | None = None,
    ) -> None:
        self._events.append(NodeEvent(event, severity, node.name, self._clock_ns, message, details or {}))

    def _take_step(self) -> Step:
        while self._held and not self._held[0].is_needed:
            self._safe_offset = self._held.popleft().offset + 1
        step = Step(self._windows, self._events, self._safe_offset, self._prepared)
        self._windows, self._events, self._prepared = [], [], []
        return step
