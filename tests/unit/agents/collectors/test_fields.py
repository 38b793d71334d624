"""Files of named numbers."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.collectors.fields import Field, FieldReader, split_flat
from pulsetrain.agents.collectors.numbers import to_floats

FIELDS = (
    Field("a", (b"alpha",), 2.0),
    Field("sum", (b"x_dma", b"x_normal", b"x_high")),
    Field("rest", (b"alpha",), 10.0, minus=(b"x_dma",)),
    Field("share", (b"x_dma",), per=b"alpha"),
    Field("never", (b"not_there",)),
)
CONTENT = b"alpha 8\nbeta 1\nx_dma 2\nx_normal 3\n"


def reader() -> FieldReader:
    fields = FieldReader(split_flat, FIELDS)
    assert fields.layout(CONTENT) == ("a", "sum", "rest", "share")
    return fields


def test_values_are_sums_and_differences_of_the_numbers_times_the_scale() -> None:
    assert reader().values([CONTENT])[0] == [16.0, 5.0, 60.0, 0.25]


def test_numbers_are_found_when_lines_move() -> None:
    assert reader().values([b"new 9\nx_normal 3\nx_dma 2\nalpha 8\n"])[0] == [16.0, 5.0, 60.0, 0.25]


def test_a_number_that_vanishes_is_missing_and_the_others_stay() -> None:
    fields = reader()
    values = fields.values([b"x_dma 2\nx_normal 3\n"])[0]
    assert math.isnan(values[0])
    assert values[1] == 5.0
    assert math.isnan(values[2])
    assert math.isnan(values[3])
    assert fields.values([CONTENT])[0] == [16.0, 5.0, 60.0, 0.25]


def test_a_share_of_nothing_is_missing() -> None:
    assert math.isnan(reader().values([b"alpha 0\nbeta 1\nx_dma 2\nx_normal 3\n"])[0][3])


@pytest.mark.parametrize(
    "content", [b"alpha eight\nx_dma 1\nx_normal 1\n", b"alpha\n", b"alpha 1,2\nx_dma 3\n", b"alpha NaN\nx_dma 3\n"]
)
def test_words_that_are_no_numbers_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="number"):
        reader().values([content])


@given(
    st.lists(
        st.one_of(st.integers(-(2**63), 2**64).map(str), st.floats(allow_nan=False, allow_infinity=False).map(repr))
    )
)
def test_numbers_are_those_that_float_reads(words: list[str]) -> None:
    assert to_floats([word.encode() for word in words]) == [float(word) for word in words]


@given(st.lists(st.binary(max_size=8), max_size=5))
def test_any_words_give_as_many_numbers_or_a_value_error(words: list[bytes]) -> None:
    try:
        numbers = to_floats(words)
    except ValueError:
        return
    assert len(numbers) == len(words)
    assert all(math.isfinite(number) for number in numbers)


def test_a_content_that_has_not_changed_is_not_taken_apart_again() -> None:
    splits: list[bytes] = []

    def split(content: bytes) -> tuple[Sequence[bytes], list[bytes]]:
        splits.append(content)
        return (b"a",), [content]

    fields = FieldReader(split, [Field("a", (b"a",))])
    fields.layout(b"1")
    assert [fields.values([content])[0] for content in (b"1", b"1", b"2", b"1")] == [[1.0], [1.0], [2.0], [1.0]]
    assert splits == [b"1", b"1", b"2", b"1"]


def test_a_content_that_was_refused_is_refused_again() -> None:
    fields = FieldReader(lambda content: ((b"a",), [content]), [Field("a", (b"a",))])
    fields.layout(b"1")
    for _ in range(2):
        with pytest.raises(ValueError, match="no numbers"):
            fields.values([b"x"])
