"""The graph against scikit-learn and numpy: same scores and labels, rows with gaps included."""

from functools import cache

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import IsolationForest

from pulsetrain.models.fitting import FittedModel, fit, with_feedback
from pulsetrain.models.forest import fit_forest
from pulsetrain.models.forest_graph import forest_node
from pulsetrain.models.graph import IR_VERSION, OPSETS
from pulsetrain.models.preparation import BoolArray, plan_assembly
from pulsetrain.models.runtime import Scorer
from pulsetrain.schemas.arrays import FloatArray
from tests.unit.models.telemetry import BENIGN_JOB, HOP_NS, NAMES, WINDOW_NS, add, ends, samples, windows


@cache
def _normal() -> FloatArray:
    return windows(samples(240, 0))


@cache
def _model() -> FittedModel:
    return fit(_normal(), NAMES, ends(len(_normal())), window_ns=WINDOW_NS, hop_ns=HOP_NS)


@cache
def _taught() -> FittedModel:
    rows = plan_assembly(_model().columns, _model().medians, NAMES).assemble(
        windows(samples(60, 1, add(BENIGN_JOB, 10.0, 20.0)))
    )
    return with_feedback(_model(), rows.rows, rows.rows[:0])[0]


@cache
def _scorer(taught: bool) -> Scorer:
    model = _taught() if taught else _model()
    return Scorer(model.graph(), model.columns)


def _reference(rows: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Scores and votes (rows, 3) computed anew by scikit-learn and numpy from the training windows."""
    model = _model()
    plan = plan_assembly(model.columns, model.medians, NAMES)
    train = model.ensemble.standardisation.standardise(plan.assemble(_normal()).rows)
    deviations = model.ensemble.standardisation.standardise(rows)
    forest = IsolationForest(n_estimators=100, max_samples=len(train), random_state=0).fit(train.astype(np.float32))
    shrinkage = model.ensemble.covariance.shrinkage
    empirical = train.T @ train / len(train)
    shrunk = (1 - shrinkage) * empirical + shrinkage * np.trace(empirical) / len(empirical) * np.eye(len(empirical))
    scores = np.column_stack(
        [
            np.abs(deviations).max(axis=1),
            np.einsum("ij,ij->i", deviations, np.linalg.solve(shrunk, deviations.T).T),
            -forest.score_samples(deviations.astype(np.float32)),
        ]
    )
    return scores, scores > model.ensemble.cuts


def test_opsets_and_ir_version_are_pinned() -> None:
    model = onnx.load_model_from_string(_model().graph())

    assert {entry.domain: entry.version for entry in model.opset_import} == OPSETS == {"": 18, "ai.onnx.ml": 3}
    assert model.ir_version == IR_VERSION == 9


def test_the_forest_is_one_node() -> None:
    model = onnx.load_model_from_string(_taught().graph())

    assert [node.op_type for node in model.graph.node if node.domain == "ai.onnx.ml"] == ["TreeEnsembleRegressor"]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), size=st.sampled_from([1.0, 3.0, 30.0, 3000.0]), gaps=st.booleans())
def test_scores_and_labels_equal_scikit_learns(seed: int, size: float, gaps: bool) -> None:
    random = np.random.default_rng(seed)
    model = _model()
    standardisation = model.ensemble.standardisation
    rows = standardisation.center + size * standardisation.scale * random.normal(size=(60, len(model.columns)))
    if gaps:
        rows[random.random(rows.shape) < 0.15] = np.nan
    rows = plan_assembly(model.columns, model.medians, model.columns).assemble(rows).rows

    scores, votes = _reference(rows)
    got = _scorer(taught=False).score(rows)

    scale = np.maximum(scores, [1.0, len(model.columns), 1.0])
    assert np.abs(got.scores - scores).max() <= 1e-5 * scale.max()
    assert (np.abs(got.scores - scores) <= 1e-5 * scale).all()
    decided = np.abs(scores - model.ensemble.cuts) > 1e-5 * scale
    assert np.array_equal(got.votes[decided], votes[decided])


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), size=st.floats(0.2, 5.0), other=st.sampled_from([0.0, 5.0, 100.0]))
def test_the_benign_stage_in_the_graph_equals_the_one_in_float64(seed: int, size: float, other: float) -> None:
    model = _taught()
    fault = {"gpu.power": -other, "tcp.retransmits": other}
    ticks = samples(40, seed, add(BENIGN_JOB, 10.3, 15.0, size, seed), add(fault, 14.0, 6.0))
    rows = plan_assembly(model.columns, model.medians, NAMES).assemble(windows(ticks)).rows
    deviations = model.ensemble.standardisation.standardise(rows)

    got = _scorer(taught=True).score(rows)

    voted = model.ensemble.is_voted(deviations)
    muted = model.benign.is_muted(deviations, model.ensemble)
    assert got.likeness == pytest.approx(model.benign.likeness(deviations).max(axis=1), abs=1e-6)
    assert np.array_equal(got.benign, voted & muted)
    assert np.array_equal(got.flagged, voted & ~muted)


def test_the_stage_changes_neither_scores_nor_votes() -> None:
    rows = plan_assembly(_model().columns, _model().medians, NAMES).assemble(_normal()).rows

    before, after = _scorer(taught=False).score(rows), _scorer(taught=True).score(rows)

    assert np.array_equal(before.scores, after.scores)
    assert np.array_equal(before.votes, after.votes)


def test_a_batch_gives_each_row_what_it_gets_alone() -> None:
    model = _taught()
    rows = (
        plan_assembly(model.columns, model.medians, NAMES)
        .assemble(windows(samples(40, 3, add(BENIGN_JOB, 10.0, 15.0))))
        .rows
    )
    together = _scorer(taught=True).score(rows)

    for i, row in enumerate(rows):
        alone = _scorer(taught=True).score(row[None, :])
        assert alone.flagged[0] == together.flagged[i]
        assert alone.scores[0] == pytest.approx(together.scores[i], rel=1e-6)


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=1))
def test_any_finite_value_gives_finite_scores(value: list[float]) -> None:
    model = _taught()

    got = _scorer(taught=True).score(np.full((1, len(model.columns)), value[0]))

    for output in (got.scores, got.deviations, got.likeness):
        assert np.isfinite(output).all()


def test_a_float32_falls_on_the_same_side_of_a_rounded_threshold() -> None:
    train = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)
    forest = fit_forest(train)
    node = forest_node(forest, "x", "y")
    exported = np.array(next(a.floats for a in node.attribute if a.name == "nodes_values"), dtype=np.float32)
    inner = forest.feature >= 0

    above = np.nextafter(exported[inner], np.float32(np.inf))
    assert (exported[inner] <= forest.threshold[inner]).all()
    assert (above > forest.threshold[inner]).all()
