"""The gate must stop a graph that scores otherwise than its model."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from pulsetrain.models.detectors import Ensemble
from pulsetrain.models.errors import ParityError
from pulsetrain.models.fitting import FittedModel, fit
from pulsetrain.models.graph import build_graph
from pulsetrain.models.parity import check_parity
from pulsetrain.schemas.arrays import FloatArray
from tests.unit.models.telemetry import HOP_NS, NAMES, WINDOW_NS, ends, samples, windows


@cache
def _rows() -> FloatArray:
    return windows(samples(120, 0))


@cache
def _model() -> FittedModel:
    return fit(_rows(), NAMES, ends(len(_rows())), window_ns=WINDOW_NS, hop_ns=HOP_NS)


def _model_rows() -> FloatArray:
    return _rows()[:, [NAMES.index(column) for column in _model().columns]]


def _graph_of(ensemble: Ensemble) -> bytes:
    return build_graph(_model().columns, ensemble, _model().benign)


def test_a_faithful_graph_passes_on_rows_with_gaps_and_far_outliers() -> None:
    parity = check_parity(_model(), _model().graph(), _model_rows())

    assert parity.rows == 5 * len(_rows())
    assert parity.undecided < 0.01 * parity.rows
    assert parity.worst_score < 1e-5


def test_a_covariance_that_is_slightly_off_is_stopped() -> None:
    covariance = _model().ensemble.covariance
    off = replace(_model().ensemble, covariance=replace(covariance, whitening=covariance.whitening * 1.0001))

    with pytest.raises(ParityError, match="mahalanobis"):
        check_parity(_model(), _graph_of(off), _model_rows())


def test_a_tree_that_sends_rows_the_other_way_is_stopped() -> None:
    forest = _model().ensemble.forest
    swapped = replace(_model().ensemble, forest=replace(forest, left=forest.right, right=forest.left))

    with pytest.raises(ParityError, match="isolation_forest"):
        check_parity(_model(), _graph_of(swapped), _model_rows())


def test_cuts_that_differ_are_stopped_by_the_labels() -> None:
    lower = replace(_model().ensemble, cuts=_model().ensemble.cuts * np.array([0.5, 1.0, 1.0]))

    with pytest.raises(ParityError, match="label of row"):
        check_parity(_model(), _graph_of(lower), _model_rows())
