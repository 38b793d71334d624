"""What becomes training data: whole windows, bounded in time, without anomalies, under names."""

import sys
from dataclasses import replace
from types import FrameType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulsetrain.models.training_windows import TrainingWindows, entity_kind, missing_share
from pulsetrain.schemas.feature_window import FeatureWindow, SampleCount

NS = 1_000_000_000
HOUR = 3600
DAY = 24 * HOUR
START = 1_740_830_400
"""A moment in Unix seconds, a multiple of every hop used here."""


def window(
    end: float,
    entity: str = "node7/host",
    values: object = ((1.0, 2.0), (3.0, 4.0)),
    metrics: tuple[str, ...] = ("cpu", "memory"),
    length: float = 30,
    session: str = "s1",
    complete: bool = True,
    measured: int = 300,
) -> FeatureWindow:
    """A window that ends `end` seconds after START; `measured` of the 300 samples of each metric are there."""
    counts = np.zeros((len(metrics), len(SampleCount)), dtype=np.int64)
    counts[:, list(SampleCount).index(SampleCount.EXPECTED)] = 300
    counts[:, list(SampleCount).index(SampleCount.MEASURED)] = measured
    end_ns = int((START + end) * NS)
    return FeatureWindow(
        node=entity.partition("/")[0],
        session=session,
        entity=entity,
        labels={},
        start_ns=end_ns - int(length * NS),
        end_ns=end_ns,
        complete=complete,
        metrics=metrics,
        features=("mean", "variance"),
        values=np.array(values, dtype=np.float64),
        counts=counts,
    )


def at(end: float) -> int:
    return int((START + end) * NS)


def windows(span_seconds: float = HOUR, anomalous_seconds: float = DAY, max_rows: int = 4096) -> TrainingWindows:
    return TrainingWindows(int(span_seconds * NS), int(anomalous_seconds * NS), max_rows)


def normal_ends(buffer: TrainingWindows, kind: str = "host") -> list[float]:
    ends_ns = buffer.matrix(kind, 0, 2**63 - 1).ends_ns
    return [end_ns / NS - START for end_ns in ends_ns.tolist()]


@pytest.mark.parametrize(
    ("entity", "kind"),
    [
        ("node7/host", "host"),
        ("node7/gpu:GPU-5fd4", "gpu"),
        ("team/llama/rank:3", "rank"),
        ("10.0.0.7:9400/host", "host"),
        ("host", "host"),
        ("node7/", ""),
    ],
)
def test_the_kind_stands_between_the_last_slash_and_the_colon(entity: str, kind: str) -> None:
    assert entity_kind(entity) == kind


def test_a_window_becomes_a_row_under_the_names_of_its_columns() -> None:
    buffer = windows()
    assert buffer.add(window(0))

    matrix = buffer.matrix("host", at(0), at(0))

    assert matrix.names == ("cpu__mean", "cpu__variance", "memory__mean", "memory__variance")
    assert matrix.rows.tolist() == [[1.0, 2.0, 3.0, 4.0]]
    assert matrix.ends_ns.tolist() == [at(0)]


def test_the_same_metrics_in_another_order_stand_in_the_same_columns() -> None:
    buffer = windows()
    buffer.add(window(0))
    buffer.add(window(5, metrics=("memory", "cpu"), values=((3.0, 4.0), (1.0, 2.0))))

    assert buffer.matrix("host", at(0), at(5)).rows.tolist() == [[1.0, 2.0, 3.0, 4.0]] * 2


def test_a_window_that_comes_twice_counts_once() -> None:
    buffer = windows()

    assert buffer.add(window(0))
    assert not buffer.add(window(0))
    assert buffer.add(window(0, session="s2"))
    assert normal_ends(buffer) == [0, 0]


def test_an_incomplete_window_is_no_training_data() -> None:
    assert not windows().add(window(0, complete=False))


def test_a_window_with_more_than_a_fifth_missing_is_no_training_data() -> None:
    assert missing_share(window(0, measured=240)) == pytest.approx(0.2)
    assert windows().add(window(0, measured=240))
    assert not windows().add(window(0, measured=239))


