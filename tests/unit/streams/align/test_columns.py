"""What the catalogue says about a source's metrics is worked out once, within bounds."""

from pulsetrain.streams.align import columns
from pulsetrain.streams.align.columns import MAX_REMEMBERED_METRICS, metric_columns


def test_what_very_many_metrics_are_is_not_remembered() -> None:
    names = tuple(f"acme.{number}" for number in range(MAX_REMEMBERED_METRICS + 1))
    before = columns._remembered.cache_info().currsize
    assert metric_columns(names).gauge_names == names
    assert columns._remembered.cache_info().currsize == before
