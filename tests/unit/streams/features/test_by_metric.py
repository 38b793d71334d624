"""Each metric may have a feature set of its own, as in tsfresh's ``kind_to_fc_parameters``."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tsfresh.feature_extraction import extract_features

from pulsetrain.schemas.columns import column_name
from pulsetrain.streams.features import DEFAULT_FEATURE_SET, FcParameters, FeatureError, FeatureSets, extract
from pulsetrain.streams.features.by_metric import MAX_METRICS

METRICS = ("cpu", "gpu", "loss")


def test_the_values_are_those_of_extract_features_with_the_same_sets_and_nan_elsewhere() -> None:
    default: FcParameters = {"mean": None, "quantile": [{"q": 0.9}]}
    by_metric: dict[str, FcParameters | str] = {"gpu": {"maximum": None, "mean": None}, "loss": {"c3": [{"lag": 2}]}}
    values = np.random.default_rng(1).normal(size=(3, 40))
    sets = FeatureSets.from_fc_parameters(default, by_metric)
    frame = pd.DataFrame({"window": 0, "tick": range(40), **dict(zip(METRICS, values, strict=True))})
    expected = extract_features(
        frame,
        column_id="window",
        column_sort="tick",
        default_fc_parameters=default,
        kind_to_fc_parameters=by_metric,
        n_jobs=0,
        disable_progressbar=True,
    )
    features = sets.extract(values, METRICS)
    actual = {
        column_name(metric, suffix): value
        for metric, row in zip(METRICS, features, strict=True)
        for suffix, value in zip(sets.suffixes, row, strict=True)
        if not np.isnan(value)
    }
    assert actual.keys() == set(expected.columns)
    for column, value in actual.items():
        assert value == pytest.approx(expected[column].iloc[0], rel=1e-12)


def test_a_window_has_the_columns_of_its_metrics_sets_each_once() -> None:
    sets = FeatureSets.from_fc_parameters(
        {"mean": None, "median": None}, {"gpu": {"maximum": None, "mean": None}, "loss": {"c3": [{"lag": 2}]}}
    )
    assert sets.suffixes == ("mean", "median", "maximum", "c3__lag_2")
    assert sets.layout(("cpu",)).suffixes == ("mean", "median")
    assert sets.layout(("gpu",)).suffixes == ("mean", "maximum")
    assert sets.layout(("gpu", "loss")).suffixes == ("mean", "maximum", "c3__lag_2")
    features = np.array([[0.0, 1.0, 2.0, 3.0]])
    assert features[:, sets.layout(("gpu", "loss")).columns].tolist() == [[0.0, 2.0, 3.0]]
    assert features[:, sets.layout(METRICS).columns].tolist() == features.tolist()
    assert sets.layout(("gpu", "loss")).suffixes is sets.layout(("gpu", "loss")).suffixes


def test_without_sets_of_their_own_all_metrics_have_the_default_set() -> None:
    values = np.random.default_rng(2).normal(size=(3, 40))
    sets = FeatureSets.from_fc_parameters()
    assert sets.layout(METRICS).suffixes == DEFAULT_FEATURE_SET.suffixes
    np.testing.assert_array_equal(sets.extract(values, METRICS), extract(values, DEFAULT_FEATURE_SET))


def test_a_metric_may_have_one_of_the_sets_of_tsfresh_by_name() -> None:
    sets = FeatureSets.from_fc_parameters(None, {"gpu": "MinimalFCParameters"})
    assert sets.for_metric("gpu").suffixes[:3] == ("sum_values", "median", "mean")
    assert sets.for_metric("cpu") is DEFAULT_FEATURE_SET


@pytest.mark.parametrize(
    ("by_metric", "message"),
    [
        ({"gpu": {"meen": None}}, "feature set of the metric gpu: tsfresh has no feature calculator 'meen'"),
        ({"gpu": {}}, "feature set of the metric gpu: the feature set names no feature"),
        ({"gpu": "FastFCParameters"}, "metric gpu: tsfresh has no feature set 'FastFCParameters'; choose Minimal"),
        ({str(number): {} for number in range(MAX_METRICS + 1)}, "1001 metrics .* at most 1000"),
    ],
)
def test_a_wrong_set_of_a_metric_is_one_error_that_names_the_metric(by_metric: Any, message: str) -> None:
    with pytest.raises(FeatureError, match=message):
        FeatureSets.from_fc_parameters(None, by_metric)
