"""The table and the JSON files."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from tests.bench.figures import Figure
from tests.bench.machine import Machine
from tests.bench.report import markdown, print_table, shown, write_json, write_machine

_MACHINE = Machine("AMD EPYC", 2, 23.5, "Linux 6.18", "3.11.7", "2.4.6", 0.25)
_MEASURED = [
    (Figure("worker_samples_per_s", "samples/s", "a worker " + "with a long description " * 6), 1_234_567.8),
    (Figure("worker_vs_empty_agent", "ratio", "worker / empty agent"), 0.4567),
]


def _printed() -> list[str]:
    output = io.StringIO()
    print_table(_MACHINE, _MEASURED, Console(file=output))
    return output.getvalue().splitlines()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1_234_567.8, "1,234,568"),
        (100.0, "100"),
        (99.94, "99.9"),
        (0.45678, "0.457"),
        (0.0001234, "0.000123"),
        (0.0, "0"),
    ],
)
def test_a_value_is_shown_with_three_digits_or_as_a_whole_number(value: float, text: str) -> None:
    assert shown(value) == text


def test_the_machine_stands_above_the_table() -> None:
    assert _printed()[0] == next(markdown(_MACHINE, _MEASURED)) == f"Measured on: {_MACHINE.sentence()}."


def test_each_figure_has_its_value_and_unit_in_one_row() -> None:
    rows = [line.split() for line in _printed()]
    assert ["worker_samples_per_s", "1,234,568", "samples/s"] in [row[:3] for row in rows]
    assert ["worker_vs_empty_agent", "0.457", "ratio", "worker", "/", "empty", "agent"] in rows


def test_a_figure_that_was_not_measured_says_what_it_needs() -> None:
    peer = Figure("peer_ms", "ms", "how long a neighbour takes", needs="Debian's neighbour")
    row = "| `peer_ms` | - | ms | not measured, needs Debian's neighbour: how long a neighbour takes |"
    assert list(markdown(_MACHINE, [(peer, None)]))[-1] == row


def test_a_markdown_row_has_four_cells_on_one_line() -> None:
    lines = list(markdown(_MACHINE, _MEASURED))
    assert lines[2:4] == ["| figure | value | unit | what it is |", "|---|---:|---|---|"]
    assert lines[5] == "| `worker_vs_empty_agent` | 0.457 | ratio | worker / empty agent |"
    assert len(lines) == 4 + len(_MEASURED)


def test_a_json_file_maps_each_figure_to_its_full_value(tmp_path: Path) -> None:
    write_json(tmp_path / "new" / "folder", "worker", {"worker_vs_empty_agent": 0.45678})
    assert json.loads((tmp_path / "new" / "folder" / "worker.json").read_text()) == {"worker_vs_empty_agent": 0.45678}


def test_a_value_that_json_cannot_carry_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path, "worker", {"ratio": float("nan")})


def test_the_machine_has_a_json_file_of_its_own(tmp_path: Path) -> None:
    write_machine(tmp_path, _MACHINE)
    assert json.loads((tmp_path / "machine.json").read_text())["load_average_1min"] == 0.25
