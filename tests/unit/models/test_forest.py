"""The forest as arrays against scikit-learn's own scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import IsolationForest

from pulsetrain.models.forest import expected_path_length, fit_forest


def test_expected_path_lengths_are_those_of_the_paper() -> None:
    # c(2) = 1; c(3) = 2 (ln 2 + gamma) - 4/3; c(256) = 10.244, the paper's normaliser.
    lengths = expected_path_length(np.array([0, 1, 2, 3, 256]))

    assert lengths == pytest.approx([0, 0, 1, 2 * (np.log(2) + 0.5772156649) - 4 / 3, 10.2448], abs=1e-4)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), rows=st.integers(20, 300), columns=st.integers(1, 20))
def test_scores_equal_scikit_learns_on_new_rows(seed: int, rows: int, columns: int) -> None:
    random = np.random.default_rng(seed)
    train = random.normal(size=(rows, columns)).astype(np.float32)
    new = (random.normal(size=(50, columns)) * random.choice([1, 100])).astype(np.float32)
    reference = IsolationForest(n_estimators=100, max_samples=min(256, rows), random_state=0).fit(train)

    assert fit_forest(train).score(new) == pytest.approx(-reference.score_samples(new), abs=1e-12)


def test_high_scores_are_anomalous() -> None:
    forest = fit_forest(np.random.default_rng(0).normal(size=(256, 4)).astype(np.float32))

    normal, outlier = forest.score(np.array([[0, 0, 0, 0], [9, 9, 9, 9]], dtype=np.float32))

    assert normal < 0.5 < outlier


def test_training_anew_on_other_data_gives_another_forest() -> None:
    random = np.random.default_rng(0)
    before = fit_forest(random.normal(0, 1, size=(200, 1)).astype(np.float32))
    after = fit_forest(random.normal(10, 1, size=(200, 1)).astype(np.float32))
    ten = np.array([[10.0]], dtype=np.float32)

    assert before.score(ten)[0] > 0.6
    assert after.score(ten)[0] < 0.5