def test_a_window_in_which_nothing_was_expected_is_no_training_data() -> None:
    empty = window(0)

    assert not windows().add(replace(empty, counts=np.zeros_like(empty.counts)))


def test_infinite_values_are_missing_values() -> None:
    buffer = windows()
    buffer.add(window(0, values=((np.inf, 2.0), (np.nan, -np.inf))))

    assert np.isnan(buffer.matrix("host", at(0), at(0)).rows).tolist() == [[True, False, True, True]]


def test_six_hours_are_six_hours_at_any_rate() -> None:
    """21,600 samples would be six hours of a metric read every second and 15 days of one read every minute."""
    fast, slow = windows(span_seconds=6 * HOUR), windows(span_seconds=6 * HOUR)
    for second in range(0, 7 * HOUR, 10):
        fast.add(window(second))
    for second in range(0, 15 * DAY, 600):
        slow.add(window(second, length=600))

    assert normal_ends(fast)[0] == 7 * HOUR - 10 - 6 * HOUR
    assert normal_ends(slow)[0] == 15 * DAY - 600 - 6 * HOUR


def test_windows_of_an_unconfirmed_anomaly_never_become_normal() -> None:
    """A temperature of 30 to 80 degrees for an hour, then 100 for six hours, and nobody says a word."""
    buffer = windows(span_seconds=12 * HOUR)
    random = np.random.default_rng(1)
    for second in range(0, 7 * HOUR, 30):
        temperature = random.uniform(30, 80) if second < HOUR else 100.0
        buffer.add(window(second, metrics=("temperature",), values=((temperature, 0.0),)))
        if second >= HOUR:
            buffer.mark_anomalous("node7/host", at(HOUR), at(second))

    matrix = buffer.matrix("host", 0, at(7 * HOUR))

    assert matrix.rows[:, 0].max() <= 80
    assert len(matrix) == HOUR // 30 - 1


def test_windows_within_a_windows_length_of_an_anomaly_are_left_out() -> None:
    buffer = windows()
    buffer.mark_anomalous("node7/host", at(100), at(110))
    for second in range(50, 170, 10):
        buffer.add(window(second, length=30))

    assert normal_ends(buffer) == [50, 60, 150, 160]


def test_an_anomaly_of_one_entity_leaves_the_others_alone() -> None:
    buffer = windows()
    buffer.add(window(100, entity="node7/host"))
    buffer.add(window(100, entity="node8/host"))
    buffer.mark_anomalous("node7/host", at(100), at(100))

    assert len(buffer.matrix("host", at(100), at(100))) == 1


def test_what_was_no_anomaly_after_all_is_normal_again() -> None:
    buffer = windows()
    buffer.add(window(100))
    buffer.mark_anomalous("node7/host", at(100), at(100))
    buffer.mark_normal("node7/host", at(100))

    assert normal_ends(buffer) == [100]


def test_the_windows_of_an_anomaly_are_those_that_end_in_it() -> None:
    buffer = windows()
    for second in range(0, 60, 5):
        buffer.add(window(second))
        buffer.add(window(second, entity="node8/host"))
    buffer.mark_anomalous("node7/host", at(20), at(30))

    assert (buffer.windows_of("node7/host", at(20), at(30)).ends_ns / NS - START).tolist() == [20, 25, 30]


@pytest.mark.parametrize(
    ("start", "end", "ends"),
    [
        (0, 60, [15, 30, 45, 60, 75]),
        (58, 62, [60, 75, 90]),
    ],
)
def test_the_windows_of_a_missed_fault_share_half_of_the_shorter_of_the_two(
    start: float, end: float, ends: list[float]
) -> None:
    buffer = windows()
    for second in range(-60, 180, 15):
        buffer.add(window(second, length=30))

    assert (buffer.windows_during("node7/host", at(start), at(end)).ends_ns / NS - START).tolist() == ends


