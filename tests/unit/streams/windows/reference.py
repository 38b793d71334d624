"""The window rules written down as literally as possible: whole seconds, every window start enumerated, nothing
forgotten, nothing shared with the engine. Slow, and short enough to be checked by reading."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from pulsetrain.schemas.sample_block import SampleBlock
from pulsetrain.streams.windows import ClosedWindow
from tests.unit.streams.windows.random_log import EPOCH, SECOND, Message

LENGTH, HOP, LATENESS, IDLE, HOLD, FUTURE = 30, 5, 2, 60, 90, 300

Cell = tuple[str, str, int]
Quality = tuple[str, str, str]


@dataclass(frozen=True)
class ReferenceWindow:
    """Valid values by (collector, metric, tick); counts by (what, collector, metric).

    `reboots`: the ticks (collector, tick) that come from another boot than the one before. `clock_offset`: the smallest
    append time minus newest tick of the blocks in it.
    """

    node: str
    session: str
    start: int
    complete: bool
    values: dict[Cell, float]
    quality: Counter[Quality]
    reboots: set[tuple[str, int]]
    clock_offset: int | None


@dataclass
class _Run:
    session: str
    next: int
    newest: int
    holes: set[int] = field(default_factory=set)
    newest_seen: int = -1
    taken: list[tuple[SampleBlock, bool, int]] = field(default_factory=list)

    def next_to_emit(self) -> int:
        start = self.next
        while start in self.holes:
            start += HOP
        return start


@dataclass
class _Node:
    run: _Run
    append: int
    ended: dict[str, _Run] = field(default_factory=dict)
    silent: bool = False


def reference_windows(log: Iterable[Message]) -> list[ReferenceWindow]:
    """All windows of a log without jitter, the silence after its end included."""
    nodes: dict[str, _Node] = {}
    seen: set[tuple[str, str, int]] = set()
    held: list[tuple[int, str, _Run, int]] = []
    windows: list[ReferenceWindow] = []

    def emit(name: str, run: _Run, last_start: int, complete: bool) -> None:
        while run.next <= last_start:
            if run.next not in run.holes:
                windows.extend(_window(name, run, complete))
            run.next += HOP

    def flush_silent(append: int) -> None:
        for name, node in nodes.items():
            if append - node.append >= IDLE:
                emit(name, node.run, node.run.newest, complete=False)

    append = 0
    for message in log:
        append = max(append, _seconds(message.append_ns))
        block = message.block
        if block is None:
            continue
        flush_silent(append)
        for held_append, name, held_run, last in held:
            if append - held_append > HOLD:
                emit(name, held_run, last, complete=False)
        first, last = _seconds(int(block.ticks_ns[0])), _seconds(int(block.ticks_ns[-1]))
        sent_until = None if block.sent_until_ns is None else _seconds(block.sent_until_ns)
        if max(last, sent_until or 0) - _seconds(message.append_ns) > FUTURE:
            continue
        node = nodes.get(block.node)
        former = None if node is None else node.ended.get(block.session)
        if node is not None and former is not None and last <= max(node.run.newest_seen, former.newest_seen):
            continue
        identity = block.session, block.collector, block.sequence
        if node is not None and identity in seen:
            node.append = append
            continue
        seen.add(identity)
        begins_run = sent_until is None or first - sent_until >= LENGTH
        if node is not None and node.run.session == block.session and last < node.run.next_to_emit():
            begins_run = False
        if node is None or begins_run or node.run.session != block.session:
            ended: dict[str, _Run] = {}
            if node is not None:
                emit(block.node, node.run, node.run.newest, complete=False)
                ended = node.ended | {node.run.session: node.run}
            begin = first if sent_until is None or begins_run else sent_until + 1
            if block.session in ended:
                begin = max(begin, ended.pop(block.session).newest + 1)
            node = nodes[block.node] = _Node(_Run(block.session, _start_from(begin), -1), append, ended)
        elif sent_until is not None and sent_until > node.run.newest:
            node.run.holes |= set(range(_start_from(node.run.newest + 1), sent_until + 1, HOP))
        run = node.run
        node.append = append
        run.newest = max(run.newest, last, -1 if sent_until is None else sent_until)
        run.newest_seen = max(run.newest_seen, last)
        is_late = sent_until is not None and last < sent_until - LATENESS
        run.taken.append((block, is_late, _seconds(message.append_ns)))
        held.append((append, block.node, run, last))
        emit(block.node, run, run.newest - LATENESS - LENGTH, complete=True)
    flush_silent(10**9)
    return windows


def as_reference(window: ClosedWindow) -> ReferenceWindow:
    """An engine's window in the same terms."""
    values: dict[Cell, float] = {}
    quality: Counter[Quality] = Counter()
    reboots: set[tuple[str, int]] = set()
    for source in window.entities[0].sources:
        for row, tick in enumerate(source.ticks_ns):
            for column, metric in enumerate(source.metrics):
                if not np.isnan(source.values[row, column]):
                    values[source.collector, metric, _seconds(int(tick))] = float(source.values[row, column])
        reboots |= {(source.collector, _seconds(int(tick))) for tick in source.ticks_ns[source.reboot_rows]}
        counts = {
            "late": source.late,
            "out of order": source.out_of_order,
            "not finite": source.not_finite,
            "sentinel": source.sentinel,
            "out of range": source.out_of_range,
        }
        for what, per_metric in counts.items():
            for metric, count in zip(source.metrics, per_metric, strict=True):
                quality[what, source.collector, metric] += int(count)
    offset = None if window.clock_offset_ns is None else window.clock_offset_ns // SECOND
    return ReferenceWindow(
        window.node, window.session, _seconds(window.start_ns), window.complete, values, +quality, reboots, offset
    )


