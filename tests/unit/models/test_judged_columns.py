"""Which features of a metric may become columns: the catalogue says what of it can be normal or not."""

import numpy as np

from pulsetrain.models.columns import choose_columns
from pulsetrain.models.selection.report import DropReason
from pulsetrain.schemas.columns import column_names

FEATURES = (
    "mean",
    "standard_deviation",
    "maximum",
    'linear_trend__attr_"slope"',
    'linear_trend__attr_"intercept"',
)


def _reasons(metric: str) -> dict[str, DropReason]:
    names = column_names((metric, "vendor.gauge"), FEATURES)
    rows = np.random.default_rng(0).normal(size=(60, len(names)))
    report = choose_columns(rows, names)
    return {dropped.name.partition("__")[2]: dropped.reason for dropped in report.dropped}


def test_of_a_page_cache_only_the_features_that_a_constant_does_not_change_are_judged() -> None:
    assert _reasons("system.memory.usage{system.memory.state=cached}") == {
        "mean": DropReason.NOT_JUDGED,
        "maximum": DropReason.NOT_JUDGED,
        'linear_trend__attr_"intercept"': DropReason.NOT_JUDGED,
    }


def test_nothing_is_judged_of_a_mean_that_the_kernel_keeps_over_minutes() -> None:
    assert _reasons("system.cpu.load_average.5m") == dict.fromkeys(FEATURES, DropReason.NOT_JUDGED)


def test_utilisation_and_metrics_that_nobody_knows_are_judged_by_every_feature() -> None:
    assert _reasons("system.cpu.utilization{cpu.mode=user}") == {}
    assert _reasons("vendor.other") == {}
