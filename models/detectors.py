"""The three members of the ensemble, in float64: the reference that the exported graph must equal.

Scores are high where a row is anomalous, for every member.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.stats import chi2
from sklearn.covariance import ledoit_wolf_shrinkage

from pulsetrain.models.errors import DegenerateTrainingSetError
from pulsetrain.models.forest import Float32Array, Forest
from pulsetrain.models.preparation import BoolArray
from pulsetrain.schemas.arrays import FloatArray

MIN_ROWS = 20
"""Fewer windows give no deviation worth the name, so no model and no score."""

ABSOLUTE_SCALE_FLOOR = 1e-12
RELATIVE_SCALE_FLOOR = 1e-3
"""One sigma is at least a thousandth of the mean: a steady 71.3 degrees makes 71.4 no anomaly."""

Z_LIMIT = 1e9
"""Deviations beyond it are cut, so that no score overflows float32."""

Z_SCORE_FLOOR = 3.0
MAHALANOBIS_ALPHA = 0.95
FOREST_FLOOR = 0.5
"""A score of 0.5 is that of an average path (Liu et al., 2008): nothing below it is anomalous."""

MIN_SHRINKAGE = 1e-3
VOTES_NEEDED = 2


class Member(StrEnum):
    """The members, in the order of the columns of every score and vote matrix."""

    Z_SCORE = "zscore"
    MAHALANOBIS = "mahalanobis"
    ISOLATION_FOREST = "isolation_forest"


@dataclass(frozen=True, slots=True)
class Standardisation:
    """Centre and scale of each column, both of shape (columns,), in the unit of the feature."""

    center: FloatArray
    scale: FloatArray

    def standardise(self, rows: FloatArray) -> FloatArray:
        """Deviations in sigma, of the shape of `rows`, never NaN or infinite for finite rows."""
        with np.errstate(over="ignore"):
            return np.clip((rows - self.center) / self.scale, -Z_LIMIT, Z_LIMIT)


@dataclass(frozen=True, slots=True)
class Covariance:
    """A shrunk covariance about zero, as the matrix (columns, columns) that whitens a row.

    `rank` is that of the training rows; where it is below the number of columns, some are redundant.
    """

    whitening: FloatArray
    shrinkage: float
    rank: int

    def distance(self, deviations: FloatArray) -> FloatArray:
        """Squared Mahalanobis distance of deviations (rows, columns) from zero, shape (rows,)."""
        distance: FloatArray = np.sum((deviations @ self.whitening) ** 2, axis=1)
        return distance


@dataclass(frozen=True, slots=True)
class Ensemble:
    """The members with their cuts of shape (3,); a row is voted anomalous where two scores exceed theirs."""

    standardisation: Standardisation
    covariance: Covariance
    forest: Forest
    cuts: FloatArray

    def scores(self, deviations: FloatArray) -> FloatArray:
        """Scores (rows, 3) of deviations (rows, columns) in sigma."""
        return member_scores(deviations, self.covariance, self.forest)

    def is_voted(self, deviations: FloatArray) -> BoolArray:
        """Whether at least `VOTES_NEEDED` members exceed their cut, shape (rows,)."""
        voted: BoolArray = (self.scores(deviations) > self.cuts).sum(axis=1) >= VOTES_NEEDED
        return voted


def fit_standardisation(rows: FloatArray, wander_variance: FloatArray | float = 0.0) -> Standardisation:
    """Mean and standard deviation of training rows (windows, columns), with a floor under the latter.

    `wander_variance` (columns,) is added to the variance; see `pulsetrain.models.wander`.

    Raises:
        DegenerateTrainingSetError: fewer than `MIN_ROWS` rows, or fewer distinct ones.
    """
    distinct = len(np.unique(rows, axis=0))
    if distinct < MIN_ROWS:
        raise DegenerateTrainingSetError(
            f"{len(rows)} training windows, {distinct} of them distinct: at least {MIN_ROWS} are needed"
        )
    center = rows.mean(axis=0)
    spread = np.sqrt(rows.var(axis=0, ddof=1) + wander_variance)
    return Standardisation(center, np.maximum(spread, scale_floor(center)))


def scale_floor(center: FloatArray) -> FloatArray:
    """The least sigma of a column with this mean."""
    return ABSOLUTE_SCALE_FLOOR + RELATIVE_SCALE_FLOOR * np.abs(center)


def fit_covariance(
    deviations: FloatArray, rows_per_independent_row: float = 1.0, shrinkage: float | None = None
) -> Covariance:
    """Covariance of deviations (rows, columns) about zero, shrunk towards its mean variance.

    By default the shrinkage is that of Ledoit and Wolf (2004). It falls with the number of independent
    rows, so for windows that overlap it is multiplied by the overlap. It is never below
    `MIN_SHRINKAGE`: with none, a point off the subspace of the training rows would have no distance.
    """
    if shrinkage is None:
        estimated = float(ledoit_wolf_shrinkage(deviations, assume_centered=True))
        shrinkage = min(1.0, max(MIN_SHRINKAGE, estimated * rows_per_independent_row))
    empirical = deviations.T @ deviations / len(deviations)
    columns = len(empirical)
    mean_variance = np.trace(empirical) / columns
    shrunk = (1 - shrinkage) * empirical + shrinkage * mean_variance * np.eye(columns)
    variances, axes = np.linalg.eigh(shrunk)
    rank = int(np.linalg.matrix_rank(empirical, hermitian=True))
    return Covariance(axes / np.sqrt(variances), shrinkage, rank)


def member_scores(deviations: FloatArray, covariance: Covariance, forest: Forest) -> FloatArray:
    """Scores (rows, 3) in the order of `Member`: largest deviation, squared distance, forest score."""
    single: Float32Array = deviations.astype(np.float32)
    return np.column_stack([np.abs(deviations).max(axis=1), covariance.distance(deviations), forest.score(single)])


def floors(columns: int) -> FloatArray:
    """The lowest cut of each member: what the detectors are named for, before any calibration."""
    return np.array([Z_SCORE_FLOOR, chi2.ppf(MAHALANOBIS_ALPHA, columns), FOREST_FLOOR])
