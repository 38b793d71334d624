"""One-way analysis of variance of many columns at once."""

import numpy as np
from scipy.special import fdtrc
from scipy.stats import false_discovery_control

from pulsetrain.schemas.arrays import FloatArray, IntArray


def to_unit(values: FloatArray) -> FloatArray:
    """`values` (windows, columns) of any size, each column times the power of two that takes its largest below 1.

    So their squares neither overflow nor vanish. NaN stays NaN.
    """
    _, exponents = np.frexp(np.max(np.abs(values), axis=0, initial=0.0, where=np.isfinite(values)))
    unit: FloatArray = np.ldexp(values, -exponents)
    return unit


def analyse(values: FloatArray, groups: IntArray) -> tuple[FloatArray, FloatArray]:
    """F between groups and its p-value, both (columns,), of `values` (windows, columns) in `groups` (windows,).

    A value that is NaN is left out. The p-values are those of Benjamini and Hochberg ("Controlling the false discovery
    rate", 1995): of many columns some differ by chance. A column without any variance, or with too few values for one
    within the groups, has F 0 and p 1; one that varies between the groups alone has an infinite F.
    """
    is_there = np.isfinite(values)
    unit = to_unit(values)
    low = np.min(unit, axis=0, initial=np.inf, where=is_there)
    high = np.max(unit, axis=0, initial=-np.inf, where=is_there)
    varies = high > low
    # From 0 to 1, so that no rounding but that of the sums is left, whatever the offset was.
    scaled = np.where(is_there & varies, unit - np.where(varies, low, 0.0), 0.0) / np.where(varies, high - low, 1.0)

    members = (groups == np.unique(groups)[:, None]).astype(np.float64)
    counts = members @ is_there
    means = (members @ scaled) / np.maximum(counts, 1.0)
    total = counts.sum(axis=0)
    overall = scaled.sum(axis=0) / np.maximum(total, 1.0)
    between = np.sum(counts * (means - overall) ** 2, axis=0)
    within = np.sum(np.where(is_there, scaled - members.T @ means, 0.0) ** 2, axis=0)
    between_degrees = (counts > 0).sum(axis=0) - 1
    within_degrees = total - between_degrees - 1

    is_tested = varies & (between_degrees > 0) & (within_degrees > 0)
    degrees = np.where(is_tested, [between_degrees, within_degrees], 1.0)
    # Sums of n numbers up to 1 are off by at most n units in the last place.
    is_exact = within <= total * (total * np.finfo(np.float64).eps) ** 2
    ratio = (between / degrees[0]) / np.where(is_exact, 1.0, within / degrees[1])
    f_values = np.where(is_tested, np.where(is_exact, np.inf, ratio), 0.0)
    p_values = np.where(is_tested, np.where(is_exact, 0.0, fdtrc(*degrees, ratio)), 1.0)
    return f_values, false_discovery_control(p_values)
