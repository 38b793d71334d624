"""Faults made from labelled benign windows: what a benign profile must never mute."""

import numpy as np

from pulsetrain.models.benign import SATURATION_BANDS, SignatureSpace
from pulsetrain.models.detectors import Z_LIMIT, Ensemble
from pulsetrain.schemas.arrays import FloatArray

SIZE_FACTOR = 3.0
REFERENCE_ROWS = 16
FOREIGN_COLUMNS = 12
FOREIGN_SIGMAS = (10.0, 30.0, 100.0, 300.0, 1000.0)


def injected_faults(space: SignatureSpace, ensemble: Ensemble, foreign: FloatArray, benign: FloatArray) -> FloatArray:
    """Deviations (faults, columns) made from one kind of benign ones (rows, columns), as far as flagged.

    They are made from the larger half of the rows: what is small for its kind is where it starts or ends.
    Three kinds: the same at three times the size, a part of the deviating metrics alone, and a further
    column that deviates at the same time, at its size in `foreign` (directions, columns).
    """
    size = np.log1p(np.abs(benign) / space.band).sum(axis=1)
    rows = benign[size >= np.median(size)] if len(benign) else benign
    rows = rows[:: max(1, len(rows) // REFERENCE_ROWS)]
    made = [np.empty((0, len(space.band))), np.clip(SIZE_FACTOR * rows, -Z_LIMIT, Z_LIMIT)]
    for row in rows:
        made += [_parts(space, row), _with_foreign(space, foreign, row)]
    faults = np.concatenate(made)
    return faults[ensemble.is_voted(faults)]


def foreign_deviations(ensemble: Ensemble, columns: int) -> FloatArray:
    """The smallest deviation of each column, up and down, that is flagged by itself, (2, columns).

    NaN where none of `FOREIGN_SIGMAS` is.
    """
    sizes = np.concatenate([[sigma, -sigma] for sigma in FOREIGN_SIGMAS])
    alone = sizes[:, None, None] * np.eye(columns)
    flagged = ensemble.is_voted(alone.reshape(-1, columns)).reshape(len(FOREIGN_SIGMAS), 2, columns)
    smallest: FloatArray = np.array(FOREIGN_SIGMAS)[flagged.argmax(axis=0)]
    smallest[~flagged.any(axis=0)] = np.nan
    smallest[1] *= -1
    return smallest


def _metric_strength(space: SignatureSpace, row: FloatArray) -> FloatArray:
    strength: FloatArray = (np.abs(row) / space.band)[space.members].max(axis=1)
    return strength


def _parts(space: SignatureSpace, row: FloatArray) -> FloatArray:
    """The row without some of the metrics that deviate clearly: a third or half of them, the strong or the weak."""
    strength = _metric_strength(space, row)
    deviating = np.flatnonzero(strength >= SATURATION_BANDS)
    deviating = deviating[np.argsort(-strength[deviating], kind="stable")]
    count = len(deviating)
    if count < 2:
        return np.empty((0, len(row)))
    third, half = max(1, count // 3), (count + 1) // 2
    removed = [deviating[:third], deviating[-third:], deviating[:half], deviating[half:], deviating[::2]]
    parts = np.tile(row, (len(removed), 1))
    for part, metrics in zip(parts, removed, strict=True):
        part[space.members[metrics].ravel()] = 0.0
    return parts


def _with_foreign(space: SignatureSpace, foreign: FloatArray, row: FloatArray) -> FloatArray:
    """The row with one more column deviating, of a metric that is quiet in it."""
    quiet = space.members[_metric_strength(space, row) <= 1, 0]
    quiet = quiet[:: max(1, len(quiet) // FOREIGN_COLUMNS)]
    columns, sizes = np.tile(quiet, 2), foreign[:, quiet].ravel()
    known = ~np.isnan(sizes)
    faults = np.tile(row, (int(known.sum()), 1))
    faults[np.arange(len(faults)), columns[known]] = sizes[known]
    return faults
