"""One table of all figures, and a JSON file per bench."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from tests.bench.figures import Figure
from tests.bench.machine import Machine

Measured = Sequence[tuple[Figure, float | None]]
"""None is a figure that could not be measured on this machine."""

# Where no terminal says how wide it is.
_PLAIN_COLUMNS = 150


def shown(value: float | None) -> str:
    """A value with as many digits as a measurement deserves: three, or a whole number."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def print_table(machine: Machine, measured: Measured, console: Console | None = None) -> None:
    """Prints the machine and the figures for people; on standard output unless told otherwise."""
    console = console or Console()
    if not console.is_terminal:
        console.width = _PLAIN_COLUMNS
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("figure", no_wrap=True)
    table.add_column("value", no_wrap=True, justify="right")
    table.add_column("unit", no_wrap=True)
    table.add_column("what it is")
    for figure, value in measured:
        table.add_row(figure.name, shown(value), figure.unit, _described(figure, value))
    console.print(_heading(machine), markup=False, highlight=False)
    console.print(table)


def markdown(machine: Machine, measured: Measured) -> Iterator[str]:
    """The same as lines of Markdown."""
    yield _heading(machine)
    yield ""
    yield "| figure | value | unit | what it is |"
    yield "|---|---:|---|---|"
    for figure, value in measured:
        yield f"| `{figure.name}` | {shown(value)} | {figure.unit} | {_described(figure, value)} |"


def write_json(folder: Path, name: str, values: Mapping[str, object]) -> None:
    """Writes `folder/name.json`.

    Raises:
        ValueError: a value is NaN or infinite.
    """
    text = json.dumps(values, indent=2, allow_nan=False)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(text + "\n")


def write_machine(folder: Path, machine: Machine) -> None:
    """Writes `folder/machine.json`."""
    write_json(folder, "machine", asdict(machine))


def _described(figure: Figure, value: float | None) -> str:
    return figure.description if value is not None else f"not measured, needs {figure.needs}: {figure.description}"


def _heading(machine: Machine) -> str:
    return f"Measured on: {machine.sentence()}."
