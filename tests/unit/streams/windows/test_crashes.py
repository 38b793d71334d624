"""No window is lost, doubled or changed by workers that crash anywhere, whatever happens to the blocks on the way."""

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulsetrain.schemas.sample_block import SampleBlock
from pulsetrain.streams.settings import NS
from pulsetrain.streams.windows import WindowEngine, engine
from pulsetrain.streams.windows.arrival import Arrival
from pulsetrain.streams.windows.node import Node
from pulsetrain.streams.windows.run import Run
from pulsetrain.streams.windows.source import Source
from pulsetrain.streams.windows.times import WindowTimes
from tests.unit.streams.windows.random_log import Fault, random_log
from tests.unit.streams.windows.reference import ReferenceWindow, as_reference, reference_windows
from tests.unit.streams.windows.replay import differences, disturbed, new_engine, undisturbed, window_id

ALL_FAULTS = frozenset(Fault)
RECALLED_FAULTS = {Fault.DOUBLED, Fault.LEFTOVER, Fault.REORDERED, Fault.APPEND_TIME_BACK}
"""What a worker can see through only with what it recalls of the log before the committed offset."""

seeds = st.integers(0, 2**32 - 1)
fault_sets = st.frozensets(st.sampled_from(Fault))
lengths = st.integers(1, 160)


@settings(max_examples=120, deadline=None)
@given(seeds, fault_sets, lengths)
def test_workers_that_crash_emit_the_windows_of_one_that_does_not(
    seed: int, faults: frozenset[Fault], steps: int
) -> None:
    log = random_log(seed, faults, steps)
    expected = undisturbed(log)
    assert len({window_id(window) for window in expected}) == len(expected), "a window came twice without a crash"
    assert differences(expected, disturbed(log, random.Random(seed))) == []


@settings(max_examples=60, deadline=None)
@given(seeds, fault_sets, lengths)
def test_without_recall_workers_that_crash_still_agree_on_blocks_that_come_once_and_in_order(
    seed: int, faults: frozenset[Fault], steps: int
) -> None:
    log = random_log(seed, faults - RECALLED_FAULTS, steps)
    assert differences(undisturbed(log), disturbed(log, random.Random(seed), recall=False)) == []


@settings(max_examples=120, deadline=None)
@given(seeds, fault_sets, lengths)
def test_the_engine_follows_the_rules_as_literally_written_down(
    seed: int, faults: frozenset[Fault], steps: int
) -> None:
    log = random_log(seed, faults - {Fault.JITTER}, steps)

    def in_order(window: ReferenceWindow) -> tuple[str, str, int]:
        return window.node, window.session, window.start

    actual = sorted(map(as_reference, undisturbed(log)), key=in_order)
    assert actual == sorted(reference_windows(log), key=in_order)


@settings(max_examples=80, deadline=None)
@given(seeds, fault_sets, lengths)
def test_every_sample_is_counted_once(seed: int, faults: frozenset[Fault], steps: int) -> None:
    log = random_log(seed, faults, steps)
    worker = new_engine()
    sent = 0
    for offset, message in enumerate(log):
        if message.block is None:
            worker.skip(offset)
        else:
            worker.process(message.block, offset, message.append_ns)
            sent += int(np.count_nonzero(~np.isnan(message.block.values)))
    counts = worker.counts
    assert counts.received == sent
    invalid = counts.not_finite + counts.sentinel + counts.out_of_range
    assert counts.dead_lettered == 0
    assert counts.received == counts.used + counts.late + counts.duplicate + invalid + counts.quarantined


@settings(max_examples=40, deadline=None)
@given(seeds, fault_sets, lengths)
def test_every_sample_is_counted_once_also_where_a_block_fails(seed: int, faults: frozenset[Fault], steps: int) -> None:
    fails = random.Random(seed)
    worker = new_engine()
    sent = dead = 0
    for offset, message in enumerate(random_log(seed, faults, steps)):
        if message.block is None:
            worker.skip(offset)
            continue
        samples = int(np.count_nonzero(~np.isnan(message.block.values)))
        sent += samples
        with pytest.MonkeyPatch.context() as patched:
            if fails.random() < 0.2:
                patched.setattr(Node, fails.choice(["is_leftover", "belongs_to_run"]), _fail)
                patched.setattr(Source, "remember", _fail)
            try:
                worker.process(message.block, offset, message.append_ns)
            except ZeroDivisionError:
                dead += samples
                worker.skip(offset)
    counts = worker.counts
    assert (counts.received, counts.dead_lettered) == (sent, dead)
    kept_out = counts.late + counts.duplicate + counts.invalid + counts.quarantined + counts.dead_lettered
    assert counts.received == counts.used + kept_out


def _fail(*_: object) -> None:
    raise ZeroDivisionError


def _sessions_and_gaps_do_not_end_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Node, "belongs_to_run", lambda node, _arrival: node.run is not None)


def _windows_start_in_holes(monkeypatch: pytest.MonkeyPatch) -> None:
    def extend(run: Run, arrival: Arrival) -> None:
        run.newest = max(run.newest, arrival.newest)

    monkeypatch.setattr(Run, "extend", extend)


def _a_worker_without_state_begins_with_the_first_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    begin_run = Node.begin_run

    def begin_at_first_tick(node: Node, arrival: Arrival, times: WindowTimes) -> Run:
        return begin_run(node, arrival._replace(begins_run=True), times)

    monkeypatch.setattr(Node, "begin_run", begin_at_first_tick)


def _the_timer_does_not_wait_for_the_idle_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "TIMER_MARGIN_NS", -50 * NS)


def _blocks_are_acknowledged_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine._Held, "is_needed", False)


def _a_long_held_block_closes_younger_windows_too(monkeypatch: pytest.MonkeyPatch) -> None:
    close_through = Run.close_through
    monkeypatch.setattr(Run, "close_through", lambda run, _tick: close_through(run, run.newest))


def _nothing_is_recalled(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(_engine: WindowEngine, _block: SampleBlock, _append_ns: int) -> None:
        pass

    monkeypatch.setattr(WindowEngine, "recall", forget)


@pytest.mark.parametrize(
    ("take_away", "recall"),
    [
        (_sessions_and_gaps_do_not_end_a_run, True),
        (_windows_start_in_holes, False),
        (_a_worker_without_state_begins_with_the_first_tick, False),
        (_the_timer_does_not_wait_for_the_idle_timeout, True),
        (_blocks_are_acknowledged_at_once, True),
        (_a_long_held_block_closes_younger_windows_too, True),
        (_nothing_is_recalled, True),
    ],
)
def test_each_rule_taken_away_is_caught(
    take_away: Callable[[pytest.MonkeyPatch], None], recall: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def goes_wrong(seed: int) -> bool:
        log = random_log(seed, ALL_FAULTS if recall else ALL_FAULTS - RECALLED_FAULTS, steps=120)
        return bool(differences(undisturbed(log), disturbed(log, random.Random(seed), recall)))

    assert not any(map(goes_wrong, range(20)))
    take_away(monkeypatch)
    assert any(map(goes_wrong, range(200)))
