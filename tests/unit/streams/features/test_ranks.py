"""Samples by rank against numpy's sort, on series that spread evenly over their range, crowd, jump or repeat."""

from threading import Barrier, Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features import FeatureSet, extract
from pulsetrain.streams.features.ranks import KnownRanks, find_samples
from tests.unit.streams.features.series_strategies import batches

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 5e-324


def found_at(ranks: list[int], values: FloatArray) -> FloatArray:
    return find_samples(np.array(ranks), values, values.min(axis=-1), values.max(axis=-1))


def assert_equals_a_sort(ranks: list[int], values: FloatArray) -> None:
    np.testing.assert_array_equal(found_at(ranks, values), np.sort(values, axis=-1)[:, ranks].T)


def uneven_series() -> dict[str, FloatArray]:
    random = np.random.default_rng(5)
    noise = random.normal(size=300)
    walk = np.cumsum(noise)
    return {
        "even": random.uniform(size=300),
        "walk": walk,
        "a spike": np.where(np.arange(300) == 17, 1e9, walk),
        "spikes both ways": np.where(random.uniform(size=300) < 0.05, noise * 1e6, noise),
        "two levels with noise": noise + 1e6 * (random.uniform(size=300) < 0.5),
        "on and off": (random.uniform(size=300) < 0.5).astype(np.float64),
        "five levels": random.integers(0, 5, size=300).astype(np.float64),
        "percents": random.integers(0, 101, size=300).astype(np.float64),
        "mostly zero": np.where(random.uniform(size=300) < 0.9, 0.0, random.exponential(size=300)),
        "signed zeros": np.where(random.uniform(size=300) < 0.5, 0.0, -0.0),
        "many orders of magnitude": np.exp(50 * noise),
        "all that a double can hold": np.clip(noise, -3, 3) / 3 * LARGEST,
        "the smallest doubles": random.integers(0, 9, size=300) * SMALLEST,
        "neighbouring doubles": 1e12 + random.integers(0, 3, size=300) * 2.0**-13,
        "constant": np.full(300, 0.1),
    }


@pytest.mark.parametrize("name", uneven_series())
@pytest.mark.parametrize(
    "ranks",
    [[0], [299], [149, 150], [29, 30, 149, 150, 269, 270], list(range(300))],
    ids=["first", "last", "middle", "quantiles", "all"],
)
def test_samples_at_ranks_are_those_of_a_sort(ranks: list[int], name: str) -> None:
    assert_equals_a_sort(ranks, uneven_series()[name][np.newaxis])


def test_series_of_all_kinds_in_one_batch_do_not_disturb_each_other() -> None:
    assert_equals_a_sort([0, 29, 30, 149, 150, 270, 299], np.stack(list(uneven_series().values())))


@settings(deadline=None)
@given(values=batches(max_series=6), data=st.data())
def test_samples_at_any_ranks_of_ugly_series_are_those_of_a_sort(values: FloatArray, data: st.DataObject) -> None:
    ranks = data.draw(st.sets(st.integers(0, values.shape[1] - 1), min_size=1))
    assert_equals_a_sort(sorted(ranks), values)


def test_a_long_series_has_its_ranks_too() -> None:
    values = np.random.default_rng(6).normal(size=(2, 40_000))
    assert_equals_a_sort([0, 4_000, 20_000, 39_999], values)


def test_a_series_that_is_not_finite_has_no_sample_at_any_rank() -> None:
    values = np.array([[1.0, np.nan, 3.0], [3.0, 1.0, 2.0]])
    extremes = np.array([np.nan, 1.0]), np.array([np.nan, 3.0])
    found = find_samples(np.array([0, 1]), values, *extremes)
    np.testing.assert_array_equal(found, [[np.nan, 1.0], [np.nan, 2.0]])


def test_known_ranks_stay_in_order_and_each_knows_its_position() -> None:
    known = KnownRanks()
    for ranks in ([7], [3, 9], [3]):
        positions, ascending = known.including(ranks)
        assert [ascending[positions[rank]] for rank in ranks] == ranks
    assert ascending.tolist() == [3, 7, 9]
    assert positions == {3: 0, 7: 1, 9: 2}


@pytest.mark.parametrize("n_samples", [1, 2, 3, 8, 301])
def test_quantiles_that_are_whole_numbers_are_the_extremes(n_samples: int) -> None:
    values = np.random.default_rng(9).normal(size=(3, n_samples))
    for wanted in ([{"q": 0}, {"q": 1}], [{"q": 1}], [{"q": 0}]):
        feature_set = FeatureSet.from_fc_parameters({"quantile": wanted})
        expected = np.quantile(values, [one["q"] for one in wanted], axis=-1).T
        np.testing.assert_array_equal(extract(values, feature_set), expected)


def test_the_median_of_huge_samples_is_one_of_them() -> None:
    values = np.array([[-1.7e308, 1.0, 1.7e308], [1.7e308, 1.6e308, -1.7e308]])
    median = extract(values, FeatureSet.from_fc_parameters({"median": None}))
    np.testing.assert_array_equal(median, [[1.0], [1.6e308]])


def test_quantiles_are_right_from_the_first_batch_on_in_every_thread() -> None:
    """Each thread asks for the ranks first, at the same moment."""
    fc_parameters = {"quantile": [{"q": q} for q in (0.05, 0.35, 0.65, 0.95)], "median": None}
    values = np.random.default_rng(8).normal(size=(3, 77))
    expected = np.quantile(values, [0.05, 0.35, 0.65, 0.95, 0.5], axis=-1).T
    together = Barrier(4)
    results: list[FloatArray] = []

    def ask() -> None:
        feature_set = FeatureSet.from_fc_parameters(fc_parameters)
        together.wait(timeout=60)
        results.extend(extract(values, feature_set) for _ in range(5))

    threads = [Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(results) == 20
    for result in results:
        np.testing.assert_allclose(result, expected, rtol=1e-15, atol=1e-15)
