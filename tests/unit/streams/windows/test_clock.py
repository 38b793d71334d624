"""Clock offsets of nodes: what a window carries, and which jumps are reported. Times in seconds."""

from collections.abc import Iterable

import pytest

from pulsetrain.schemas.status import StatusEvent
from pulsetrain.streams.windows import ClosedWindow, NodeEvent
from pulsetrain.streams.windows.clock import ClockWatch
from tests.unit.streams.windows.partition import SECOND, Partition, at
from tests.unit.streams.windows.replay import content


def jumps(offsets: Iterable[float], every: float = 1.0) -> list[float]:
    """What is reported of blocks that are appended at even distances, `offsets` after their newest ticks."""
    watch = ClockWatch()
    found = []
    for number, offset in enumerate(offsets):
        jump = watch.observe(round(offset * SECOND), round(number * every * SECOND))
        if jump is not None:
            found.append(jump / SECOND)
    return found


def test_the_offset_of_a_window_is_the_smallest_append_time_minus_newest_tick_of_its_blocks() -> None:
    #   ticks      -1, 0     1, 2    3, 4    31, 32    33 .. 37
    #   appended     3        2.4      6       33.1       38.2
    #   offset       3        0.4      2        1.1        1.2
    #   windows           [0, 30): 0.4                [5, 35): 1.1
    partition = Partition()
    partition.send(-1, 0, append=3)
    partition.send(1, 2, append=2.4)
    partition.send(3, 4, append=6)
    [first] = partition.send(31, 32, append=33.1).windows
    assert first.clock_offset_ns == 0.4 * SECOND
    [second] = partition.send(*range(33, 38), append=38.2).windows
    assert second.clock_offset_ns == 1.1 * SECOND


def test_a_clock_that_is_ahead_has_a_negative_offset() -> None:
    partition = Partition()
    partition.send(0, 1, append=-2)
    [window] = partition.send(32, append=30).windows
    assert window.clock_offset_ns == -3 * SECOND


def test_copies_and_late_blocks_have_no_part_in_the_offset() -> None:
    partition = Partition()
    first = partition.block(0, 1)
    partition.read(first, append_seconds=3)
    partition.read(first, append_seconds=1.5)
    partition.send(*range(2, 20), append=25)
    partition.send(12, 16, collector="gpu", append=16.1)  # late: 19 was sent before
    [window] = partition.send(32, append=40).windows
    assert window.clock_offset_ns == 2 * SECOND
    late = next(source for source in window.entities[0].sources if source.collector == "gpu")
    assert late.late.tolist() == [2]


def test_an_offset_moves_no_sample_from_one_window_to_another() -> None:
    def windows(behind: float) -> list[ClosedWindow]:
        partition = Partition()
        steps = [partition.send(second, second + 1, append=second + 1 + behind) for second in range(0, 80, 2)]
        return [window for step in steps for window in step.windows]

    near, far = windows(0.25), windows(200)
    assert [window.clock_offset_ns for window in near] == [0.25 * SECOND] * len(near)
    assert [window.clock_offset_ns for window in far] == [200 * SECOND] * len(far)
    assert len(near) > 5
    for one, other in zip(near, far, strict=True):
        assert [part for part in content(one) if part != one.clock_offset_ns] == [
            part for part in content(other) if part != other.clock_offset_ns
        ]


@pytest.mark.parametrize("jump", [1.5, 20.0, 280.0, -1.5, -20.0, -3600.0])
def test_a_jump_is_reported_once_with_how_far(jump: float) -> None:
    before = [0.2 + 0.1 * (number % 3) for number in range(100)]
    after = [offset - jump for offset in before]
    assert jumps(before + after * 3) == pytest.approx([jump])


def test_a_clock_that_jumps_there_and_back_is_reported_twice() -> None:
    assert jumps([0.2] * 100 + [-4.8] * 100 + [0.2] * 100) == pytest.approx([5, -5])


def test_deliveries_that_vary_and_clocks_that_drift_are_no_jumps() -> None:
    assert jumps([0.05, 0.9, 0.4] * 100) == []
    assert jumps([0.2 + 8 * (number % 7 == 3) for number in range(300)]) == []  # each seventh block is held up
    assert jumps([0.2 - 0.0005 * number for number in range(3600)]) == []  # 500 ppm, as fast as NTP slews
    assert jumps([0.1, 40.0, 0.3], every=30) == []


@pytest.mark.parametrize("outage", [20, 45, 200, 900])
@pytest.mark.parametrize("blocks_a_second", [4, 30])
def test_a_backlog_that_is_sent_after_an_outage_is_no_jump(outage: int, blocks_a_second: int) -> None:
    watch = ClockWatch()
    steady = [(second + 0.2, 0.2) for second in range(100)]
    end = 100 + outage
    # the block of each second of the outage comes after it, some a second, while those of the present queue up behind
    sent, time, backlog = 100.0, float(end), []
    while sent < time:
        backlog.append((time, time - sent))
        sent, time = sent + 1, time + 1 / blocks_a_second
    after = [(sent + second + 0.2, 0.2) for second in range(200)]
    for append, offset in steady + backlog + after:
        assert watch.observe(round(offset * SECOND), round(append * SECOND)) is None


def jump_events(events: Iterable[NodeEvent]) -> list[NodeEvent]:
    return [event for event in events if event.event is StatusEvent.CLOCK_JUMPED]


def test_a_clock_that_is_set_back_is_reported_as_a_status_event() -> None:
    # At 100 s of append time the clock is set back by 40 s; the agent begins a new session then.
    partition = Partition()
    events: list[NodeEvent] = []
    for second in range(100):
        events += partition.send(second, append=second + 0.5).events
    for second in range(100, 200):
        events += partition.send(second - 40, session="next", append=second + 0.5).events
    [event] = jump_events(events)
    assert event.node == "n"
    assert event.details == {"jump_seconds": -40.0}
    assert "40.0 s later" in event.message


def test_what_other_workers_have_reported_is_not_reported_again() -> None:
    partition = Partition()
    for second in range(200):
        ahead = 5 if second >= 100 else 0
        partition.engine.recall(partition.block(second + ahead), at(second + 1))
    events = [
        event
        for second in range(200, 300)
        for event in partition.send(second + (5 if second < 250 else 12), append=second + 1).events
    ]
    assert [event.details["jump_seconds"] for event in jump_events(events)] == [7.0]
