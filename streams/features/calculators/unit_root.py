"""Whether a series wanders: the augmented Dickey-Fuller test for a unit root."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from scipy.special import ndtr

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch, BoolArray
from pulsetrain.streams.features.calculators.autoregression import is_badly_scaled
from pulsetrain.streams.features.calculators.calculator import Calculator, ParameterSet, one_of
from pulsetrain.streams.features.calculators.doubtful import Judged, doubtful_to_tsfresh
from pulsetrain.streams.features.calculators.lagged_regression import fill_unit_root_statistics

_ATTRIBUTES: Final = ("teststat", "pvalue", "usedlag")


def _most_lags(n_samples: int) -> int:
    """Schwert's rule, bounded by what the samples allow; negative where they are too few.

    Schwert, "Tests for unit roots: a Monte Carlo investigation", 1989.
    """
    return min(n_samples // 2 - 2, int(np.ceil(12.0 * np.power(n_samples / 100.0, 1 / 4.0))))


def _p_values(statistics: FloatArray) -> FloatArray:
    """Approximate p-values of the test with a constant, from statsmodels' tables.

    MacKinnon, "Approximate asymptotic distribution functions for unit-root and cointegration tests", 1994.
    """
    from statsmodels.tsa import adfvalues  # type: ignore[import-untyped]

    quantiles = np.where(
        statistics <= adfvalues.tau_star_c[0],
        np.polyval(adfvalues.tau_c_smallp[0][::-1], statistics),
        np.polyval(adfvalues.tau_c_largep[0][::-1], statistics),
    )
    values: FloatArray = np.where(statistics < adfvalues.tau_min_c[0], 0.0, ndtr(quantiles))
    return np.where(statistics > adfvalues.tau_max_c[0], 1.0, values)


def _augmented_dickey_fuller(parameter_sets: Sequence[ParameterSet]) -> Judged:
    """Test statistic, p-value and number of lags; NaN for a constant series and for less than four samples.

    Doubtful where the samples nearly determine each other, are badly scaled, or do not say how many lags to take.
    """
    attributes = [_ATTRIBUTES.index(one["attr"]) for one in parameter_sets]

    def compute(batch: Batch) -> tuple[FloatArray, BoolArray]:
        statistics, lags = np.full((2, batch.n_series), np.nan)
        doubtful = np.zeros(batch.n_series, dtype=np.bool_)
        most_lags = _most_lags(batch.n_samples)
        if most_lags >= 0:
            varying = batch.is_finite & ~batch.is_constant
            is_tested = varying & ~is_badly_scaled(batch)
            fill_unit_root_statistics(
                batch.centred, batch.differences, is_tested, most_lags, statistics, lags, doubtful
            )
            doubtful |= varying & ~is_tested
        return np.stack((statistics, _p_values(statistics), lags), axis=1)[:, attributes], doubtful

    return compute


class _UnitRootCalculator(Calculator):
    __slots__ = ()

    def covers(self, parameters: ParameterSet) -> bool:
        chosen_by = parameters.get("autolag", "AIC")
        return chosen_by == "AIC" and Calculator.covers(self, {**parameters, "autolag": chosen_by})


CALCULATORS: Final[Mapping[str, Calculator]] = {
    "augmented_dickey_fuller": _UnitRootCalculator(
        doubtful_to_tsfresh("augmented_dickey_fuller", _augmented_dickey_fuller),
        {"attr": one_of(*_ATTRIBUTES), "autolag": one_of("AIC")},
        lambda parameters: {"autolag": "AIC", **parameters},
        asks_tsfresh=True,
    ),
}
