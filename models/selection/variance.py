"""One-way analysis of variance of many columns at once."""

import warnings

import numpy as np
from scipy.stats import false_discovery_control
from sklearn.feature_selection import f_classif

from pulsetrain.schemas.arrays import FloatArray, IntArray


def analyse(values: FloatArray, groups: IntArray) -> tuple[FloatArray, FloatArray]:
    """F between groups and its p-value, both (columns,), of `values` (windows, columns) in `groups` (windows,).

    The p-values are those of Benjamini and Hochberg ("Controlling the false discovery rate", 1995): of many columns
    some differ by chance. A column without any variance has F 0; one that varies between the groups alone has an
    infinite F.
    """
    # scikit-learn subtracts squares of sums, which only centred values of a common size survive.
    spread = values.std(axis=0)
    varies = np.ptp(values, axis=0) > 0
    scaled = (values - values.mean(axis=0)) / np.where(varies, spread, 1.0)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns that are constant within every group, which are dealt with here
        f_values, p_values = f_classif(scaled, groups)
    is_exact = varies & ~((f_values >= 0) & np.isfinite(f_values))
    f_values = np.where(varies, np.where(is_exact, np.inf, f_values), 0.0)
    p_values = np.where(varies, np.where(is_exact, 0.0, p_values), 1.0)
    return f_values, false_discovery_control(p_values)
