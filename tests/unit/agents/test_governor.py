"""Degraded mode: when it is entered, how it deepens, when it is left."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.budget import BudgetSettings
from pulsetrain.agents.collectors.scheduled import Importance
from pulsetrain.agents.governor import MAX_LEVEL, Governor, Usage, slowed_by

LIMITS = BudgetSettings(cpu_percent=1.0, memory_mebibytes=60.0, load_per_core=4.0)
FINE = Usage(cpu_percent=0.5, memory_mebibytes=50.0, load_per_core=1.0)
BUSY = Usage(cpu_percent=1.4, memory_mebibytes=50.0, load_per_core=1.0)


class Story:
    """Figures every ten seconds."""

    def __init__(self) -> None:
        self.governor = Governor(LIMITS)
        self.seconds = 0.0

    def levels(self, usage: Usage, times: int) -> list[int]:
        levels = []
        for _ in range(times):
            self.seconds += 10.0
            levels.append(self.governor.judge(usage, self.seconds))
        return levels


def test_a_single_burst_changes_nothing() -> None:
    story = Story()
    assert story.levels(BUSY, 1) + story.levels(FINE, 1) + story.levels(BUSY, 1) == [0, 0, 0]


def test_each_pair_of_figures_over_the_limit_is_one_step_to_the_last_level() -> None:
    assert Story().levels(BUSY, 2 * MAX_LEVEL + 4) == [n // 2 for n in range(1, 2 * MAX_LEVEL + 1)] + [MAX_LEVEL] * 4


@pytest.mark.parametrize(
    "usage",
    [Usage(1.01, 50.0, 1.0), Usage(0.5, 60.1, 1.0), Usage(0.5, 50.0, 4.1), Usage(math.nan, math.nan, 4.1)],
)
def test_any_figure_over_its_limit_slows_down(usage: Usage) -> None:
    assert Story().levels(usage, 2) == [0, 1]


def test_figures_that_are_not_known_exceed_nothing() -> None:
    assert Story().levels(Usage(math.nan, math.nan, math.nan), 5) == [0] * 5


def test_memory_alone_is_one_step_and_another_only_when_it_has_grown() -> None:
    story = Story()
    assert story.levels(Usage(0.5, 61.0, 1.0), 10)[-1] == 1
    assert story.levels(Usage(0.5, 65.0, 1.0), 10)[-1] == 2


def test_it_comes_back_step_by_step_after_a_minute_of_low_figures_each() -> None:
    story = Story()
    story.levels(BUSY, 6)
    # The first low figure begins the minute.
    assert story.levels(FINE, 21) == [3] * 6 + [2] * 6 + [1] * 6 + [0] * 3


def test_figures_between_low_and_limit_keep_the_level() -> None:
    story = Story()
    story.levels(BUSY, 4)
    assert set(story.levels(Usage(0.9, 50.0, 1.0), 100)) == {2}


def test_a_step_back_that_was_too_early_is_tried_again_ever_later() -> None:
    """At full pace the agent is over its limit, one step slower well below: it must not swing every minute."""
    story, ups, level = Story(), [], 0
    for _ in range(360 * 8):
        before, level = level, story.levels(FINE if level else BUSY, 1)[0]
        if level > before:
            ups.append(story.seconds)
    # Eight hours: pauses of 1, 2, 4 ... 32 minutes and then an hour each.
    assert 9 <= len(ups) <= 14
    assert ups[-1] - ups[-2] > 3600


def test_after_a_calm_hour_the_first_pause_is_short_again() -> None:
    story = Story()
    for _ in range(3):
        story.levels(BUSY, 2)
        story.levels(FINE, 60)
    story.levels(FINE, 400)
    story.levels(BUSY, 2)
    assert story.levels(FINE, 7)[-1] == 0


def test_the_least_important_is_slowed_first_and_the_agents_own_interval_last() -> None:
    factors = [tuple(slowed_by(level, importance) for importance in Importance) for level in range(MAX_LEVEL + 1)]
    assert factors == [
        (1, 1, 1),
        (2, 1, 1),
        (4, 1, 1),
        (8, 1, 1),
        (8, 2, 1),
        (8, 4, 1),
        (8, 8, 1),
        (8, 8, 2),
        (8, 8, 4),
        (8, 8, 8),
    ]


@given(st.lists(st.builds(Usage, *[st.floats(0, 10) | st.just(math.nan)] * 3), max_size=200))
def test_a_level_never_jumps_and_never_leaves_its_range(usages: list[Usage]) -> None:
    story, level = Story(), 0
    for usage in usages:
        (now,) = story.levels(usage, 1)
        assert abs(now - level) <= 1
        assert 0 <= now <= MAX_LEVEL
        level = now


@pytest.mark.parametrize("name", ["cpu_percent", "memory_mebibytes", "load_per_core"])
def test_a_limit_must_be_positive(name: str) -> None:
    with pytest.raises(ValueError, match=f"agent.budget.{name} is 0"):
        BudgetSettings(**{name: 0.0})
