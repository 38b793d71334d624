"""Lines become whole intervals, at the earliest moment at which they are whole."""

from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.collectors.perf.intervals import IntervalAssembler, LineReader, merged


def row(seconds: float, event: str, value: int = 1) -> bytes:
    return f"     {seconds:.9f};{value};;{event};100;100.00;;".encode()


def assembler() -> IntervalAssembler:
    return IntervalAssembler()


def test_the_first_interval_is_complete_when_the_second_begins() -> None:
    rows = assembler()
    assert rows.intervals([row(0.5, "a"), row(0.5, "b")]) == []
    (first,) = rows.intervals([row(1.0, "a")])
    assert (first.end_seconds, first.seconds, len(first.rows)) == (0.5, 0.5, 2)


def test_later_ones_are_complete_with_their_last_row() -> None:
    rows = assembler()
    rows.intervals([row(0.5, "a"), row(0.5, "b"), row(1.0, "a")])
    (second,) = rows.intervals([row(1.0, "b")])
    assert (second.end_seconds, second.seconds, len(second.rows)) == (1.0, 0.5, 2)


def test_a_garbled_row_costs_its_own_interval_one_event_and_the_next_ones_nothing() -> None:
    rows = assembler()
    rows.intervals([row(0.5, "a"), row(0.5, "b"), row(1.0, "a"), row(1.0, "b")])
    assert rows.intervals([row(1.5, "a"), b"1,5;1;;b;100;100,00;;"]) == []
    (garbled,) = rows.intervals([row(2.0, "a")])
    assert [each.event for each in garbled.rows] == ["a"]
    (whole,) = rows.intervals([row(2.0, "b")])
    assert [each.event for each in whole.rows] == ["a", "b"]
    assert rows.errors == 1


def test_of_an_event_with_two_rows_one_alone_is_left_out() -> None:
    rows = assembler()
    core, atom = "cpu_core/cycles/", "cpu_atom/cycles/"
    rows.intervals([row(0.5, core), row(0.5, atom), row(0.5, "b"), row(1.0, core), row(1.0, atom), row(1.0, "b")])
    garbled = rows.intervals([row(1.5, core), b"1,5;1;;cpu_atom/cycles/;100;100,00;;", row(1.5, "b"), row(2.0, core)])
    assert [each.event for each in garbled[0].rows] == ["b"]
    (whole,) = rows.intervals([row(2.0, atom), row(2.0, "b")])
    assert [each.event for each in whole.rows] == ["cycles", "cycles", "b"]


def test_rows_that_perf_prints_no_more_are_missed_twice_and_then_no_longer() -> None:
    rows = assembler()
    core, atom = "cpu_core/cycles/", "cpu_atom/cycles/"
    rows.intervals([row(0.5, core), row(0.5, atom), row(1.0, core), row(1.0, atom)])
    found = rows.intervals([row(1.5 + number / 2, core) for number in range(5)])
    assert [len(interval.rows) for interval in found] == [0, 0, 1, 1, 1]


def test_rows_that_perf_begins_to_print_later_are_found() -> None:
    rows = assembler()
    rows.intervals([row(0.5, "a"), row(1.0, "a"), row(1.0, "b")])
    assert rows.errors == 1
    rows.intervals([row(1.5, "a"), row(1.5, "b"), row(2.0, "a")])
    (interval,) = rows.intervals([row(2.0, "b")])
    assert [each.event for each in interval.rows] == ["a", "b"]


def test_a_time_that_goes_back_is_an_error() -> None:
    rows = assembler()
    rows.intervals([row(1.0, "a"), row(2.0, "a")])
    assert rows.intervals([row(0.5, "a")]) == []
    assert rows.errors == 1


def test_intervals_that_follow_each_other_add_up() -> None:
    rows = assembler()
    rows.intervals([row(0.5, "a", 3), row(1.25, "a", 4)])
    intervals = rows.intervals([row(1.75, "a", 5), row(2.5, "a", 6)])
    whole = merged(intervals)
    assert (whole.end_seconds, whole.seconds) == (2.5, 1.25)
    assert [each.value for each in whole.rows] == [5.0, 6.0]


def test_an_event_that_one_of_several_intervals_lacks_is_left_out_of_their_sum() -> None:
    rows = assembler()
    rows.intervals([row(0.5, "a"), row(0.5, "b"), row(1.0, "a"), row(1.0, "b")])
    garbled = b"1,5;1;;b;100;100,00;;"
    intervals = rows.intervals([row(1.5, "a", 3), garbled, row(2.0, "a", 4), row(2.0, "b", 5)])
    assert len(intervals) == 2
    assert [(each.event, each.value) for each in merged(intervals).rows] == [("a", 3.0), ("a", 4.0)]


@given(st.lists(st.binary(max_size=40), max_size=20), st.data())
def test_lines_are_the_same_however_they_are_cut(lines: list[bytes], data: st.DataObject) -> None:
    expected = [part for line in lines for part in line.split(b"\n")]
    text = b"".join(line + b"\n" for line in lines)
    reader, found = LineReader(), []
    while text:
        size = data.draw(st.integers(1, len(text)))
        found += reader.lines(text[:size])
        text = text[size:]
    assert found == expected


def test_a_line_without_end_takes_no_room_and_is_counted_once() -> None:
    reader = LineReader()
    for _ in range(100):
        assert reader.lines(b"x" * 10_000) == []
    assert reader.lines(b"end of it\nnext\n") == [b"next"]
    assert reader.too_long == 1
