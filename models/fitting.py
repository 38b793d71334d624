"""From warm-up windows to a model, and from a model and labels to its successor."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pulsetrain.models.benign import BenignStage, no_profiles, signature_space
from pulsetrain.models.calibration import alarm_probability, calibrate, held_out
from pulsetrain.models.columns import DEFAULT_MAX_COLUMNS, DroppedColumn, choose_columns
from pulsetrain.models.detectors import (
    VOTES_NEEDED,
    Z_SCORE_FLOOR,
    Ensemble,
    fit_covariance,
    fit_standardisation,
    floors,
    member_scores,
)
from pulsetrain.models.errors import NothingLearnedError
from pulsetrain.models.feedback import Lesson, learn_benign
from pulsetrain.models.forest import fit_forest
from pulsetrain.models.graph import build_graph
from pulsetrain.models.preparation import plan_assembly
from pulsetrain.schemas.arrays import FloatArray, IntArray

TRAIN_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class FittedModel:
    """All that a graph, a manifest and a later retraining need; `state.to_state` keeps it.

    `medians` (columns,) are imputed where a value is missing. The training span is that of the windows'
    ends, of which `training_windows` trained and `held_out_windows` calibrated.
    """

    columns: tuple[str, ...]
    medians: FloatArray
    dropped: tuple[DroppedColumn, ...]
    ensemble: Ensemble
    benign: BenignStage
    training_start_ns: int
    training_end_ns: int
    training_windows: int
    held_out_windows: int
    window_ns: int
    hop_ns: int
    false_alarms_per_day: float

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
    false_alarms_per_day: float = 1.0,
    max_columns: int = DEFAULT_MAX_COLUMNS,
) -> FittedModel:
    """Learn what is normal from warm-up windows, `rows` of shape (windows, names), NaN where missing.

    The earlier part trains and the later part, a window's length away, calibrates: each entity gives
    about `false_alarms_per_day`.

    Raises:
        DegenerateTrainingSetError: too few windows, too few distinct ones, or nothing varies.
    """
    chosen = choose_columns(rows, names, max_columns)
    picked = plan_assembly(chosen.columns, np.zeros(len(chosen.columns)), names)
    values = np.where(np.isfinite(rows), rows, np.nan)[:, picked.positions]
    medians = np.nanmedian(values, axis=0)
    values = np.where(np.isnan(values), medians, values)

    trains, calibrates = held_out(window_ends_ns, window_ns, TRAIN_SHARE)
    standardisation = fit_standardisation(values[trains], values[calibrates])
    normal = standardisation.standardise(values[trains])
    covariance = fit_covariance(normal, rows_per_independent_row=max(1.0, window_ns / hop_ns))
    forest = fit_forest(normal.astype(np.float32))
    later = standardisation.standardise(values[calibrates])
    cuts = calibrate(
        member_scores(later, covariance, forest),
        floors(len(chosen.columns)),
        alarm_probability(false_alarms_per_day, window_ns, hop_ns),
        VOTES_NEEDED,
    )
    band = np.clip(np.abs(later).max(axis=0), Z_SCORE_FLOOR, cuts[0])
    return FittedModel(
        columns=chosen.columns,
        medians=medians,
        dropped=chosen.dropped,
        ensemble=Ensemble(standardisation, covariance, forest, cuts),
        benign=no_profiles(signature_space(chosen.columns, band)),
        training_start_ns=int(window_ends_ns.min()),
        training_end_ns=int(window_ends_ns.max()),
        training_windows=int(trains.sum()),
        held_out_windows=int(calibrates.sum()),
        window_ns=window_ns,
        hop_ns=hop_ns,
        false_alarms_per_day=false_alarms_per_day,
    )


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
