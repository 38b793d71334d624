"""Anomalies open, are revised and close; a window that comes twice changes nothing."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.schemas.anomaly import Anomaly, AnomalyState, Model
from pulsetrain.schemas.feature_window import FeatureWindow, SampleCount
from pulsetrain.streams.verdicts import CLEAR_AFTER_WINDOWS, Judgement, State, data_quality, is_repeated, judge

SECOND = 1_000_000_000


def _window(end_s: int, session: str = "s1", counts: list[list[int]] | None = None) -> FeatureWindow:
    return FeatureWindow(
        node="node-1",
        session=session,
        entity="node-1/host",
        labels={"job": "llm"},
        start_ns=(end_s - 30) * SECOND,
        end_ns=end_s * SECOND,
        complete=True,
        metrics=("m",),
        features=("mean",),
        values=np.array([[1.0]]),
        counts=np.array(counts or [[300, 300] + [0] * (len(SampleCount) - 2)]),
    )


def _judgement(*, flagged: bool) -> Judgement:
    return Judgement(flagged, False, 1.0, (), (), Model(name="host", version=1), 0)


def _run(flags: list[bool | None], state: State | None = None) -> tuple[State, list[Anomaly]]:
    """Judges one window a hop of 5 s; None is a window that was not scored."""
    state, anomalies = state or {}, []
    for index, flag in enumerate(flags):
        judgement = None if flag is None else _judgement(flagged=flag)
        state, anomaly = judge(state, _window(100 + 5 * index), judgement)
        if anomaly:
            anomalies.append(anomaly)
    return state, anomalies


def test_an_anomaly_opens_at_its_first_flagged_window_and_closes_after_three_clear_ones() -> None:
    # windows end at 100  105   110    115    120
    state, anomalies = _run([False, True, True, False, False, False])
    assert [(a.revision, a.state, a.flagged_windows) for a in anomalies] == [
        (0, AnomalyState.OPEN, 1),
        (1, AnomalyState.OPEN, 2),
        (2, AnomalyState.CLOSED, 2),
    ]
    assert {a.id for a in anomalies} == {"node-1/host@19700101T000145.000Z:detect"}
    assert state["open"] is None


def test_missing_data_neither_opens_nor_closes_an_anomaly() -> None:
    _, anomalies = _run([True] + [None] * (2 * CLEAR_AFTER_WINDOWS))
    assert [a.state for a in anomalies] == [AnomalyState.OPEN]


def test_a_new_flag_before_the_close_continues_the_same_anomaly() -> None:
    _, anomalies = _run([True, False, False, True])
    assert len({a.id for a in anomalies}) == 1
    assert [a.flagged_windows for a in anomalies] == [1, 2]


def test_a_window_that_comes_twice_is_recognised_also_after_the_next_session_began() -> None:
    state: State = {}
    for window in (_window(100), _window(105), _window(110, session="s2")):
        assert not is_repeated(state, window)
        state, _ = judge(state, window, _judgement(flagged=True))
    assert is_repeated(state, _window(105))
    assert is_repeated(state, _window(110, session="s2"))
    assert not is_repeated(state, _window(115, session="s2"))


def test_windows_of_an_agent_that_starts_over_and_over_are_recognised() -> None:
    state: State = {}
    windows = [_window(100 + 8 * start, session=f"s{start}") for start in range(16)]
    for window in windows:
        state, _ = judge(state, window, _judgement(flagged=False))
    assert all(is_repeated(state, window) for window in windows)


def test_the_clock_of_a_new_session_may_be_behind_that_of_the_last() -> None:
    state, _ = judge({}, _window(1000), _judgement(flagged=False))
    assert not is_repeated(state, _window(500, session="s2"))


@given(flags=st.lists(st.sampled_from([True, False, None]), max_size=30), cut=st.integers(0, 30))
def test_a_state_that_went_through_its_changelog_gives_the_same_verdicts(flags: list[bool | None], cut: int) -> None:
    whole = _run(flags)
    state, before = _run(flags[:cut])
    restored: State = json.loads(json.dumps(state))
    after = []
    for index, flag in enumerate(flags[cut:], start=cut):
        judgement = None if flag is None else _judgement(flagged=flag)
        restored, anomaly = judge(restored, _window(100 + 5 * index), judgement)
        after += [anomaly] if anomaly else []
    assert (restored, before + after) == whole


@given(flags=st.lists(st.booleans(), max_size=40))
def test_revisions_of_an_anomaly_count_from_zero_without_a_gap(flags: list[bool]) -> None:
    _, anomalies = _run(list(flags))
    for anomaly_id in {a.id for a in anomalies}:
        revisions = [a.revision for a in anomalies if a.id == anomaly_id]
        assert revisions == list(range(len(revisions)))


def test_the_state_of_an_entity_is_never_falsy_because_a_table_would_lose_it() -> None:
    # faust-streaming/faust #171: a restored key whose newest value is falsy is gone
    state, _ = judge({}, _window(100), None)
    assert state


def test_data_quality_is_in_shares_of_the_samples_expected() -> None:
    row = dict.fromkeys(SampleCount, 0) | {
        SampleCount.EXPECTED: 100,
        SampleCount.MEASURED: 60,
        SampleCount.RESAMPLED: 20,
        SampleCount.FILLED: 10,
        SampleCount.LATE: 5,
        SampleCount.INVALID: 2,
    }
    quality = data_quality(_window(100, counts=[list(row.values())]), imputed_columns=3)
    assert quality.missing == pytest.approx(0.2)
    assert quality.filled == pytest.approx(0.1)
    assert quality.late == pytest.approx(0.05)
    assert quality.invalid == pytest.approx(0.02)
    assert quality.imputed_columns == 3
