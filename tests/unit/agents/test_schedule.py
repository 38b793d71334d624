"""Ticks on the wall-clock grid, with a clock that the test moves."""

from collections.abc import Iterator
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.schedule import Tick, ticks

MS = 1_000_000
INTERVAL = 100 * MS
START = 1_700_000_000_000 * MS + 37 * MS


class Clock:
    """A wall clock that only waiting and the test move."""

    def __init__(self, now_ns: int = START) -> None:
        self.now_ns = now_ns
        self.waits: list[float] = []
        self.stop_after: int | None = None
        self.jump_ns = 0

    def time_ns(self) -> int:
        return self.now_ns

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        if self.stop_after is not None and len(self.waits) > self.stop_after:
            return True
        self.now_ns += round(seconds * 1e9) + self.jump_ns
        self.jump_ns = 0
        return False


def schedule(clock: Clock) -> Iterator[Tick]:
    return ticks(lambda: INTERVAL, clock.time_ns, clock.wait)


def test_ticks_come_at_wall_clock_multiples_of_the_interval() -> None:
    clock = Clock()
    first, second, third = islice(schedule(clock), 3)
    assert first == Tick(START + 63 * MS, START + 63 * MS, 0, False)
    assert second.grid_ns == first.grid_ns + INTERVAL
    assert third.grid_ns == second.grid_ns + INTERVAL


def test_work_between_ticks_moves_none_of_them() -> None:
    clock = Clock()
    grid = []
    for tick in islice(schedule(clock), 50):
        grid.append(tick.grid_ns)
        assert tick.time_ns == tick.grid_ns
        clock.now_ns += 70 * MS
    assert grid == list(range(grid[0], grid[0] + 50 * INTERVAL, INTERVAL))


def test_work_that_takes_too_long_skips_ticks_and_is_not_caught_up() -> None:
    clock = Clock()
    running = schedule(clock)
    first = next(running)
    clock.now_ns += 350 * MS
    second = next(running)
    assert second.grid_ns == first.grid_ns + 4 * INTERVAL
    assert second.skipped == 3
    assert next(running).skipped == 0


def test_a_sleep_that_lasts_too_long_gives_a_tick_with_its_actual_time() -> None:
    clock = Clock()
    running = schedule(clock)
    first = next(running)
    clock.jump_ns = 230 * MS
    second = next(running)
    assert (second.time_ns, second.grid_ns) == (first.grid_ns + 330 * MS, first.grid_ns + 300 * MS)
    assert second.skipped == 2


def test_a_sleep_that_ends_early_is_continued() -> None:
    clock = Clock()
    running = schedule(clock)
    first = next(running)
    clock.jump_ns = -10 * MS
    second = next(running)
    assert second.time_ns == first.grid_ns + INTERVAL
    assert clock.waits[-2:] == [0.1, 0.01]


def test_a_clock_set_back_a_little_is_waited_for() -> None:
    clock = Clock()
    running = schedule(clock)
    first = next(running)
    clock.now_ns -= 800 * MS
    second = next(running)
    assert second == Tick(first.grid_ns + INTERVAL, first.grid_ns + INTERVAL, 0, False)


def test_a_clock_set_back_by_an_hour_begins_anew() -> None:
    clock = Clock()
    running = schedule(clock)
    first = next(running)
    clock.now_ns -= 3600 * 1000 * MS
    second = next(running)
    assert second.clock_went_back
    assert second.grid_ns == first.grid_ns - 3600 * 1000 * MS + INTERVAL
    assert next(running) == Tick(second.grid_ns + INTERVAL, second.grid_ns + INTERVAL, 0, False)


def test_a_clock_set_back_during_a_sleep_begins_anew() -> None:
    clock = Clock()
    running = schedule(clock)
    first = next(running)
    clock.jump_ns = -3600 * 1000 * MS
    second = next(running)
    assert second.clock_went_back
    assert second.time_ns < first.time_ns


def test_a_clock_set_forward_skips_ticks() -> None:
    clock = Clock()
    running = schedule(clock)
    next(running)
    clock.now_ns += 60_000 * MS
    assert next(running).skipped == 600


def test_stopping_ends_the_schedule_at_once() -> None:
    clock = Clock()
    clock.stop_after = 3
    assert len(list(schedule(clock))) == 3


@given(st.lists(st.integers(-5_000, 5_000), max_size=60))
def test_ticks_ascend_unless_they_say_that_the_clock_went_back(moves_ms: list[int]) -> None:
    clock = Clock()
    running = schedule(clock)
    previous = next(running)
    for move_ms in moves_ms:
        clock.now_ns += move_ms * MS
        tick = next(running)
        assert tick.grid_ns % INTERVAL == 0
        assert 0 <= tick.time_ns - tick.grid_ns < INTERVAL
        if tick.clock_went_back:
            assert tick.grid_ns <= previous.grid_ns
        else:
            assert tick.time_ns > previous.time_ns
            assert tick.grid_ns == previous.grid_ns + (tick.skipped + 1) * INTERVAL
        previous = tick
