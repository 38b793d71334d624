"""Sums of counters that come and go.

counter   t0   t1   t2   t3
a         10   12    -   15
b          -    -  500  501
sum       10   12    -   16
"""

import math

from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.collectors.growing_sums import GrowingSums


def sums_of(*rows: dict[str, float]) -> list[float]:
    sums = GrowingSums()
    return [sums.add([("bytes", counter, value) for counter, value in row.items()])["bytes"] for row in rows]


def test_a_counter_that_comes_later_adds_only_what_it_grows() -> None:
    assert sums_of({"a": 10}, {"a": 12}, {"a": 12, "b": 500}, {"a": 15, "b": 501}) == [10, 12, 12, 16]


def test_while_a_counter_is_missing_the_sum_is_and_then_it_has_what_was_missed() -> None:
    first, during, after = sums_of({"a": 10, "b": 1}, {"a": math.nan, "b": 2}, {"a": 17, "b": 3})
    assert first == 11
    assert math.isnan(during)
    assert after == 20
    first, during, after = sums_of({"a": 10, "b": 1}, {"b": 2, "a": math.nan}, {"b": 3, "a": 17})
    assert math.isnan(during)
    assert after == 20


def test_a_counter_that_fell_or_went_takes_nothing_away() -> None:
    assert sums_of({"a": 10, "b": 5}, {"a": 2, "b": 6}, {"a": 3}, {"a": 4}) == [15, 16, 17, 18]


def test_groups_are_apart() -> None:
    sums = GrowingSums()
    assert sums.add([("in", "a", 1.0), ("out", "b", 2.0)]) == {"in": 1, "out": 2}
    assert sums.add([("out", "b", 5.0)]) == {"out": 5}


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 1000).map(float) | st.just(math.nan)), max_size=20)
)
def test_the_sum_never_falls(rows: list[dict[str, float]]) -> None:
    sums = GrowingSums()
    highest = 0.0
    for row in rows:
        value = sums.add([("bytes", counter, number) for counter, number in row.items()]).get("bytes", math.nan)
        if not math.isnan(value):
            assert value >= highest
            highest = value
