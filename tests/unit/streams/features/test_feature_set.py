"""A feature set is any tsfresh ``fc_parameters`` dict: names, order, kernels or tsfresh's calculators, errors."""

import logging
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from tsfresh.feature_extraction import (
    ComprehensiveFCParameters,
    EfficientFCParameters,
    MinimalFCParameters,
    feature_calculators,
)

from pulsetrain.schemas.columns import column_names
from pulsetrain.streams.features import DEFAULT_FEATURE_SET, FeatureError, FeatureSet, extract
from pulsetrain.streams.features.names import feature_suffix
from tests.unit.streams.features.tsfresh_oracle import (
    comprehensive_parameters,
    tsfresh_frame,
    tsfresh_suffix,
)


def test_the_default_set_has_eighteen_features_in_this_order() -> None:
    assert DEFAULT_FEATURE_SET.suffixes == (
        "mean",
        "variance",
        "standard_deviation",
        "autocorrelation__lag_1",
        "autocorrelation__lag_5",
        "c3__lag_3",
        "minimum",
        "maximum",
        "median",
        "quantile__q_0.1",
        "quantile__q_0.9",
        'linear_trend__attr_"slope"',
        "mean_abs_change",
        "cid_ce__normalize_False",
        "cid_ce__normalize_True",
        "abs_energy",
        "skewness",
        "kurtosis",
    )


