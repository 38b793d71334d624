"""A new version of a model on trial: it scores some rows before it counts."""

import numpy as np

from pulsetrain.models.errors import ModelRejectedError
from pulsetrain.models.preparation import plan_assembly
from pulsetrain.models.runtime import Scorer, Scores
from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.schemas.model_release import ModelManifest


def trial_rows(manifest: ModelManifest, recent: FloatArray | None) -> FloatArray:
    """Rows (windows, columns) to try a model on, at least one: its medians where there are no recent ones."""
    return recent if recent is not None and len(recent) else np.array([manifest.medians], dtype=np.float64)


def trial_scores(manifest: ModelManifest, scorer: Scorer, rows: FloatArray) -> Scores:
    """Scores of `rows` (windows, columns), NaN where missing.

    Raises:
        ModelRejectedError: the model gives no finite verdict on a row.
    """
    columns = manifest.columns
    try:
        scores = scorer.score(plan_assembly(columns, manifest.medians, columns).assemble(rows).rows)
    except Exception as error:  # the runtime raises whatever the graph provokes; the live version has to stay
        raise ModelRejectedError(f"it fails on its test rows: {error}") from error
    if not np.isfinite(scores.scores).all() or scores.flagged.shape != (len(rows),):
        raise ModelRejectedError("its scores of its test rows are not finite numbers, one verdict a row")
    return scores
