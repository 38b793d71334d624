"""The allowance for wandering levels against random walks of known step."""

import numpy as np
import pytest

from pulsetrain.models.wander import HORIZON, wander_variance
from pulsetrain.schemas.arrays import FloatArray, IntArray

SECOND_NS = 1_000_000_000
STEPS, COLUMNS = 60, 500


def _ends(count: int) -> IntArray:
    return np.arange(count, dtype=np.int64) * 5 * SECOND_NS


def _walks(seed: int) -> FloatArray:
    return np.cumsum(np.random.default_rng(seed).normal(size=(STEPS, COLUMNS)), axis=0)


def test_a_random_walk_is_allowed_to_walk_on() -> None:
    allowance = wander_variance(_walks(0), _ends(STEPS), 5 * SECOND_NS, ["host"] * STEPS)

    # Steps of variance 1, as many as the warm-up has, times the horizon; a sixth of it is noise and caution.
    assert allowance.mean() == pytest.approx(HORIZON * STEPS, rel=0.3)


def test_white_noise_hardly_widens_sigma() -> None:
    rows = np.random.default_rng(0).normal(size=(STEPS, COLUMNS))

    widened = np.sqrt(1 + wander_variance(rows, _ends(STEPS), 5 * SECOND_NS, ["host"] * STEPS))

    assert np.median(widened) == 1.0
    assert widened.mean() < 1.2


def test_overlapping_windows_are_not_taken_for_wandering() -> None:
    raw = np.random.default_rng(0).normal(size=(5 * STEPS + 4, COLUMNS))
    means = np.lib.stride_tricks.sliding_window_view(raw, 5, axis=0).mean(axis=-1)

    allowance = wander_variance(
        means, np.arange(len(means), dtype=np.int64) * SECOND_NS, 5 * SECOND_NS, ["host"] * len(means)
    )

    assert np.median(np.sqrt(1 + allowance / means.var(axis=0))) < 1.2


def test_hosts_on_different_levels_do_not_wander() -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(2 * STEPS, COLUMNS)) + np.repeat([[0.0], [100.0]], STEPS, axis=0)
    entities = ["one"] * STEPS + ["other"] * STEPS

    allowance = wander_variance(rows, np.tile(_ends(STEPS), 2), 5 * SECOND_NS, entities)

    assert np.median(allowance) == 0.0


def test_a_few_windows_cannot_tell() -> None:
    rows = np.arange(7.0)[:, None]

    assert wander_variance(rows, _ends(7), 5 * SECOND_NS, ["host"] * 7).tolist() == [0.0]


def test_windows_with_gaps_between_them_are_no_neighbours() -> None:
    ends = np.arange(20, dtype=np.int64) * 60 * SECOND_NS

    assert wander_variance(np.arange(20.0)[:, None], ends, 5 * SECOND_NS, ["host"] * 20).tolist() == [0.0]
