"""Every batched calculator against tsfresh's own, and arithmetic by hand."""

import math
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from tsfresh.feature_extraction import EfficientFCParameters, MinimalFCParameters

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features import FcParameters, FeatureSet, extract
from pulsetrain.streams.features.calculators import CALCULATOR_FAMILIES, find_calculator
from pulsetrain.streams.features.kernels import KERNELS
from tests.unit.streams.features.rounding import allowed_difference
from tests.unit.streams.features.series_strategies import batches, telling_windows
from tests.unit.streams.features.tsfresh_oracle import comprehensive_parameters, tsfresh_suffix, tsfresh_values

EFFICIENT = FeatureSet.from_fc_parameters("EfficientFCParameters")


@cache
def feature_set(calculator: str) -> FeatureSet:
    return FeatureSet.from_fc_parameters({calculator: comprehensive_parameters()[calculator]})


def assert_equals_tsfresh(calculator: str, values: FloatArray) -> None:
    parameter_sets = comprehensive_parameters()[calculator] or [{}]
    features = extract(values, feature_set(calculator))
    for series, row in zip(values, features, strict=True):
        expected_row = tsfresh_values(calculator, parameter_sets, series)
        for parameters, actual, expected in zip(parameter_sets, row, expected_row, strict=True):
            said = (calculator, parameters, series.tolist(), actual, expected)
            if not math.isfinite(expected):
                np.testing.assert_equal(actual, expected, err_msg=str(said))
            else:
                assert abs(actual - expected) <= allowed_difference(calculator, parameters, series, expected), said


@pytest.mark.parametrize("calculator", CALCULATOR_FAMILIES)
@settings(deadline=None, max_examples=25)
@given(values=batches(max_series=3))
def test_a_calculator_equals_that_of_tsfresh_on_ugly_series(calculator: str, values: FloatArray) -> None:
    assert_equals_tsfresh(calculator, values)


@pytest.mark.parametrize("calculator", CALCULATOR_FAMILIES)
def test_a_calculator_equals_that_of_tsfresh_at_every_short_length(calculator: str) -> None:
    for n_samples in range(1, 13):
        noise = np.random.default_rng(n_samples).normal(size=n_samples)
        series = (noise, np.full(n_samples, 0.1), np.zeros(n_samples), 0.1 * np.arange(n_samples), noise.round())
        assert_equals_tsfresh(calculator, np.stack(series))


@pytest.mark.parametrize("calculator", CALCULATOR_FAMILIES)
def test_a_calculator_equals_that_of_tsfresh_on_a_window_of_300_samples(calculator: str) -> None:
    assert_equals_tsfresh(calculator, np.stack(list(telling_windows(300).values())))


@pytest.mark.parametrize("calculator", CALCULATOR_FAMILIES)
def test_a_calculator_serves_all_parameters_that_tsfresh_itself_chose_under_its_names(calculator: str) -> None:
    parameter_sets = comprehensive_parameters()[calculator] or [{}]
    served = find_calculator(calculator)
    assert served is not None
    assert all(served.covers(parameters) for parameters in parameter_sets)
    if calculator not in ("augmented_dickey_fuller", "query_similarity_count"):  # they name their defaults too
        expected = tuple(tsfresh_suffix(calculator, parameters) for parameters in parameter_sets)
        assert feature_set(calculator).suffixes == expected


@pytest.mark.parametrize("named", [MinimalFCParameters, EfficientFCParameters])
def test_no_calculator_of_these_sets_is_left_to_tsfresh(named: type[FcParameters]) -> None:
    needs_times = {"linear_trend_timewise"}
    assert set(named()) - needs_times <= KERNELS.keys() | CALCULATOR_FAMILIES.keys()


@settings(deadline=None, max_examples=15)
@given(values=batches(max_series=6))
def test_the_features_of_a_series_are_the_same_bits_whatever_else_is_in_the_batch(values: FloatArray) -> None:
    together = extract(values, EFFICIENT)
    alone = [extract(series[np.newaxis], EFFICIENT)[0] for series in values]
    np.testing.assert_array_equal(together, alone)


def test_threads_do_not_disturb_each_other() -> None:
    batches_of_threads = [50 + np.random.default_rng(seed).normal(size=(5, 60)) for seed in range(4)]
    expected = [extract(values, EFFICIENT) for values in batches_of_threads]
    with ThreadPoolExecutor(4) as pool:
        actual = list(pool.map(lambda values: extract(values, EFFICIENT), batches_of_threads * 5))
    np.testing.assert_array_equal(actual, expected * 5)


@pytest.mark.parametrize("hole", [np.nan, np.inf, -np.inf])
def test_a_series_with_a_sample_that_is_no_number_has_no_feature_and_leaves_its_neighbours_alone(hole: float) -> None:
    everything = FeatureSet.from_fc_parameters("ComprehensiveFCParameters")
    whole = 50 + np.random.default_rng(1).normal(size=(3, 80))
    holed = whole.copy()
    holed[1, 17] = hole
    features = extract(holed, everything)
    assert np.isnan(features[1]).all()
    np.testing.assert_array_equal(features[[0, 2]], extract(whole, everything)[[0, 2]])


@pytest.mark.parametrize("calculator", ["ar_coefficient", "augmented_dickey_fuller"])
@pytest.mark.parametrize(
    "series",
    [0.1 * np.arange(60), np.tile([1.0, 2.0, 4.0], 20), 1e12 + np.random.default_rng(2).normal(size=60)],
    ids=["ramp", "period", "offset"],
)
def test_where_a_regression_is_singular_the_answer_is_tsfreshs_to_the_last_bit(
    calculator: str, series: FloatArray
) -> None:
    parameter_sets = comprehensive_parameters()[calculator] or [{}]
    beside = np.stack((np.random.default_rng(3).normal(size=60), series))
    np.testing.assert_array_equal(
        extract(beside, feature_set(calculator))[1], tsfresh_values(calculator, parameter_sets, series)
    )