def test_anomalous_windows_wait_longer_for_their_label_than_normal_ones_stay() -> None:
    buffer = windows(span_seconds=HOUR, anomalous_seconds=DAY, max_rows=8)
    for second in range(0, 60, 5):
        buffer.add(window(second))
    buffer.mark_anomalous("node7/host", at(30), at(30))
    for second in range(5 * HOUR, 5 * HOUR + 300, 5):
        buffer.add(window(second))

    assert len(buffer.windows_of("node7/host", at(30), at(30))) == 1
    assert len(buffer.windows_of("node7/host", at(0), at(0))) == 0


def test_a_column_that_few_windows_have_is_left_out() -> None:
    buffer = windows()
    for index in range(20):
        buffer.add(window(5 * index))
    buffer.add(window(100, metrics=("cpu", "memory", "disk"), values=((1, 2), (3, 4), (5, 6))))

    matrix = buffer.matrix("host", at(0), at(100))

    assert matrix.names == ("cpu__mean", "cpu__variance", "memory__mean", "memory__variance")
    assert len(matrix) == 21


def test_one_window_with_few_metrics_does_not_take_the_columns_of_all() -> None:
    buffer = windows()
    for index in range(20):
        buffer.add(window(5 * index))
    buffer.add(window(100, metrics=("cpu",), values=((1, 2),)))

    matrix = buffer.matrix("host", at(0), at(100))

    assert len(matrix.names) == 4
    assert len(matrix) == 20


def test_no_windows_give_an_empty_matrix() -> None:
    matrix = windows().matrix("host", 0, at(0))

    assert matrix.rows.shape == (0, 0)
    assert windows().normal_span("host") is None


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(120)))
def test_the_sample_is_the_same_in_whatever_order_windows_come_while_all_are_in_the_span(order: list[int]) -> None:
    in_order, shuffled = windows(max_rows=16), windows(max_rows=16)
    for index in range(120):
        in_order.add(window(5 * index))
    for index in order:
        shuffled.add(window(5 * index))

    assert normal_ends(in_order) == normal_ends(shuffled)
    assert len(normal_ends(in_order)) == 16


def test_a_fleet_beyond_the_bound_is_thinned_evenly_over_the_whole_span() -> None:
    buffer = windows(max_rows=200)
    for second in range(0, HOUR, 5):
        for node in range(10):
            buffer.add(window(second, entity=f"node{node}/host"))

    ends = np.array(normal_ends(buffer))
    span = buffer.normal_span("host")

    assert len(ends) == 200
    # 200 draws in four quarters of an hour: 50 each, within five standard deviations of 6.1.
    assert np.abs(np.histogram(ends, bins=4, range=(0, HOUR))[0] - 50).max() <= 31
    assert span is not None
    assert span.length_ns > 0.9 * HOUR * NS
    assert span.windows <= 400


def calls_to_learn_beside(marks: int) -> int:
    """How many Python functions run while windows come and are asked for, beside so many anomalies of the entity."""
    buffer = windows(max_rows=64)
    for number in range(marks):
        buffer.mark_anomalous("node7/host", at(-10 * number - 1000), at(-10 * number - 1000))
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        for index in range(200):
            buffer.add(window(5 * index))
        buffer.normal_span("host")
        buffer.covered_ns("host", NS)
        buffer.matrix("host", at(0), at(1000))
    finally:
        sys.setprofile(before)
    return calls


def test_the_work_of_learning_does_not_grow_with_the_number_of_anomalies() -> None:
    assert calls_to_learn_beside(marks=1000) < 1.1 * calls_to_learn_beside(marks=10)


def test_marks_older_than_the_windows_that_may_be_kept_are_forgotten() -> None:
    buffer = windows(span_seconds=HOUR, anomalous_seconds=DAY, max_rows=8)
    buffer.mark_anomalous("node7/host", at(0), at(10))
    buffer.mark_anomalous("node7/gpu:GPU-5f", at(0), at(10))
    buffer.mark_anomalous("node7/host", at(20), at(DAY))
    for second in range(0, 2 * DAY, 600):
        buffer.add(window(second, length=600))

    assert buffer.marks == 2


def test_the_number_of_kinds_is_bounded() -> None:
    buffer = windows()
    taken = [buffer.add(window(0, entity=f"node7/kind{number}")) for number in range(100)]

    assert sum(taken) == 32
    assert len(buffer.kinds) == 32
