"""From warm-up windows to a model, and from a model and labels to its successor."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pulsetrain.models.benign import BenignStage, no_profiles, signature_space
from pulsetrain.models.calibration import alarm_probability, calibrate, new_window_stretch, time_folds
from pulsetrain.models.columns import DEFAULT_MAX_COLUMNS, TrainingContext, choose_columns
from pulsetrain.models.detectors import (
    MIN_ROWS,
    VOTES_NEEDED,
    Z_SCORE_FLOOR,
    Ensemble,
    Member,
    fit_covariance,
    fit_standardisation,
    floors,
    member_scores,
)
from pulsetrain.models.errors import DegenerateTrainingSetError, NothingLearnedError
from pulsetrain.models.feedback import Lesson, learn_benign
from pulsetrain.models.forest import fit_forest
from pulsetrain.models.graph import build_graph
from pulsetrain.models.preparation import plan_assembly
from pulsetrain.models.selection.report import ColumnReport
from pulsetrain.models.selection.windows import FaultWindows
from pulsetrain.models.wander import wander_variance
from pulsetrain.schemas.arrays import FloatArray, IntArray

FOLDS = 4

HIGHEST_SCORES = np.array([np.inf, np.inf, 1.0])
"""A forest whose normal scores come near 1 gets a cut that it never exceeds, and leaves the vote to the others."""


@dataclass(frozen=True, slots=True)
class FittedModel:
    """All that a graph, a manifest and a later retraining need; `state.to_state` keeps it.

    `medians` (columns,) are imputed where a value is missing. The training span is that of the
    windows' ends.
    """

    selection: ColumnReport
    medians: FloatArray
    ensemble: Ensemble
    benign: BenignStage
    training_start_ns: int
    training_end_ns: int
    training_windows: int
    window_ns: int
    hop_ns: int
    false_alarms_per_day: float

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in model order."""
        return self.selection.columns

    def graph(self) -> bytes:
        """The serialised ONNX model."""
        return build_graph(self.columns, self.ensemble, self.benign)


def fit(
    rows: FloatArray,
    names: Sequence[str],
    window_ends_ns: IntArray,
    *,
    window_ns: int,
    hop_ns: int,
    entities: Sequence[str] | None = None,
    false_alarms_per_day: float = 1.0,
    max_columns: int = DEFAULT_MAX_COLUMNS,
    faults: Sequence[FaultWindows] = (),
) -> FittedModel:
    """Learn what is normal from warm-up windows, `rows` of shape (windows, names), NaN where missing.

    `entities` names the entity of each row; without it all are of one. The cuts are those at which each
    entity gives about `false_alarms_per_day`. Confirmed `faults` have a say in which columns tell.

    Raises:
        DegenerateTrainingSetError: too few windows, too few distinct ones, or nothing varies.
    """
    whose = entities or [""] * len(rows)
    context = TrainingContext(window_ends_ns, whose, window_ns, faults)
    chosen = choose_columns(rows, names, max_columns, context=context)
    picked = plan_assembly(chosen.columns, np.zeros(len(chosen.columns)), names)
    values = np.where(np.isfinite(rows), rows, np.nan)[:, picked.positions]
    medians = np.nanmedian(values, axis=0)
    values = np.where(np.isnan(values), medians, values)

    wander = wander_variance(values, window_ends_ns, window_ns, whose)
    standardisation = fit_standardisation(values, wander)
    deviations = standardisation.standardise(values)
    overlap = max(1.0, window_ns / hop_ns)
    probability = alarm_probability(false_alarms_per_day, window_ns, hop_ns)
    expected = deviations * new_window_stretch(len(values) / overlap, len(chosen.columns), probability)
    scores = _held_out_scores(deviations, expected, window_ends_ns, window_ns, overlap)
    cuts = np.minimum(calibrate(scores, floors(len(chosen.columns)), probability, VOTES_NEEDED), HIGHEST_SCORES)
    band = np.clip(np.abs(expected).max(axis=0), Z_SCORE_FLOOR, cuts[0])
    return FittedModel(
        selection=chosen,
        medians=medians,
        ensemble=Ensemble(
            standardisation, fit_covariance(deviations, overlap), fit_forest(deviations.astype(np.float32)), cuts
        ),
        benign=no_profiles(signature_space(chosen.columns, band)),
        training_start_ns=int(window_ends_ns.min()),
        training_end_ns=int(window_ends_ns.max()),
        training_windows=len(rows),
        window_ns=window_ns,
        hop_ns=hop_ns,
        false_alarms_per_day=false_alarms_per_day,
    )


def _held_out_scores(
    deviations: FloatArray, expected: FloatArray, window_ends_ns: IntArray, window_ns: int, overlap: float
) -> FloatArray:
    """Scores (windows, 3) of each span of the `expected` deviations, by members trained on the others' own.

    A warm-up is short: held out once each, all its windows calibrate, and the model that is kept trains
    on all of them.
    """
    scores = np.empty((len(deviations), len(Member)))
    for trains, held_out in time_folds(window_ends_ns, window_ns, FOLDS):
        if trains.sum() < MIN_ROWS:
            raise DegenerateTrainingSetError(
                f"{len(deviations)} windows leave {int(trains.sum())} to train on when a span of them is held "
                f"out: at least {MIN_ROWS} are needed"
            )
        others = deviations[trains]
        scores[held_out] = member_scores(
            expected[held_out], fit_covariance(others, overlap), fit_forest(others.astype(np.float32))
        )
    return scores


def with_feedback(model: FittedModel, benign_rows: FloatArray, fault_rows: FloatArray) -> tuple[FittedModel, Lesson]:
    """The successor of a model: the same members, and a benign stage learned anew from all labels.

    Both arguments have shape (windows, columns of the model) and are imputed. `benign_rows` are windows
    labelled false positive, `fault_rows` windows confirmed as faults.

    Raises:
        NothingLearnedError: the stage would be the one that is already there.
    """
    standardise = model.ensemble.standardisation.standardise
    lesson = learn_benign(model.benign.space, model.ensemble, standardise(benign_rows), standardise(fault_rows))
    if _is_same(lesson.stage, model.benign):
        raise NothingLearnedError(
            f"{len(benign_rows)} windows labelled benign teach nothing new: {int(lesson.unflagged.sum())} are "
            f"not flagged anyway, {int(lesson.conflicting.sum())} cannot be told from a fault"
        )
    return replace(model, benign=lesson.stage), lesson


def _is_same(one: BenignStage, other: BenignStage) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("signatures", "least_likeness", "low", "high", "base_low", "base_high")
    )