@pytest.mark.parametrize(
    ("fc_parameters", "series", "by_hand"),
    [
        # words 1, 0, 01 and 11
        ({"lempel_ziv_complexity": [{"bins": 2}]}, [1, 0, 0, 1, 1, 1], [4 / 6]),
        # orders 012 twice, 120 twice and 102 once
        (
            {"permutation_entropy": [{"tau": 1, "dimension": 3}]},
            [4, 7, 9, 10, 6, 11, 3],
            [-2 * 0.4 * math.log(0.4) - 0.2 * math.log(0.2)],
        ),
        ({"number_peaks": [{"n": 1}, {"n": 2}, {"n": 3}]}, [3, 0, 0, 4, 0, 0, 13], [1, 1, 0]),
        # the squares 1, 4, 9, 16 in segments of 2, 1 and 1 samples
        (
            {"energy_ratio_by_chunks": [{"num_segments": 3, "segment_focus": focus} for focus in range(3)]},
            [1, 2, 3, 4],
            [5 / 30, 9 / 30, 16 / 30],
        ),
        # chunks 1, 2 and 3, 5 and 6: means 1.5, 4, 6
        (
            {"agg_linear_trend": [{"attr": "slope", "chunk_len": 2, "f_agg": "mean"}]},
            [1, 2, 3, 5, 6],
            [2.25],
        ),
        # a line through 0 and 4 has r = 1 in two points only; through 0, 1, 5: slope 2.5, intercept -0.5
        (
            {"linear_trend": [{"attr": "slope"}, {"attr": "intercept"}, {"attr": "rvalue"}, {"attr": "stderr"}]},
            [0, 1, 5],
            [2.5, -0.5, 5 / math.sqrt(28), math.sqrt((1 - 25 / 28) * 7)],
        ),
        # inside the quartiles 2 and 4: 2, 3, 4 of 1 2 3 4 5
        (
            {"change_quantiles": [{"ql": 0.25, "qh": 0.75, "isabs": False, "f_agg": "mean"}]},
            [1, 2, 3, 4, 5],
            [1],
        ),
        # deviations -1.5 -0.5 0.5 1.5, sigma 1.118
        ({"ratio_beyond_r_sigma": [{"r": 1}, {"r": 1.5}]}, [1, 2, 3, 4], [0.5, 0]),
        ({"longest_strike_above_mean": None, "longest_strike_below_mean": None}, [1, 2, 9, 9, 1, 9, 9, 9], [3, 2]),
        ({"sum_of_reoccurring_values": None, "sum_of_reoccurring_data_points": None}, [2, 2, 2, 2, 1], [2, 8]),
        (
            {
                "percentage_of_reoccurring_values_to_all_values": None,
                "percentage_of_reoccurring_datapoints_to_all_datapoints": None,
                "ratio_value_number_to_time_series_length": None,
            },
            [1, 1, 2, 3],
            [1 / 3, 1 / 2, 3 / 4],
        ),
        ({"index_mass_quantile": [{"q": 0.5}, {"q": 0.6}]}, [1, 1, 1, 1, 4], [4 / 5, 1]),
        ({"index_mass_quantile": [{"q": 0.5}]}, [4, 1, 1, 1, 1], [1 / 5]),
        ({"fft_coefficient": [{"coeff": 1, "attr": "imag"}, {"coeff": 2, "attr": "abs"}]}, [1, 0, -1, 2], [2, 2]),
        # halves of the range 0 to 8: five samples below 4, three above
        (
            {"binned_entropy": [{"max_bins": 2}]},
            [0, 1, 2, 3, 3, 6, 7, 8],
            [-5 / 8 * math.log(5 / 8) - 3 / 8 * math.log(3 / 8)],
        ),
        ({"mean_n_absolute_max": [{"number_of_maxima": 2}]}, [1, -7, 3, 5], [6]),
        ({"time_reversal_asymmetry_statistic": [{"lag": 1}]}, [1, 2, 4, 7], [((16 * 2 - 2) + (49 * 4 - 4 * 4)) / 2]),
        ({"range_count": [{"min": 1, "max": 3}], "count_above": [{"t": 2}]}, [0, 1, 2, 3], [2, 1 / 2]),
    ],
)
def test_a_feature_has_the_value_worked_out_by_hand(
    fc_parameters: FcParameters, series: list[float], by_hand: list[float]
) -> None:
    features = extract(np.array([series], dtype=np.float64), FeatureSet.from_fc_parameters(fc_parameters))
    np.testing.assert_allclose(features[0], by_hand, rtol=1e-12)


def test_the_first_digits_are_those_of_the_shortest_way_to_write_a_number() -> None:
    # one nine, 3e-5 and 1e23 are written so though the nearest floats lie below; 0 has no first digit
    series = np.array([[0.3, 3e-5, 1e23, 9.999, 0.0, 5e-324]])
    shares = np.array([1, 0, 2, 0, 1, 0, 0, 0, 1]) / 6
    expected = np.corrcoef(np.log10(1 + 1 / np.arange(1, 10)), shares)[0, 1]
    features = extract(series, FeatureSet.from_fc_parameters({"benford_correlation": None}))
    assert features[0, 0] == pytest.approx(expected, rel=1e-12)
