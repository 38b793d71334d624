"""How far apart a rank's observations are, by the durations of its steps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.collectors.training.pace import INTERVALS_NS, Pace

NS = 1_000_000_000


def intervals(*seconds: float) -> list[int]:
    """The interval after each step, in seconds."""
    pace = Pace()
    taken = []
    for duration in seconds:
        pace.take([round(duration * NS)])
        taken.append(pace.interval_ns // NS)
    return taken


@pytest.mark.parametrize(
    ("step_seconds", "interval_seconds"),
    [(0, 1), (0.004, 1), (1, 1), (1.1, 2), (2, 2), (4, 5), (10, 10), (10.1, 30), (45, 60), (60, 60), (600, 60)],
)
def test_a_typical_step_ends_in_each_interval(step_seconds: float, interval_seconds: int) -> None:
    assert intervals(*[step_seconds] * 9)[-1] == interval_seconds


def test_neither_a_compilation_nor_an_evaluation_changes_it() -> None:
    assert set(intervals(90, *[0.5] * 20, 300, *[0.5] * 20, 300, 300, *[0.5] * 20)) == {1}


def test_steps_that_grow_and_shrink_are_followed_within_five() -> None:
    assert intervals(*[0.5] * 9, *[7] * 5)[-1] == 10
    assert intervals(*[7] * 9, *[0.5] * 5)[-1] == 1


@given(st.lists(st.floats(8.5, 11.5), min_size=3, max_size=100))
def test_steps_that_swing_about_an_interval_change_it_once_at_most(seconds: list[float]) -> None:
    taken = intervals(*seconds)[2:]
    assert taken == sorted(taken)
    assert set(taken) <= {10, 30}


@given(st.lists(st.integers(0, 2**63 - 1)))
def test_whatever_a_hook_says_the_interval_is_one_of_the_list(durations_ns: list[int]) -> None:
    pace = Pace()
    pace.take(durations_ns)
    assert pace.interval_ns in INTERVALS_NS
