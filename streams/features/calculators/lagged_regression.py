"""Regressions of a series on its own past, compiled: least squares by Householder reflections.

Systems are given as their columns (columns, rows), the right side last. Golub and Van Loan, "Matrix Computations", 5.2.
"""

import math
from typing import Final

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import BoolArray
from pulsetrain.streams.features.compiled.jit import compiled, part

LEAST_SHARE: Final = 1e-4
"""A column that keeps less of its length beyond the columns before it makes a system doubtful."""
LEAST_RESIDUAL: Final = 1e-5
"""So does a right side that keeps less of its length beyond all columns: what is left is rounding."""
LEAST_LEAD: Final = 1e-7
"""So does an information criterion that chooses between numbers of lags by less."""


@part()
def _triangularise(columns: FloatArray, n_rows: int) -> None:
    """Replace a system by the triangle of its QR decomposition: R[i, j] is `columns[j, i]` for i <= j.

    Only the first `n_rows` rows count, at least as many as there are columns; what is not R is scratch.
    """
    n_columns = columns.shape[0]
    for k in range(n_columns):
        pivot = columns[k]
        square = 0.0
        for i in range(k, n_rows):
            square += pivot[i] * pivot[i]
        norm = math.sqrt(square)
        if norm == 0.0:
            continue
        diagonal = -norm if pivot[k] > 0 else norm
        half_square = norm * (norm + abs(pivot[k]))
        pivot[k] -= diagonal
        for j in range(k + 1, n_columns):
            other = columns[j]
            product = 0.0
            for i in range(k, n_rows):
                product += pivot[i] * other[i]
            factor = product / half_square
            for i in range(k, n_rows):
                other[i] -= factor * pivot[i]
        pivot[k] = diagonal


@part()
def _share_beyond(triangle: FloatArray, column: int) -> float:
    """Share of a column's length that the columns before it leave over."""
    square = 0.0
    for i in range(column + 1):
        square += triangle[column, i] ** 2
    return abs(float(triangle[column, column])) / math.sqrt(square)


@part()
def _is_doubtful(triangle: FloatArray) -> bool:
    right_side = triangle.shape[0] - 1
    for column in range(right_side):
        if not _share_beyond(triangle, column) > LEAST_SHARE:
            return True
    return not _share_beyond(triangle, right_side) > LEAST_RESIDUAL


@compiled("void(float64[:,::1], float64[::1], boolean[::1], int64, float64[:,::1], boolean[::1])")
def fit_autoregressions(
    centred: FloatArray, means: FloatArray, is_finite: BoolArray, k: int, out: FloatArray, doubtful: BoolArray
) -> None:
    """Fill out (series, 1 + k) with the intercept and the weights of the k samples before.

    Takes series less their means, and the means; marks those whose system is nearly singular as doubtful.
    """
    n_series, n_samples = centred.shape
    n_rows = n_samples - k
    system = np.empty((k + 2, n_rows))
    for row in range(n_series):
        if not is_finite[row]:
            continue
        system[0] = 1.0
        for lag in range(1, k + 1):
            system[lag] = centred[row, k - lag : n_samples - lag]
        system[k + 1] = centred[row, k:]
        _triangularise(system, n_rows)
        doubtful[row] = _is_doubtful(system)
        weights = out[row]
        total = 0.0
        for i in range(k, -1, -1):
            value = system[k + 1, i]
            for j in range(i + 1, k + 1):
                value -= system[j, i] * weights[j]
            weights[i] = value / system[i, i]
            if i > 0:
                total += weights[i]
        weights[0] += means[row] * (1.0 - total)


@part()
def _lay_out(system: FloatArray, centred: FloatArray, differences: FloatArray, n_lags: int, level_column: int) -> None:
    """Differences on a constant, `n_lags` earlier differences, and the level before, at a column of one's choice."""
    n_rows = centred.size - 1 - n_lags
    system[0, :n_rows] = 1.0
    system[level_column, :n_rows] = centred[n_lags : n_lags + n_rows]
    column = 1
    for lag in range(1, n_lags + 1):
        if column == level_column:
            column += 1
        system[column, :n_rows] = differences[n_lags - lag : n_lags - lag + n_rows]
        column += 1
    system[n_lags + 2, :n_rows] = differences[n_lags : n_lags + n_rows]


@part()
def _best_lag(triangle: FloatArray, n_rows: int) -> int:
    """Number of lagged differences with the least Akaike criterion; -1 where two are too near to tell.

    The columns are the constant, the level and the lagged differences in order, so each model is a leading part.
    """
    right_side = triangle.shape[0] - 1
    residual = triangle[right_side, right_side] ** 2
    best, second, best_columns = math.inf, math.inf, right_side
    for n_columns in range(right_side, 1, -1):
        criterion = n_rows * math.log(residual / n_rows) + 2.0 * n_columns
        if criterion <= best:
            best, second, best_columns = criterion, best, n_columns
        elif criterion < second:
            second = criterion
        residual += triangle[right_side, n_columns - 1] ** 2
    return best_columns - 2 if second - best > LEAST_LEAD * n_rows else -1


@compiled("void(float64[:,::1], float64[:,::1], boolean[::1], int64, float64[::1], float64[::1], boolean[::1])")
def fill_unit_root_statistics(
    centred: FloatArray,
    differences: FloatArray,
    is_tested: BoolArray,
    most_lags: int,
    statistics: FloatArray,
    lags: FloatArray,
    doubtful: BoolArray,
) -> None:
    """Fill the t statistic of the level in a regression of the differences, and the number of lags in it.

    The number of lagged differences, up to `most_lags`, is that with the least Akaike criterion over the same rows;
    the regression with it then has all rows that there are.
    """
    n_series, n_samples = centred.shape
    memory = np.empty((most_lags + 3) * n_samples)
    for row in range(n_series):
        if not is_tested[row]:
            continue
        n_rows = n_samples - 1 - most_lags
        system = memory[: (most_lags + 3) * n_rows].reshape(most_lags + 3, n_rows)
        _lay_out(system, centred[row], differences[row], most_lags, 1)
        _triangularise(system, n_rows)
        n_lags = _best_lag(system, n_rows)
        if n_lags < 0 or _is_doubtful(system):
            doubtful[row] = True
            continue
        n_rows = n_samples - 1 - n_lags
        system = memory[: (n_lags + 3) * n_rows].reshape(n_lags + 3, n_rows)
        _lay_out(system, centred[row], differences[row], n_lags, n_lags + 1)
        _triangularise(system, n_rows)
        doubtful[row] = _is_doubtful(system)
        right_side = n_lags + 2
        deviation = abs(system[right_side, right_side]) / math.sqrt(n_rows - right_side)
        level = n_lags + 1
        statistics[row] = math.copysign(system[right_side, level], system[right_side, level] * system[level, level])
        statistics[row] /= deviation
        lags[row] = n_lags
