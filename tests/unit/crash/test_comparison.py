"""The crash test's own verdict: what it calls lost, different, unexpected or a copy."""

from tests.crash.comparison import compare


def test_equal_records_are_right_and_repeated_ones_are_counted_as_copies() -> None:
    result = compare({"a": b"1", "b": b"2"}, [("b", b"2"), ("a", b"1"), ("b", b"2"), ("b", b"2")])

    assert result.is_right
    assert (result.expected, result.published, result.copies) == (2, 4, 2)


def test_a_record_that_never_came_is_lost() -> None:
    result = compare({"a": b"1", "b": b"2"}, [("a", b"1")])

    assert not result.is_right
    assert result.lost == ["b"]


def test_a_record_nobody_expected_is_wrong_and_named_once() -> None:
    result = compare({"a": b"1"}, [("a", b"1"), ("x", b"9"), ("x", b"9")])

    assert not result.is_right
    assert result.unexpected == ["x"]


def test_one_copy_with_other_content_is_wrong_even_where_the_right_one_came_too() -> None:
    result = compare({"a": b"1"}, [("a", b"1"), ("a", b"7"), ("a", b"8"), ("a", b"1")])

    assert not result.is_right
    assert result.different == {"a": (b"1", b"7")}
    assert (result.lost, result.copies) == ([], 1)
