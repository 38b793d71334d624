"""One table of all figures, and a JSON file per bench."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from tests.bench.figures import Figure
from tests.bench.machine import Machine

Measured = Sequence[tuple[Figure, float]]

# Where no terminal says how wide it is; a Markdown row must stay on one line, however long it gets.
_PLAIN_COLUMNS = 150
_MARKDOWN_COLUMNS = 300


def shown(value: float) -> str:
    """A value with as many digits as a measurement deserves: three, or a whole number."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def print_report(machine: Machine, measured: Measured, markdown: bool, console: Console | None = None) -> None:
    """Prints the machine and the table, as Markdown or for a terminal; on standard output unless told otherwise."""
    console = console or Console(highlight=False)
    if markdown or not console.is_terminal:
        console.width = _MARKDOWN_COLUMNS if markdown else _PLAIN_COLUMNS
    console.print(f"Measured on: {machine.sentence()}.", markup=False)
    console.print()
    console.print(_table(measured, markdown))


def write_json(folder: Path, name: str, values: Mapping[str, object]) -> None:
    """Writes `folder/name.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(values, indent=2, allow_nan=False) + "\n")


def write_machine(folder: Path, machine: Machine) -> None:
    """Writes `folder/machine.json`."""
    write_json(folder, "machine", asdict(machine))


def _table(measured: Measured, markdown: bool) -> Table:
    table = Table(box=box.MARKDOWN if markdown else box.SIMPLE_HEAD)
    table.add_column("figure", no_wrap=True)
    table.add_column("value", no_wrap=True, justify="right")
    table.add_column("unit", no_wrap=True)
    table.add_column("what it is")
    for figure, value in measured:
        table.add_row(f"`{figure.name}`" if markdown else figure.name, shown(value), figure.unit, figure.description)
    return table
