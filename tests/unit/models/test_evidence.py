"""Evidence: which metrics deviate, by which feature, by how many sigma."""

import numpy as np

from pulsetrain.models.evidence import Deviation, top_deviations

COLUMNS = ("cpu__mean", "cpu__maximum", "disk__mean", "disk__autocorrelation__lag_1")


def test_each_metric_appears_once_by_its_largest_deviation_in_either_direction() -> None:
    found = top_deviations(
        COLUMNS, np.array([0.9, 1.0, 3.0, -0.5]), np.array([12.0, 4.0, 2.0, -30.0]), np.array([0.2, 0.4, 2.5, 0.7])
    )

    assert found == (
        Deviation("disk", "autocorrelation__lag_1", -0.5, 0.7, -30.0),
        Deviation("cpu", "mean", 0.9, 0.2, 12.0),
    )


def test_no_more_metrics_than_asked_for_are_named() -> None:
    names = [f"m{i}__mean" for i in range(10)]

    found = top_deviations(names, np.zeros(10), np.arange(10.0), np.zeros(10), metrics=3)

    assert [deviation.metric for deviation in found] == ["m9", "m8", "m7"]
