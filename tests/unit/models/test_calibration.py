"""Cuts against distributions whose quantiles are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.models.calibration import alarm_probability, calibrate, fit_tail, new_window_stretch, time_folds
from pulsetrain.models.detectors import VOTES_NEEDED
from pulsetrain.models.errors import DegenerateTrainingSetError
from pulsetrain.schemas.arrays import FloatArray

SECOND_NS = 1_000_000_000
NO_FLOORS = np.zeros(3)


def test_one_false_alarm_a_day_is_one_run_of_overlapping_windows() -> None:
    # 30 s windows each 5 s: 17,280 a day, and an alarm flags the six that share its samples.
    assert alarm_probability(1.0, 30 * SECOND_NS, 5 * SECOND_NS) == pytest.approx(6 / 17_280)


def test_the_tail_of_exponential_scores_is_extrapolated_to_their_true_quantile() -> None:
    scores = np.random.default_rng(0).exponential(size=5000)

    tail = fit_tail(scores)

    assert tail.score_at(-np.log(1e-5)) == pytest.approx(-np.log(1e-5), rel=0.15)
    assert tail.rarity(np.array([5.0]))[0] == pytest.approx(5.0, rel=0.15)


def test_scores_that_end_somewhere_get_a_cut_just_beyond() -> None:
    scores = np.random.default_rng(0).uniform(size=500)

    assert 1.0 <= fit_tail(scores).score_at(-np.log(1e-5)) < 1.5


@pytest.mark.parametrize("dependence", [0.0, 0.7, 1.0])
def test_the_vote_flags_new_normal_windows_about_as_often_as_wanted(dependence: float) -> None:
    random = np.random.default_rng(1)

    def scores(count: int) -> FloatArray:
        common, own = random.normal(size=(count, 1)), random.normal(size=(count, 3))
        mixed: FloatArray = np.sqrt(dependence) * common + np.sqrt(1 - dependence) * own
        return mixed

    cuts = calibrate(scores(3000), NO_FLOORS - 9, 1e-3, VOTES_NEEDED)
    flagged = (scores(400_000) > cuts).sum(axis=1) >= VOTES_NEEDED

    assert 1e-3 / 4 < flagged.mean() < 1e-3 * 2


@given(seed=st.integers(0, 2000), rows=st.integers(20, 60))
def test_two_dozen_windows_give_cuts_that_are_neither_below_them_nor_absurd(seed: int, rows: int) -> None:
    random = np.random.default_rng(seed)
    scores = np.abs(random.normal(size=(rows, 3))) + 2.0

    cuts = calibrate(scores, NO_FLOORS, alarm_probability(1.0, 5 * SECOND_NS, SECOND_NS), VOTES_NEEDED)

    flagged = (scores > cuts).sum(axis=1) >= VOTES_NEEDED
    assert flagged.sum() <= 1
    assert (cuts < 4 * scores.max()).all()


def test_one_burst_in_the_warm_up_does_not_put_the_cut_out_of_reach_of_a_fault() -> None:
    random = np.random.default_rng(3)
    scores = np.abs(random.normal(size=(60, 3))) + 2.0
    scores[20:25] = 15.0

    assert (calibrate(scores, NO_FLOORS, 1e-4, VOTES_NEEDED) < 60).all()


def test_a_cut_is_never_below_the_floor() -> None:
    scores = np.random.default_rng(0).uniform(size=(50, 3)) / 100

    assert calibrate(scores, np.array([3.0, 18.3, 0.5]), 1e-4, VOTES_NEEDED).tolist() == [3.0, 18.3, 0.5]


def test_more_alarms_wanted_means_lower_cuts() -> None:
    scores = np.random.default_rng(0).exponential(size=(500, 3))

    rare, often = (calibrate(scores, NO_FLOORS, probability, VOTES_NEEDED) for probability in (1e-5, 1e-2))

    assert (often < rare).all()


def test_scores_that_are_all_equal_give_a_cut_that_they_do_not_exceed() -> None:
    scores = np.full((40, 3), 7.0)

    assert ((scores > calibrate(scores, NO_FLOORS, 1e-4, VOTES_NEEDED)).sum(axis=1) < VOTES_NEEDED).all()


def test_too_few_windows_cannot_calibrate() -> None:
    with pytest.raises(DegenerateTrainingSetError, match="9 held-out windows: at least 10"):
        fit_tail(np.arange(9.0))


def test_sigma_from_eleven_windows_is_stretched_by_students_t() -> None:
    # From tables: t with 10 degrees of freedom 2.228, normal 1.960; a mean of 11 adds sqrt(12 / 10).
    assert new_window_stretch(11, 1, 0.05) == pytest.approx(2.228 / 1.960 * 1.0954, rel=1e-3)
    assert new_window_stretch(100_000, 128, 1e-5) == pytest.approx(1.0, abs=1e-3)


@given(seed=st.integers(0, 2000), windows=st.integers(8, 80), folds=st.integers(2, 4))
def test_every_window_is_held_out_once_from_training_that_shares_no_sample(seed: int, windows: int, folds: int) -> None:
    random = np.random.default_rng(seed)
    ends = np.cumsum(random.integers(1, 4, size=windows)) * SECOND_NS
    times_held_out = np.zeros(windows)

    for trains, held_out in time_folds(random.permutation(ends), 5 * SECOND_NS, folds):
        assert not (trains & held_out).any()
        times_held_out += held_out
    assert (times_held_out == 1).all()

    for trains, held_out in time_folds(ends, 5 * SECOND_NS, folds):
        apart = np.abs(ends[trains][:, None] - ends[held_out])
        assert (apart >= 5 * SECOND_NS).all()
