"""Observations become batches: which go together, when they are due, what can't be used."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.collectors.base import Observation
from pulsetrain.agents.gathering import HOLD_NS, Gatherer
from pulsetrain.agents.session import Batch, Node, Session
from pulsetrain.schemas.sample_block import decode_sample_block, encode_sample_block
from tests.unit.agents.background_fakes import MS, SECOND, START, seen


def gathered(*observations: Observation, interval_ns: int = SECOND) -> list[Batch]:
    gatherer = Gatherer()
    for observation in observations:
        assert gatherer.add("nvml", "the library", interval_ns, observation) is None
    return list(gatherer.all())


def test_observations_of_the_same_kind_go_into_one_batch() -> None:
    (batch,) = gathered(seen("gpu:1", START, 1.0, 2.0, job="a"), seen("gpu:1", START + SECOND, 3.0, 4.0, job="a"))
    assert (batch.collector, batch.entity, batch.interval_ns) == ("nvml", "gpu:1", SECOND)
    assert (batch.metrics, batch.labels) == (("m0", "m1"), {"job": "a"})
    assert batch.samples.ticks_ns.tolist() == [START, START + SECOND]
    assert batch.samples.values.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_each_entity_has_a_batch_of_its_own() -> None:
    assert [batch.entity for batch in gathered(seen("gpu:1", START, 1.0), seen("train/rank:3", START, 1.0))] == [
        "gpu:1",
        "train/rank:3",
    ]


def test_other_metrics_labels_or_another_interval_begin_another_batch_in_order_of_time() -> None:
    gatherer = Gatherer()
    for observation, interval_ns in (
        (seen("gpu:1", START, 1.0), SECOND),
        (seen("gpu:1", START + 1, 1.0, 2.0), SECOND),
        (seen("gpu:1", START + 2, 1.0, 2.0, job="a"), SECOND),
        (seen("gpu:1", START + 3, 1.0, 2.0, job="a"), 2 * SECOND),
    ):
        assert gatherer.add("nvml", "the library", interval_ns, observation) is None
    batches = list(gatherer.all())
    assert [batch.samples.ticks_ns.tolist() for batch in batches] == [[START + n] for n in range(4)]
    assert [batch.interval_ns for batch in batches] == [SECOND] * 3 + [2 * SECOND]


def test_an_observation_with_an_interval_of_its_own_keeps_it_and_shares_no_batch_with_another() -> None:
    own, same, other = (
        replace(seen("train/rank:3", START + n, 1.0), interval_ns=interval_ns)
        for n, interval_ns in enumerate((7 * SECOND, 7 * SECOND, None))
    )
    batches = gathered(own, same, other)
    assert [(batch.interval_ns, len(batch.samples.ticks_ns)) for batch in batches] == [(7 * SECOND, 2), (SECOND, 1)]


def test_a_collector_that_is_slowed_down_slows_its_observations_down() -> None:
    own = replace(seen("train/rank:3", START, 1.0), interval_ns=2 * SECOND)
    assert [batch.interval_ns for batch in gathered(own, interval_ns=8 * SECOND)] == [8 * SECOND]


def test_an_observation_waits_for_others_until_it_would_come_too_late() -> None:
    gatherer = Gatherer()
    gatherer.add("nvml", "the library", SECOND, seen("gpu:1", START, 1.0))
    assert not list(gatherer.due(START + SECOND))
    gatherer.add("nvml", "the library", SECOND, seen("gpu:1", START + SECOND, 2.0))
    assert not list(gatherer.due(START + HOLD_NS))
    (batch,) = gatherer.due(START + HOLD_NS + 1)
    assert len(batch.samples.ticks_ns) == 2
    assert not list(gatherer.all())


def test_a_missing_value_has_the_collectors_reason_or_the_sources_name() -> None:
    observation = Observation("gpu:1", START, ("a", "b", "c"), (math.nan, math.nan, 1.0), {"a": "not supported"})
    (batch,) = gathered(observation)
    assert batch.samples.missing == {"a": "not supported", "b": "no value in the library"}


def test_what_cannot_be_used_is_refused_with_a_sentence() -> None:
    gatherer = Gatherer()
    assert gatherer.add("nvml", "s", SECOND, seen("gpu:1", START, 1.0)) is None
    for wrong, reason in (
        (Observation("gpu:1", START + 1, ("a", "b"), (1.0,)), "1 values for 2 metrics of gpu:1"),
        (Observation("gpu:1", START + 1, (), ()), "0 values for 0 metrics of gpu:1"),
        (Observation("gpu:1", START + 1, ("a",), ("x",)), "a value of gpu:1 is no number"),  # type: ignore[arg-type]
        (seen("gpu:1", START, 1.0), "an observation of gpu:1 that is not newer than the one before it"),
    ):
        assert str(gatherer.add("nvml", "s", SECOND, wrong)).startswith(reason)
    assert sum(len(batch.samples.ticks_ns) for batch in gatherer.all()) == 1


def test_entities_that_are_gone_are_forgotten() -> None:
    gatherer = Gatherer()
    for entity in range(10_000):
        assert gatherer.add("cgroup", "s", SECOND, seen(f"container:{entity}", START, 1.0)) is None
    assert str(gatherer.add("cgroup", "s", SECOND, seen("container:x", START, 1.0))) == "more than 10000 entities"
    list(gatherer.due(START + 2 * SECOND))
    gatherer.forget(START + 601 * SECOND)
    assert gatherer.add("cgroup", "s", SECOND, seen("container:x", START, 1.0)) is None


def test_a_batch_fits_a_message_however_much_is_brought() -> None:
    wide = [seen("gpu:1", START + n, *([1.0] * 20_000)) for n in range(7)]
    assert [len(batch.samples.ticks_ns) for batch in gathered(*wide)] == [2, 2, 2, 1]


def test_no_batch_spans_more_than_a_message_may_when_the_clock_is_set_forward() -> None:
    day = 86_400 * SECOND
    batches = gathered(*(seen("gpu:1", time_ns, 1.0) for time_ns in (START, START + SECOND, START + day)))
    assert [len(batch.samples.ticks_ns) for batch in batches] == [2, 1]


@pytest.mark.parametrize("value", [1.0, math.nan])
def test_more_metrics_of_an_entity_than_a_message_holds_come_in_several(value: float) -> None:
    names = tuple(f"node_cpu_seconds_total{{cpu={number}}}".ljust(200, "x") for number in range(20_000))
    reasons = dict.fromkeys(names, "y" * 100)
    batches = gathered(*(Observation("host", START + n, names, [value + n] * len(names), reasons) for n in range(2)))
    session = Session(Node("n", "boot", {}))
    blocks = [decode_sample_block(encode_sample_block(session.block(batch))) for batch in batches]
    assert len(blocks) > 1
    assert tuple(name for block in blocks for name in block.metrics) == names
    for block in blocks:
        assert block.ticks_ns.tolist() == [START, START + 1]
        np.testing.assert_array_equal(block.values, np.array([[value], [value + 1]]).repeat(len(block.metrics), axis=1))
        assert block.missing == (dict.fromkeys(block.metrics, "y" * 100) if math.isnan(value) else {})


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 2000), st.integers(1, 2)), max_size=40))
def test_every_observation_is_in_exactly_one_batch_and_times_ascend(steps: list[tuple[str, int, int]]) -> None:
    gatherer, now, batches, expected = Gatherer(), START, list[Batch](), list[tuple[str, int]]()
    for entity, milliseconds, width in steps:
        now += milliseconds * MS
        batches += gatherer.due(now)
        assert gatherer.add("c", "s", SECOND, seen(entity, now, *([1.0] * width))) is None
        expected.append((entity, now))
    batches += gatherer.all()
    got = [(batch.entity, tick) for batch in batches for tick in batch.samples.ticks_ns.tolist()]
    assert sorted(got) == sorted(expected)
    for batch in batches:
        assert np.all(np.diff(batch.samples.ticks_ns) > 0)
        assert int(batch.samples.ticks_ns[-1]) - int(batch.samples.ticks_ns[0]) <= HOLD_NS