@pytest.mark.parametrize("settings", [MinimalFCParameters, EfficientFCParameters, ComprehensiveFCParameters])
def test_a_settings_object_of_tsfresh_gives_the_columns_and_values_of_extract_features(settings: type[Any]) -> None:
    values = np.random.default_rng(11).normal(50, 10, size=(3, 60))
    expected = tsfresh_frame(values, settings())
    feature_set = FeatureSet.from_fc_parameters(settings())
    assert tuple(expected.columns) == column_names(["metric"], feature_set.suffixes)
    np.testing.assert_allclose(extract(values, feature_set), expected.to_numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("settings", [MinimalFCParameters, EfficientFCParameters, ComprehensiveFCParameters])
def test_a_set_of_tsfresh_may_be_given_by_its_name(settings: type[Any]) -> None:
    by_name = FeatureSet.from_fc_parameters(settings.__name__)
    assert by_name.suffixes == FeatureSet.from_fc_parameters(settings()).suffixes


def test_names_are_written_as_tsfresh_writes_them() -> None:
    for calculator, parameter_sets in comprehensive_parameters().items():
        for parameters in parameter_sets or [{}]:
            assert feature_suffix(calculator, parameters) == tsfresh_suffix(calculator, parameters)


def test_columns_keep_the_order_of_the_dict_and_of_its_lists() -> None:
    forwards = FeatureSet.from_fc_parameters(
        {
            "maximum": None,
            "linear_trend": [{"attr": "pvalue"}, {"attr": "slope"}, {"attr": "stderr"}, {"attr": "rvalue"}],
            "benford_correlation": None,
            "quantile": [{"q": 0.9}, {"q": 0.1}],
        }
    )
    assert forwards.suffixes == (
        "maximum",
        'linear_trend__attr_"pvalue"',
        'linear_trend__attr_"slope"',
        'linear_trend__attr_"stderr"',
        'linear_trend__attr_"rvalue"',
        "benford_correlation",
        "quantile__q_0.9",
        "quantile__q_0.1",
    )
    backwards = FeatureSet.from_fc_parameters(
        {
            "quantile": [{"q": 0.1}, {"q": 0.9}],
            "benford_correlation": None,
            "linear_trend": [{"attr": "rvalue"}, {"attr": "stderr"}, {"attr": "slope"}, {"attr": "pvalue"}],
            "maximum": None,
        }
    )
    assert backwards.suffixes == forwards.suffixes[::-1]
    values = np.random.default_rng(12).normal(size=(4, 30))
    np.testing.assert_array_equal(extract(values, backwards), extract(values, forwards)[:, ::-1])


def test_kernels_need_neither_tsfresh_nor_pandas() -> None:
    program = (
        "import sys, numpy; from pulsetrain.streams.features import DEFAULT_FEATURE_SET, extract;"
        "extract(numpy.ones((2, 30)), DEFAULT_FEATURE_SET);"
        "sys.exit('tsfresh' in sys.modules or 'pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_set_does_not_change_with_the_dict_it_was_made_from() -> None:
    fc_parameters = {"quantile": [{"q": 0.5}], "benford_correlation": None}
    feature_set = FeatureSet.from_fc_parameters(fc_parameters)
    quantiles = fc_parameters["quantile"]
    assert quantiles is not None
    quantiles[0]["q"] = 0.0
    assert feature_set.suffixes[0] == "quantile__q_0.5"
    assert extract(np.array([[1.0, 2.0, 9.0]]), feature_set)[0, 0] == 2.0


@pytest.mark.parametrize(
    ("fc_parameters", "message"),
    [
        ({"no_such_calculator": None}, "no feature calculator 'no_such_calculator'"),
        ({"convert_to_output_format": None}, "no feature calculator 'convert_to_output_format'"),
        ({"autocorrelation": None}, "autocorrelation takes lag: an integer of at least 0, not {}"),
        ({"autocorrelation": [{"lag": -1}]}, "at least 0, not {'lag': -1}"),
        ({"autocorrelation": [{"lag": 1.0}]}, "at least 0, not {'lag': 1.0}"),
        ({"autocorrelation": [{"lag": True}]}, "at least 0, not {'lag': True}"),
        ({"c3": [{"lags": 3}]}, "c3 takes lag: an integer of at least 0, not {'lags': 3}"),
        ({"quantile": [{"q": 0.5}, {"q": 1.5}]}, "quantile takes q: a number from 0 to 1, not {'q': 1.5}"),
        ({"quantile": [{"q": float("nan")}]}, "a number from 0 to 1, not {'q': nan}"),
        ({"cid_ce": [{"normalize": "yes"}]}, "cid_ce takes normalize: true or false, not"),
        ({"mean": [{"lag": 1}]}, "mean takes no parameters, not {'lag': 1}"),
        ({"linear_trend": [{"attr": "slop"}]}, "'linear_trend' refuses .*slop"),
        ({"linear_trend": None}, "'linear_trend' refuses"),
        ({"symmetry_looking": [{"radius": 0.1}]}, "'symmetry_looking' refuses .*radius"),
        ({"number_peaks": [{"n": "three"}]}, "'number_peaks' refuses .*three"),
        ({"mean": "abc"}, "mean: parameters are a list of mappings or None"),
        ({"quantile": {"q": 0.5}}, "quantile: parameters are a list of mappings or None"),
        ({"quantile": [{"q": 0.5}, {"q": 0.5}]}, "quantile__q_0.5 more than once"),
        ({len: None}, "by its name in tsfresh, not by <built-in"),
        ({}, "names no feature"),
        (["mean"], "mapping of calculators to parameters"),
        ("FastFCParameters", "no feature set 'FastFCParameters'; choose MinimalFCParameters, EfficientFCParameters"),
        ({"quantile": [{"q": number / 3000} for number in range(2001)]}, "names 2001 features; at most 2000"),
    ],
)
def test_a_wrong_set_is_one_clear_error_when_it_is_made(fc_parameters: Any, message: str) -> None:
    with pytest.raises(FeatureError, match=message):
        FeatureSet.from_fc_parameters(fc_parameters)


def test_a_calculator_that_needs_times_is_left_out_as_in_tsfresh_and_said_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        feature_set = FeatureSet.from_fc_parameters(
            {"mean": None, "linear_trend_timewise": [{"attr": "slope"}], "median": None}
        )
    assert feature_set.suffixes == ("mean", "median")
    assert "linear_trend_timewise left out" in caplog.text


def test_a_calculator_that_fails_at_a_series_leaves_its_value_missing_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def shorter_than_fifty(x: Any) -> float:
        if len(x) < 50:
            raise IndexError("too short")
        return float(len(x))

    monkeypatch.setattr(shorter_than_fifty, "fctype", "simple", raising=False)
    monkeypatch.setattr(feature_calculators, "shorter_than_fifty", shorter_than_fifty, raising=False)
    feature_set = FeatureSet.from_fc_parameters({"shorter_than_fifty": None, "mean": None})
    assert extract(np.ones((2, 50)), feature_set).tolist() == [[50.0, 1.0], [50.0, 1.0]]
    with caplog.at_level(logging.WARNING):
        features = extract(np.ones((2, 3)), feature_set)
    np.testing.assert_array_equal(features, [[np.nan, 1.0], [np.nan, 1.0]])
    assert "shorter_than_fifty failed at 2 of 2 series of 3 samples" in caplog.text
