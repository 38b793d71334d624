"""Runs benches one after another; one that fails doesn't keep the others from running."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from tests.bench.figures import BenchError, Figure
from tests.bench.report import write_json

NAMES = ("kernels", "efficient", "scoring", "worker", "agent")
"""Each is a module here with its FIGURES and a `run()` that measures them."""

ON_REQUEST = ("features", "interval_curve")
"""Modules like those that run only when they are named: figures of several benches in one table, faults for minutes."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What it measures, and how: `run` gives a value for each figure."""

    figures: Sequence[Figure]
    run: Callable[[], dict[str, float]]


@dataclass
class Results:
    """Figures with their values, None where this machine lacks what one needs, and the benches that could not run."""

    measured: list[tuple[Figure, float | None]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def load(name: str) -> Bench:
    """The bench of that name; imports what it needs."""
    module = import_module(f"tests.bench.{name}")
    return Bench(module.FIGURES, module.run)


def run_benches(
    names: Sequence[str], folder: Path, say: Callable[[str], None], load: Callable[[str], Bench] = load
) -> Results:
    """Runs the named benches and writes `folder/NAME.json` for each that could run.

    Args:
        say: called with a sentence of progress, and one for a bench that could not run.
    """
    results = Results()
    for number, name in enumerate(names, start=1):
        say(f"{name} ({number} of {len(names)}) ...")
        # A bench that fails must not leave the figures of an earlier run behind.
        (folder / f"{name}.json").unlink(missing_ok=True)
        begin = time.monotonic()
        try:
            bench = load(name)
            values = _in_order(bench.figures, bench.run())
            write_json(folder, name, values)
        except Exception as error:
            results.failed.append(name)
            say(f"{name} could not run ({type(error).__name__}): {error}")
        else:
            results.measured += [(figure, values.get(figure.name)) for figure in bench.figures]
            say(f"{name} done after {time.monotonic() - begin:.0f} s")
    return results


def _in_order(figures: Sequence[Figure], values: dict[str, float]) -> dict[str, float]:
    declared = {figure.name for figure in figures}
    required = {figure.name for figure in figures if not figure.needs}
    if not required <= values.keys() <= declared:
        missing, unknown = required - values.keys(), values.keys() - declared
        raise BenchError(f"not measured: {sorted(missing)}; not declared: {sorted(unknown)}")
    return {figure.name: float(values[figure.name]) for figure in figures if figure.name in values}
