"""tsfresh's calculators beyond `pulsetrain.streams.features.kernels`, by family.

A family is imported when a feature set first names one of its calculators: some are compiled, which takes time.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from pulsetrain.streams.features.calculators.calculator import Calculator

_FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "levels": (
        "sum_values",
        "length",
        "root_mean_square",
        "absolute_maximum",
        "mean_n_absolute_max",
        "variation_coefficient",
        "mean_change",
        "mean_second_derivative_central",
        "absolute_sum_of_changes",
        "time_reversal_asymmetry_statistic",
        "first_location_of_maximum",
        "first_location_of_minimum",
        "last_location_of_maximum",
        "last_location_of_minimum",
    ),
    "counts": (
        "count_above",
        "count_below",
        "count_above_mean",
        "count_below_mean",
        "value_count",
        "range_count",
        "number_crossing_m",
        "ratio_beyond_r_sigma",
        "variance_larger_than_standard_deviation",
        "large_standard_deviation",
        "symmetry_looking",
        "has_duplicate",
        "has_duplicate_max",
        "has_duplicate_min",
        "ratio_value_number_to_time_series_length",
        "percentage_of_reoccurring_values_to_all_values",
        "percentage_of_reoccurring_datapoints_to_all_datapoints",
        "sum_of_reoccurring_values",
        "sum_of_reoccurring_data_points",
        "index_mass_quantile",
    ),
    "changes": ("change_quantiles",),
    "trends": ("linear_trend", "agg_linear_trend"),
    "spectral": ("fft_coefficient", "fft_aggregated", "spkt_welch_density", "fourier_entropy"),
    "runs": ("longest_strike_below_mean", "longest_strike_above_mean", "number_peaks"),
    "entropy": ("binned_entropy", "lempel_ziv_complexity", "permutation_entropy"),
    "digits": ("benford_correlation",),
    "energy": ("energy_ratio_by_chunks",),
    "wavelets": ("cwt_coefficients",),
    "ridges": ("number_cwt_peaks",),
    "autoregression": ("agg_autocorrelation", "partial_autocorrelation", "ar_coefficient"),
    "unit_root": ("augmented_dickey_fuller",),
    "self_similarity": ("sample_entropy", "approximate_entropy"),
    "queries": ("query_similarity_count",),
    "langevin": ("friedrich_coefficients", "max_langevin_fixed_point"),
}
CALCULATOR_FAMILIES: Final[Mapping[str, str]] = {name: family for family, names in _FAMILIES.items() for name in names}
"""The calculators that are served here, each with its family."""


def find_calculator(name: str) -> Calculator | None:
    """The calculator of that name in tsfresh; None where no family has it."""
    family = CALCULATOR_FAMILIES.get(name)
    if family is None:
        return None
    calculators: Mapping[str, Calculator] = import_module(f"{__name__}.{family}").CALCULATORS
    return calculators[name]
