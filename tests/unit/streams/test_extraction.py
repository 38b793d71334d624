"""From a closed window to feature windows, with features small enough to be worked out by hand."""

from dataclasses import replace

import numpy as np

from pulsetrain.schemas.feature_window import SampleCount, decode_feature_window, encode_feature_window
from pulsetrain.streams.extraction import feature_windows
from pulsetrain.streams.features import FeatureSets
from pulsetrain.streams.settings import WindowSettings
from pulsetrain.streams.windows import ClosedWindow, EntityWindow, SourceWindow

SECOND = 1_000_000_000
START = 1_800_000_000 * SECOND
SETTINGS = WindowSettings(length_seconds=4, hop_seconds=4)
FEATURES = FeatureSets.from_fc_parameters({"mean": None, "maximum": None, "linear_trend": [{"attr": "slope"}]})
DEFAULT = FeatureSets.from_fc_parameters()

GAUGE = "acme.load"
COUNTER = "system.linux.context_switches"


def source(
    columns: dict[str, list[float]],
    seconds: list[float],
    collector: str = "host",
    interval_ns: int = SECOND,
    reboot_rows: tuple[int, ...] = (),
) -> SourceWindow:
    nothing = np.zeros(len(columns), dtype=np.int64)
    return SourceWindow(
        collector=collector,
        interval_ns=interval_ns,
        metrics=tuple(columns),
        ticks_ns=START + np.array([round(second * SECOND) for second in seconds], dtype=np.int64),
        values=np.array(list(columns.values()), dtype=np.float64).T.reshape(len(seconds), len(columns)),
        reboot_rows=np.array(reboot_rows, dtype=np.int64),
        late=nothing + 1,
        out_of_order=nothing + 2,
        not_finite=nothing + 3,
        sentinel=nothing + 4,
        out_of_range=nothing + 5,
    )


def closed(*entities: EntityWindow, complete: bool = True) -> ClosedWindow:
    return ClosedWindow("n", "s", START, START + 4 * SECOND, complete, entities)


def test_gauges_are_taken_as_they_are_and_counters_as_rates() -> None:
    # gauge     1  2  3  4    mean 2.5, maximum 4, slope 1
    # counter   0  5 15 30    rates 5, 10, 15: mean 10, maximum 15, slope 5
    host = source({COUNTER: [0, 5, 15, 30], GAUGE: [1, 2, 3, 4]}, [0, 1, 2, 3])
    [window] = feature_windows(closed(EntityWindow("n/host", {"job": "j"}, (host,))), FEATURES, SETTINGS)
    assert window.metrics == (GAUGE, COUNTER)
    assert window.features == ("mean", "maximum", 'linear_trend__attr_"slope"')
    np.testing.assert_allclose(window.values, np.array([[2.5, 4.0, 1.0], [10.0, 15.0, 5.0]]), rtol=1e-12)
    expected = {
        SampleCount.EXPECTED: [4, 3],
        SampleCount.MEASURED: [4, 3],
        SampleCount.RESAMPLED: [0, 0],
        SampleCount.FILLED: [0, 0],
        SampleCount.LATE: [1, 1],
        SampleCount.OUT_OF_ORDER: [2, 2],
        SampleCount.INVALID: [12, 12],
        SampleCount.NOT_FINITE: [3, 3],
        SampleCount.SENTINEL: [4, 4],
        SampleCount.OUT_OF_RANGE: [5, 5],
    }
    assert {name: window.counts[:, column].tolist() for column, name in enumerate(SampleCount)} == expected
    assert (window.node, window.session, window.entity, window.labels) == ("n", "s", "n/host", {"job": "j"})
    assert (window.start_ns, window.end_ns, window.complete) == (START, START + 4 * SECOND, True)


def test_a_counter_has_no_rate_across_a_reboot() -> None:
    # counter 0  100 | 400  500    the rates are 100, none and 100, of which the middle one is filled
    host = source({COUNTER: [0, 100, 400, 500]}, [0, 1, 2, 3], reboot_rows=(2,))
    [window] = feature_windows(closed(EntityWindow("n/host", {}, (host,))), FEATURES, SETTINGS)
    np.testing.assert_allclose(window.values[0, :2], [100, 100], rtol=1e-12)
    assert (window.counts[0, 1], window.counts[0, 3]) == (2, 1)


def test_between_the_samples_of_a_slow_source_a_state_is_held_and_a_measure_interpolated() -> None:
    # grid       0      1      2      3
    # sample       0.4    1.4    2.4     3.4
    # held              31     31     79       point 0 is held from point 1, as filled
    # power             16     26     36       10 a second: 10 at 0.4, so 16 at 1
    gpu = source({"hw.gpu.last_xid": [31, 31, 79, 79], "hw.power{hw.type=gpu}": [10, 20, 30, 40]}, [0.4, 1.4, 2.4, 3.4])
    features = FeatureSets.from_fc_parameters({"minimum": None, "maximum": None})
    [window] = feature_windows(closed(EntityWindow("n/gpu:0", {}, (gpu,))), features, SETTINGS)
    np.testing.assert_allclose(window.values, [[31, 79], [16, 36]], rtol=1e-12)
    assert window.counts[:, :4].tolist() == [[4, 0, 3, 1]] * 2


def test_each_window_of_a_node_carries_its_clock_offset() -> None:
    host = EntityWindow("n/host", {}, (source({GAUGE: [1, 2, 3, 4]}, [0, 1, 2, 3]),))
    gpu = EntityWindow("n/gpu:0", {}, (source({"a": [1, 1]}, [0, 2]),))
    windows = feature_windows(replace(closed(gpu, host), clock_offset_ns=-7), FEATURES, SETTINGS)
    assert [window.clock_offset_ns for window in windows] == [-7, -7]


