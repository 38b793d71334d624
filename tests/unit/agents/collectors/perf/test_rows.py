"""What perf prints, row by row: recorded here with perf 6.1, and as its other versions and processors have it."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.collectors.perf.events import split_name
from pulsetrain.agents.collectors.perf.intervals import IntervalAssembler
from pulsetrain.agents.collectors.perf.rows import Row, parse_row

DATA = Path("tests/data/perf")


def rows(name: str) -> list[Row]:
    lines = (DATA / name).read_bytes().splitlines()
    return [row for line in lines if (row := parse_row(line)) is not None]


def test_a_virtual_machine_says_that_no_hardware_event_is_supported() -> None:
    found = rows("perf-6.1-virtual-machine.csv")
    assert len(found) == 27
    assert len({row.seconds for row in found}) == 3
    by_missing = {row.event: row.missing for row in found}
    assert by_missing == {
        "cycles": "not supported",
        "instructions": "not supported",
        "branches": "not supported",
        "branch-misses": "not supported",
        "stalled-cycles-frontend": "not supported",
        "stalled-cycles-backend": "not supported",
        "cpu-migrations": "",
        "context-switches": "",
        "page-faults": "",
    }
    assert all(math.isnan(row.value) for row in found if row.missing)


def test_the_count_stands_in_the_column_behind_the_time() -> None:
    found = rows("perf-6.1-virtual-machine.csv")
    assert [row.value for row in found[6:9]] == [140.0, 1226.0, 1740.0]
    assert found[0].seconds == 0.200245515


def test_not_counted_is_missing_with_its_reason_and_never_zero() -> None:
    row = parse_row(b"     1.000106829;<not counted>;;instructions;0;0.00;;")
    assert row is not None
    assert math.isnan(row.value)
    assert row.missing == "not counted"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   \r",
        b"# started on Sun Nov 29 21:18:14 2026",
        b"     1.000106829;;;;;;33.1;%  tma_backend_bound",
    ],
)
def test_headers_blank_lines_and_rows_of_metrics_alone_are_no_errors(line: bytes) -> None:
    assert parse_row(line) is None


def test_extra_trailing_columns_are_ignored() -> None:
    row = parse_row(b"1.0;123456;;cycles;1001375314;100.00;0.12;GHz;1.1;top-down retiring")
    assert row is not None
    assert (row.event, row.value) == ("cycles", 123456.0)


@pytest.mark.parametrize(
    "line",
    [
        b"6376827291,,cycles,cg,2011741096,100,00,3,GHz",
        b"     0,500559285;1002,58;msec;task-clock;1002578576;100,00;2,005;CPUs utilized",
        b"     0.500559285;1002,58;msec;task-clock;1002578576;100.00;2.005;CPUs utilized",
    ],
)
def test_a_row_with_decimal_commas_is_rejected_not_shifted(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_row(line)


def test_a_count_scaled_up_from_half_of_the_interval_is_kept() -> None:
    row = parse_row(b"1.5;2000;;cycles;400;50.00;;")
    assert row is not None
    assert row.value == 2000.0


def test_a_count_from_less_than_a_tenth_of_the_interval_is_missing_and_says_so() -> None:
    row = parse_row(b"1.5;2000;;cycles;400;9.99;;")
    assert row is not None
    assert math.isnan(row.value)
    assert row.missing == "counted in only 9.99 % of the interval"


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("cycles", ("", "cycles")),
        ("cycles:u", ("", "cycles")),
        ("cpu_core/cycles/", ("cpu_core", "cycles")),
        ("cpu_atom/cycles/u", ("cpu_atom", "cycles")),
        ("uncore_imc/cas_count_read/", ("uncore_imc", "cas_count_read")),
        ("uncore_imc_11/cas_count_read/", ("uncore_imc", "cas_count_read")),
        ("sched:sched_switch", ("", "sched:sched_switch")),
        ("l3_lookup_state.l3_miss", ("", "l3_lookup_state.l3_miss")),
    ],
)
def test_units_and_modifiers_are_taken_off_the_name_of_an_event(printed: str, expected: tuple[str, str]) -> None:
    assert split_name(printed) == expected


fields = st.sampled_from(
    [
        b"1.5",
        b"-1",
        b"nan",
        b"inf",
        b"1e999",
        b"<not counted>",
        b"cycles",
        b"",
        b"100.00",
        b"S0",
        b"2",
        b";",
        b"\xff",
        b"1_0",
    ]
)
garbage = st.one_of(st.binary(max_size=200), st.lists(fields, max_size=12).map(b";".join))


@given(st.lists(garbage, max_size=30))
def test_no_line_whatever_it_holds_gets_through_but_a_finite_count_or_a_reason(lines: list[bytes]) -> None:
    assembler = IntervalAssembler()
    for interval in assembler.intervals([*lines, *lines]):
        assert interval.seconds > 0.0
        for row in interval.rows:
            assert (math.isfinite(row.value) and row.value >= 0.0) != bool(row.missing)
    assert assembler.errors <= 2 * len(lines)
    assert bool(assembler.errors) == bool(assembler.last_error)
