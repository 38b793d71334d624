"""Values that can't have been measured, as DCGM and others send them."""

import numpy as np
import pytest

from pulsetrain.streams.align.validity import MAX_UNKNOWN_METRICS, Validity, examine

SHARE = "system.cpu.utilization{cpu.mode=user}"
UNKNOWN = "acme.flux"


@pytest.mark.parametrize(
    "sentinel",
    [
        9223372036854775794.0,  # int64 blank: as a double it is 2^63
        float(0x7FFFFFFFFFFFFFF3),
        140737488355328.0,  # double blank
        140737488355331.0,
        2147483632.0,  # int32 blank
        2147483635.0,
        np.inf,
        -np.inf,
    ],
)
def test_a_value_that_stands_for_no_value_is_invalid_whatever_the_metric(sentinel: float) -> None:
    examined = examine(np.array([[1.0], [sentinel]]), Validity().limits((UNKNOWN,)))
    assert examined is not None
    np.testing.assert_array_equal(examined.values, [[1.0], [np.nan]])
    np.testing.assert_array_equal(examined.invalid, [[False], [True]])


@pytest.mark.parametrize("value", [2147483631.0, 2147483636.0, 140737488355327.0, 140737488355332.0, 9.2e18, -1e300])
def test_values_beside_the_sentinels_are_valid(value: float) -> None:
    assert examine(np.array([[value]]), Validity().limits((UNKNOWN,))) is None


@pytest.mark.parametrize(("value", "is_valid"), [(0.0, True), (1.0, True), (-0.01, False), (15.43, False)])
def test_a_share_lies_between_0_and_1(value: float, is_valid: bool) -> None:
    assert (examine(np.array([[value]]), Validity().limits((SHARE,))) is None) == is_valid


def test_each_invalid_cell_has_one_reason() -> None:
    values = np.array([[np.inf, 2147483633.0, 1543.0, np.nan]])
    examined = examine(values, Validity().limits((SHARE, f"{SHARE}2", SHARE, SHARE)))
    assert examined is not None
    assert examined.not_finite.tolist() == [[True, False, False, False]]
    assert examined.sentinel.tolist() == [[False, True, False, False]]
    assert examined.out_of_range.tolist() == [[False, False, True, False]]


def test_a_missing_value_is_not_invalid() -> None:
    assert examine(np.array([[np.nan]]), Validity().limits((SHARE,))) is None


def test_unknown_metrics_are_named_up_to_a_limit() -> None:
    validity = Validity()
    validity.limits((SHARE, UNKNOWN))
    assert validity.unknown_metrics == {UNKNOWN}
    validity.limits(tuple(f"acme.flux.{index}" for index in range(2 * MAX_UNKNOWN_METRICS)))
    assert len(validity.unknown_metrics) == MAX_UNKNOWN_METRICS


def test_limits_share_one_tuple_of_names_between_blocks() -> None:
    validity = Validity()
    first, second = [["a", "b"] for _ in range(2)]
    assert validity.limits(tuple(first)).metrics is validity.limits(tuple(second)).metrics