def test_each_entity_has_a_window_of_its_own_with_its_own_rates() -> None:
    host = EntityWindow("n/host", {}, (source({GAUGE: [1, 2, 3, 4]}, [0, 1, 2, 3]),))
    gpu = EntityWindow("n/gpu:0", {}, (source({"b": [5, 7], "a": [1, 1]}, [0, 2], interval_ns=2 * SECOND),))
    first, second = feature_windows(closed(gpu, host, complete=False), FEATURES, SETTINGS)
    assert (first.entity, first.metrics, second.entity, second.metrics) == ("n/gpu:0", ("a", "b"), "n/host", (GAUGE,))
    np.testing.assert_allclose(first.values[:, :2], [[1, 1], [6, 7]], rtol=1e-12)
    np.testing.assert_allclose(second.values[:, :2], [[2.5, 4]], rtol=1e-12)
    assert not first.complete


def test_a_metric_with_a_gap_beyond_the_limit_has_no_features_and_others_keep_theirs() -> None:
    settings = WindowSettings(length_seconds=4, hop_seconds=4, fill_limit_intervals=1)
    host = source({"a": [1, np.nan, np.nan, 4], "b": [1, np.nan, 3, 4]}, [0, 1, 2, 3])
    [window] = feature_windows(closed(EntityWindow("n/host", {}, (host,))), FEATURES, settings)
    assert np.isnan(window.values[0]).all()
    np.testing.assert_allclose(window.values[1], [2.5, 4, 1], rtol=1e-12)
    assert window.counts[:, 1].tolist() == [2, 3]
    assert window.counts[:, 3].tolist() == [0, 1]


def test_of_two_collectors_with_the_same_metric_the_first_by_name_gives_it() -> None:
    sources = (
        source({GAUGE: [1, 1, 1, 1], "b": [2, 2, 2, 2]}, [0, 1, 2, 3], collector="cadvisor"),
        source({GAUGE: [9, 9, 9, 9], "c": [3, 3, 3, 3]}, [0, 1, 2, 3], collector="host"),
    )
    [window] = feature_windows(closed(EntityWindow("n/host", {}, sources)), FEATURES, SETTINGS)
    assert window.metrics == (GAUGE, "b", "c")
    assert window.values[:, 0].tolist() == [1, 2, 3]


def test_a_collector_that_has_no_value_of_a_metric_leaves_it_to_the_next() -> None:
    # As NVML does on a GPU that counts only through DCGM.
    missing = [np.nan] * 4
    sources = (
        source({GAUGE: missing, COUNTER: [0, 5, 15, 30], "nobody": missing}, [0, 1, 2, 3], collector="nvml"),
        source({GAUGE: [9, 9, 9, 9], COUNTER: missing, "nobody": missing}, [0, 1, 2, 3], collector="scrape_dcgm"),
    )
    [window] = feature_windows(closed(EntityWindow("n/gpu:a", {}, sources)), FEATURES, SETTINGS)
    assert window.metrics == (GAUGE, "nobody", COUNTER)
    np.testing.assert_array_equal(window.values[:, 0], [9, np.nan, 10])
    assert window.counts[:, 1].tolist() == [4, 0, 3]


def test_an_entity_with_nothing_but_late_samples_has_a_window_without_features() -> None:
    late = source({GAUGE: [], COUNTER: []}, [])
    [window] = feature_windows(closed(EntityWindow("n/host", {}, (late,))), DEFAULT, SETTINGS)
    assert np.isnan(window.values).all()
    assert window.counts[:, 1].tolist() == [0, 0]
    assert window.counts[:, 4].tolist() == [1, 1]


def test_a_source_slower_than_the_window_has_no_features() -> None:
    slow = source({GAUGE: [1], COUNTER: [1]}, [2], interval_ns=60 * SECOND)
    [window] = feature_windows(closed(EntityWindow("n/host", {}, (slow,))), FEATURES, SETTINGS)
    assert window.values.shape == (2, 3)
    assert np.isnan(window.values).all()


def test_a_feature_window_survives_the_wire() -> None:
    host = source({COUNTER: [0, 5, 15, 30], GAUGE: [1, 2, 3, 4]}, [0, 1, 2, 3])
    [window] = feature_windows(closed(EntityWindow("n/host", {}, (host,))), DEFAULT, SETTINGS)
    decoded = decode_feature_window(encode_feature_window(window))
    np.testing.assert_array_equal(decoded.values, window.values)
    np.testing.assert_array_equal(decoded.counts, window.counts)
    assert (decoded.metrics, decoded.features) == (window.metrics, window.features)


def test_each_metric_has_the_features_of_its_own_set() -> None:
    sets = FeatureSets.from_fc_parameters({"mean": None, "maximum": None}, {"b": {"minimum": None, "maximum": None}})
    both = source({"b": [5, 6, 7, 8], "a": [1, 2, 3, 4]}, [0, 1, 2, 3])
    [window] = feature_windows(closed(EntityWindow("n/host", {}, (both,))), sets, SETTINGS)
    assert (window.metrics, window.features) == (("a", "b"), ("mean", "maximum", "minimum"))
    np.testing.assert_array_equal(window.values, [[2.5, 4, np.nan], [np.nan, 8, 5]])


def test_a_window_has_no_column_that_none_of_its_metrics_can_have() -> None:
    sets = FeatureSets.from_fc_parameters({"mean": None}, {"b": {"minimum": None}})
    [window] = feature_windows(
        closed(EntityWindow("n/host", {}, (source({"a": [1, 2, 3, 4]}, [0, 1, 2, 3]),))), sets, SETTINGS
    )
    assert window.features == ("mean",)
    assert window.values.tolist() == [[2.5]]
