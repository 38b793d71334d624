"""Observations of ranks, from messages with numbers that are worked out by hand."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.collectors.base import Observation
from pulsetrain.agents.collectors.training.message import HookMessage, RefusedError, StepRow, ValuesRow
from pulsetrain.agents.collectors.training.ranks import MAX_HELD_STEPS, MAX_RANKS, METRICS, Ranks, entity_of
from pulsetrain.agents.hook.message import NonFinite
from pulsetrain.schemas.catalogue import find
from pulsetrain.schemas.identity import MAX_ENTITY_CHARACTERS

NS = 1_000_000_000
T = 1_700_000_000 * NS


def message(
    steps: Sequence[StepRow] = (),
    values: Sequence[ValuesRow] = (),
    rank: int = 3,
    session: str = "a",
    closing: bool = False,
    retries: int | None = None,
) -> HookMessage:
    return HookMessage("llm", rank, session, T, 1, 2, retries, closing, list(steps), list(values))


def figures(observation: Observation) -> dict[str, float]:
    return dict(zip(observation.metrics, observation.values, strict=True))


def only(ranks: Ranks) -> Observation:
    (observation,) = ranks.observations(T)
    return observation


def test_every_metric_is_in_the_catalogue() -> None:
    assert [name for name in METRICS if find(name) is None] == []


def test_steps_since_the_last_time_are_one_observation_at_the_end_of_the_last_one() -> None:
    ranks = Ranks(lambda pid: {"pod": f"pod of {pid}"})
    ranks.add(message([StepRow(T, 1, None, NS // 2), StepRow(T + NS // 4, 2, NS // 4, 0)]), 42, T)
    ranks.add(message([StepRow(T + NS, 3, 3 * NS // 4, NS // 4)], retries=5), 42, T)
    observation = only(ranks)
    assert (observation.entity, observation.time_ns) == ("llm/rank:3", T + NS)
    assert observation.labels == {"job": "llm", "rank": "3", "pod": "pod of 42"}
    assert figures(observation) == {
        "training.step.duration": 0.5,
        "training.step.max_duration": 0.75,
        "training.step.count": 3.0,
        "training.data_wait.duration": 0.25,
        "training.data_wait.max_duration": 0.5,
        "training.allocator.retries": 5.0,
        "training.hook.errors": 1.0,
        "training.hook.steps_dropped": 2.0,
    }


def test_values_are_means_and_what_was_not_finite_is_a_share() -> None:
    ranks = Ranks(lambda pid: {})
    rows = [
        ValuesRow(1, 100_000_000, 2.0, None, 1024.0, NonFinite.NOTHING),
        ValuesRow(2, 300_000_000, 4.0, 1.5, 512.0, NonFinite.NOTHING),
        ValuesRow(3, None, None, None, None, NonFinite.LOSS | NonFinite.GRADIENT_NORM),
        ValuesRow(4, None, None, 2.5, None, NonFinite.LOSS),
    ]
    ranks.add(message([StepRow(T, 4, NS, None)], rows), 0, T)
    told = figures(only(ranks))
    assert told["training.all_reduce.duration"] == pytest.approx(0.2)
    assert told["training.loss"] == 3.0
    assert told["training.loss.nonfinite"] == 0.5
    assert told["training.gradient.norm"] == 2.0
    assert told["training.gradient.nonfinite"] == pytest.approx(1 / 3)
    assert told["training.loss_scale"] == 512.0


def test_a_rank_that_tells_nothing_has_no_observation() -> None:
    ranks = Ranks(lambda pid: {})
    ranks.add(message([StepRow(T, 1, NS, None)]), 0, T)
    assert len(ranks.observations(T)) == 1
    assert ranks.observations(T + NS) == []
    ranks.add(message(), 0, T)
    assert ranks.observations(T + NS) == []


def test_what_a_hook_has_told_before_and_does_not_now_is_missing_with_a_reason() -> None:
    ranks = Ranks(lambda pid: {})
    ranks.add(message([StepRow(T, 1, NS, NS)]), 0, T)
    assert "training.loss" not in only(ranks).metrics
    ranks.add(message([StepRow(T + NS, 2, NS, None)], [ValuesRow(2, None, 2.0, None, None, 0)]), 0, T)
    observation = only(ranks)
    assert figures(observation)["training.loss"] == 2.0
    assert math.isnan(figures(observation)["training.data_wait.duration"])
    assert set(observation.missing) == {"training.data_wait.duration", "training.data_wait.max_duration"}


def test_values_that_come_after_their_step_have_the_time_of_the_message() -> None:
    ranks = Ranks(lambda pid: {})
    ranks.add(message([StepRow(T - NS, 7, NS, None)]), 0, T)
    only(ranks)
    ranks.add(message(values=[ValuesRow(7, None, None, None, None, NonFinite.LOSS)], closing=True), 0, T)
    observation = only(ranks)
    assert observation.time_ns == T
    assert figures(observation)["training.loss.nonfinite"] == 1.0
    assert figures(observation)["training.step.count"] == 7.0


def slow_ranks(seconds: int) -> Ranks:
    """One rank with steps of so many seconds, of which everything up to T was observed."""
    ranks = Ranks(lambda pid: {})
    ranks.add(message([StepRow(T, number, seconds * NS, None) for number in range(3)]), 0, T)
    assert [one.time_ns for one in ranks.observations(T)] == [T]
    return ranks


def test_slow_steps_are_observed_at_multiples_of_an_interval_in_which_one_ends() -> None:
    assert T % (60 * NS) == 20 * NS
    ranks = slow_ranks(45)
    ranks.add(message([StepRow(T + 30 * NS, 4, 45 * NS, None)], [ValuesRow(4, None, 2.0, None, None, 0)]), 0, T)
    assert [ranks.observations(T + second * NS) for second in range(31, 40)] == [[]] * 9
    (observation,) = ranks.observations(T + 40 * NS)
    assert (observation.time_ns, observation.interval_ns) == (T + 40 * NS, 60 * NS)
    assert figures(observation)["training.step.duration"] == 45.0
    assert figures(observation)["training.loss"] == 2.0
    assert ranks.observations(T + 100 * NS) == []


@pytest.mark.parametrize("closing", [True, False])
def test_of_slow_steps_the_end_of_a_rank_and_a_flood_are_observed_at_once(closing: bool) -> None:
    ranks = slow_ranks(45)
    rows = [StepRow(T + NS, 4, 45 * NS, None)] * (1 if closing else MAX_HELD_STEPS)
    ranks.add(message(rows, closing=closing), 0, T)
    (observation,) = ranks.observations(T + NS)
    assert observation.time_ns == T + NS


def test_a_clock_that_is_set_back_silences_no_rank() -> None:
    ranks = slow_ranks(45)
    earlier = T - 3600 * NS
    ranks.add(message([StepRow(earlier, 4, 45 * NS, None)]), 0, earlier)
    (observation,) = ranks.observations(earlier)
    assert observation.time_ns == earlier


def test_times_ascend_where_steps_become_fast_again() -> None:
    ranks = slow_ranks(4)
    ranks.add(message([StepRow(T + 4 * NS, 4, 4 * NS, None)]), 0, T)
    (slow,) = ranks.observations(T + 5 * NS)
    ranks.add(message([StepRow(T + 5 * NS - 1, number, NS // 10, None) for number in range(5, 15)]), 0, T)
    (fast,) = ranks.observations(T + 6 * NS)
    assert (slow.interval_ns, fast.interval_ns) == (5 * NS, None)
    assert fast.time_ns > slow.time_ns


def test_the_largest_floats_have_a_finite_mean() -> None:
    ranks = Ranks(lambda pid: {})
    ranks.add(message([StepRow(T, 2, NS, None)], [ValuesRow(1, None, 1.7e308, None, None, 0)] * 2), 0, T)
    assert figures(only(ranks))["training.loss"] == 1.7e308


def test_a_restarted_rank_begins_anew_and_its_former_session_is_refused() -> None:
    ranks = Ranks(lambda pid: {})
    ranks.add(message([StepRow(T, 100, NS, NS)], session="a"), 0, T)
    ranks.add(message([StepRow(T + NS, 1, None, None)], session="b"), 0, T)
    with pytest.raises(RefusedError, match="session"):
        ranks.add(message([StepRow(T + 2 * NS, 101, NS, NS)], session="a"), 0, T)
    # Two are what the hook says that it dropped, the third is the step of the former session.
    assert figures(only(ranks)) == {
        "training.step.count": 1.0,
        "training.hook.errors": 1.0,
        "training.hook.steps_dropped": 3.0,
    }


@given(
    st.lists(st.tuples(st.sampled_from(["steps", "anew", "asked"]), st.integers(1, 5)), max_size=60),
    st.sampled_from([NS // 4, 4 * NS, 40 * NS]),
)
def test_steps_that_wait_when_their_rank_begins_anew_are_counted(events: list[tuple[str, int]], step_ns: int) -> None:
    ranks, now = Ranks(lambda pid: {}), T
    session = heard = waiting = dropped = 0
    for event, number in [*events, ("anew", 1), ("steps", 1), ("asked", 1)]:
        if event == "anew":
            session += 1
        elif event == "steps":
            ends = [now + (step + 1) * step_ns for step in range(number)]
            now = ends[-1]
            ranks.add(message([StepRow(end, 1, step_ns, None) for end in ends], session=str(session)), 0, now)
            if session != heard:
                heard, dropped, waiting = session, dropped + waiting, 0
            waiting += number
        else:
            # So long that steps of any duration are told.
            now += 60 * NS
            for observation in ranks.observations(now):
                waiting = 0
                # Two are what the hook says.
                assert figures(observation)["training.hook.steps_dropped"] == 2.0 + dropped


def test_ranks_are_bounded_and_those_that_say_goodbye_or_nothing_make_room() -> None:
    ranks = Ranks(lambda pid: {})
    for rank in range(MAX_RANKS):
        ranks.add(message([StepRow(T, 1, NS, None)], rank=rank, closing=rank == 0), 0, T)
    with pytest.raises(RefusedError, match="ranks"):
        ranks.add(message(rank=MAX_RANKS), 0, T)
    assert len(ranks.observations(T)) == MAX_RANKS
    ranks.add(message(rank=MAX_RANKS), 0, T)
    assert ranks.observations(T + 601 * NS) == []
    ranks.add(message(rank=MAX_RANKS + 1), 0, T)


@pytest.mark.parametrize(
    ("job", "entity"),
    [
        ("llm-7b_v2.1", "llm-7b_v2.1/rank:0"),
        ("team/llm", "team%2Fllm/rank:0"),
        ("team%2Fllm", "team%252Fllm/rank:0"),
        ("a b@c\n", "a%20b%40c%0A/rank:0"),
        ("größe", "gr%C3%B6%C3%9Fe/rank:0"),
    ],
)
def test_a_jobs_name_can_stand_in_an_entitys_name_and_jobs_stay_apart(job: str, entity: str) -> None:
    assert entity_of(job, 0) == entity


def test_the_longest_names_of_jobs_fit_and_stay_apart() -> None:
    one, other = entity_of("\U0001f600" * 200, 9_999_999), entity_of("\U0001f600" * 199 + "a", 9_999_999)
    assert one != other
    assert max(len(one), len(other)) <= MAX_ENTITY_CHARACTERS