def _window(name: str, run: _Run, complete: bool) -> Sequence[ReferenceWindow]:
    values: dict[Cell, float] = {}
    quality: Counter[Quality] = Counter()
    newest: dict[str, int] = {}
    boots: dict[str, dict[int, str]] = {}
    offsets: list[int] = []
    ticks_seen = False
    for block, is_late, append in run.taken:
        for tick_ns, row in zip(block.ticks_ns, block.values, strict=True):
            tick = _seconds(int(tick_ns))
            if not run.next <= tick < run.next + LENGTH:
                continue
            ticks_seen = True
            if not is_late:
                boots.setdefault(block.collector, {})[tick] = block.boot_id
                offsets.append(append - _seconds(int(block.ticks_ns[-1])))
            for metric, value in zip(block.metrics, row, strict=True):
                if is_late:
                    quality["late", block.collector, metric] += not np.isnan(value)
                    continue
                values.pop((block.collector, metric, tick), None)
                reason = _why_invalid(metric, value)
                if reason is None and not np.isnan(value):
                    values[block.collector, metric, tick] = float(value)
                    quality["out of order", block.collector, metric] += tick < newest.get(block.collector, -1)
                elif reason is not None:
                    quality[reason, block.collector, metric] += 1
        if not is_late:
            newest[block.collector] = max(newest.get(block.collector, -1), _seconds(int(block.ticks_ns[-1])))
    if not ticks_seen:
        return []
    reboots = {
        (collector, tick)
        for collector, boot_of in boots.items()
        for before, tick in pairwise(sorted(boot_of))
        if boot_of[before] != boot_of[tick]
    }
    offset = min(offsets, default=None)
    return [ReferenceWindow(name, run.session, run.next, complete, values, +quality, reboots, offset)]


def _why_invalid(metric: str, value: float) -> str | None:
    if np.isinf(value):
        return "not finite"
    if value > 1e18:
        return "sentinel"
    return "out of range" if metric == "system.cpu.utilization" and value < 0 else None


def _start_from(tick: int) -> int:
    return tick + -tick % HOP


def _seconds(time_ns: int) -> int:
    return (time_ns - EPOCH) // SECOND
