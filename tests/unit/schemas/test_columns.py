"""Column names against tsfresh's own reading of them."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tsfresh.feature_extraction.data import WideTsFrameAdapter
from tsfresh.feature_extraction.settings import from_columns

from pulsetrain.schemas.columns import column_name, column_names, kind_metric, metric_kind, split_column

METRICS = st.text(alphabet="ab._~01", min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("metric", "kind"),
    [
        ("system.cpu.utilization", "system.cpu.utilization"),
        ("gpu__util", "gpu~1_util"),
        ("gpu_util_", "gpu_util~1"),
        ("a~1b", "a~01b"),
    ],
)
def test_only_ambiguous_underscores_and_the_escape_itself_are_escaped(metric: str, kind: str) -> None:
    assert metric_kind(metric) == kind
    assert kind_metric(kind) == metric


@given(METRICS)
def test_a_metric_survives_the_way_through_its_column(metric: str) -> None:
    assert split_column(column_name(metric, "autocorrelation__lag_1")) == (metric, "autocorrelation__lag_1")


@given(METRICS, METRICS)
def test_two_metrics_never_share_a_column(one: str, other: str) -> None:
    assert (column_name(one, "mean") == column_name(other, "mean")) == (one == other)


@given(METRICS)
def test_tsfresh_accepts_every_kind_and_reads_its_columns_back(metric: str) -> None:
    kind = metric_kind(metric)

    WideTsFrameAdapter(pd.DataFrame({"id": [1], kind: [1.0]}), column_id="id", value_columns=[kind])

    assert from_columns([column_name(metric, "autocorrelation__lag_5")]) == {kind: {"autocorrelation": [{"lag": 5}]}}


def test_columns_stand_in_the_row_major_order_of_a_windows_values() -> None:
    assert column_names(["a", "b"], ["mean", "c3__lag_3"]) == ("a__mean", "a__c3__lag_3", "b__mean", "b__c3__lag_3")


def test_equal_layouts_share_one_tuple() -> None:
    assert column_names(["a"], ["mean"]) is column_names(["a"], ["mean"])


@pytest.mark.parametrize("column", ["", "mean", "__mean", "cpu__"])
def test_a_name_without_both_parts_is_refused(column: str) -> None:
    with pytest.raises(ValueError, match="names no feature"):
        split_column(column)
