"""Workers that read a log, crash anywhere and are followed by others from some committed offset."""

import random
from collections.abc import Sequence

from pulsetrain.streams.windows import ClosedWindow, SourceWindow, Step, WindowEngine
from pulsetrain.streams.windows.engine import TIMER_MARGIN_NS
from tests.unit.streams.windows.random_log import SETTINGS, Message

WindowId = tuple[str, str, int]

FAR_FUTURE_NS = 4_000_000_000 * 1_000_000_000


def new_engine() -> WindowEngine:
    return WindowEngine(SETTINGS)


def window_id(window: ClosedWindow) -> WindowId:
    return window.node, window.session, window.end_ns


def content(window: ClosedWindow) -> tuple[object, ...]:
    """Everything in a window, bit for bit, as something that can be compared."""
    entities = tuple(
        (entity.entity, tuple(sorted(entity.labels.items())), tuple(map(_source_content, entity.sources)))
        for entity in window.entities
    )
    return window.start_ns, window.complete, window.clock_offset_ns, entities


def _source_content(source: SourceWindow) -> tuple[object, ...]:
    counts = source.late, source.out_of_order, source.not_finite, source.sentinel, source.out_of_range
    arrays = source.ticks_ns, source.values, source.reboot_rows, *counts
    return source.collector, source.interval_ns, source.metrics, tuple(array.tobytes() for array in arrays)


def undisturbed(log: Sequence[Message]) -> list[ClosedWindow]:
    """All windows that one worker emits that never crashes."""
    engine = new_engine()
    windows: list[ClosedWindow] = []
    for offset, message in enumerate(log):
        windows += _read(engine, message, offset).windows
    last = engine.advance(FAR_FUTURE_NS)
    assert last.safe_offset == (len(log) or None), "a message is held although every window is closed"
    return windows + last.windows


def disturbed(log: Sequence[Message], rng: random.Random, recall: bool = True) -> list[ClosedWindow]:
    """All windows of workers that crash at random; commits lag, and timers fire where they may."""
    windows: list[ClosedWindow] = []
    committed = 0
    while True:
        engine, safe = new_engine(), committed
        if recall:
            _recall(engine, log, committed)
        crashes = rng.random() < 0.8
        for offset in range(committed, rng.randint(committed, len(log)) if crashes else len(log)):
            step = _read(engine, log[offset], offset)
            windows += step.windows
            safe = step.safe_offset or safe
            if offset + 1 < len(log) and rng.random() < 0.1:
                # The partition counts as read to its end as long as the next message is not older than the margin.
                step = engine.advance(rng.randint(log[offset].append_ns, log[offset + 1].append_ns + TIMER_MARGIN_NS))
                windows += step.windows
                safe = step.safe_offset or safe
        if not crashes:
            return windows + engine.advance(FAR_FUTURE_NS).windows
        committed = rng.randint(committed, safe)


def differences(expected: Sequence[ClosedWindow], actual: Sequence[ClosedWindow]) -> list[tuple[str, WindowId]]:
    """Windows lost, never expected, or with other content; empty where `actual` repeats at most equal ones."""
    contents = {window_id(window): content(window) for window in expected}
    found = {window_id(window) for window in actual}
    return [("lost", identity) for identity in contents.keys() - found] + [
        ("different" if window_id(window) in contents else "extra", window_id(window))
        for window in actual
        if contents.get(window_id(window)) != content(window)
    ]


def _recall(engine: WindowEngine, log: Sequence[Message], committed: int) -> None:
    if committed == len(log):
        return
    since_ns = log[committed].append_ns - engine.recall_ns
    for message in log[:committed]:
        if message.block is not None and message.append_ns >= since_ns:
            engine.recall(message.block, message.append_ns)


def _read(engine: WindowEngine, message: Message, offset: int) -> Step:
    if message.block is None:
        return engine.skip(offset)
    return engine.process(message.block, offset, message.append_ns)
