"""The windows of a selection: no sample counts twice, and a fault is found in the columns by name."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.models.selection.windows import FaultWindows, as_fault, independent
from pulsetrain.models.training_matrix import TrainingMatrix


def test_of_hopping_windows_those_are_taken_that_share_no_sample() -> None:
    # Windows of 30 that hop by 10: the one that ends at 60 is the first that begins where that of 30 ends.
    assert independent(np.array([30, 40, 50, 60, 70, 80, 90]), ["a"] * 7, 30).tolist() == [0, 3, 6]


def test_windows_of_two_entities_share_no_sample_whenever_they_end() -> None:
    assert independent(np.array([30, 30, 40, 40]), ["a", "b", "a", "b"], 30).tolist() == [0, 1]


@given(ends=st.lists(st.integers(0, 200), max_size=40), window=st.integers(1, 50))
def test_no_two_taken_windows_overlap_and_none_that_fits_is_left(ends: list[int], window: int) -> None:
    taken = sorted(ends[index] for index in independent(np.array(ends, dtype=np.int64), ["a"] * len(ends), window))

    assert all(late - early >= window for early, late in pairwise(taken))
    assert all(any(abs(end - one) < window for one in taken) for end in ends)


def test_a_fault_is_read_by_name_and_what_it_lacks_is_missing() -> None:
    matrix = TrainingMatrix(
        ("b__mean", "c__mean"), np.array([[1.0, np.nan], [2.0, 5.0]]), np.array([10, 20]), ("n/host",) * 2
    )

    fault = as_fault(FaultWindows(matrix, 20, 20), ["a__mean", "b__mean", "c__mean"])

    np.testing.assert_array_equal(fault.values, [[np.nan, 1, np.nan], [np.nan, 2, 5]])
    assert fault.is_during().tolist() == [False, True]
    assert fault.is_during(later_ns=-10).tolist() == [True, False]


def test_a_fault_whose_windows_are_gone_has_none() -> None:
    gone = TrainingMatrix((), np.empty((0, 0)), np.empty(0, dtype=np.int64), ())

    assert as_fault(FaultWindows(gone, 20, 20), ["a__mean"]).values.shape == (0, 1)
