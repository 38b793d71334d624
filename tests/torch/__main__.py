"""What the hook costs a real training run: `python -m tests.torch`, with the Python of PyTorch in its variable.

Prints one table and writes build/bench/torch.json. No time is ever asserted.
"""

import os
import sys
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.machine import Machine
from tests.bench.report import print_table, write_json
from tests.torch.ranks import PYTHON_VARIABLE, WORLD_SIZE, train

_RESULTS = Path("build/bench")

FIGURES = (
    Figure("step_us_without_hook", "us", "CPU time of a training step without the hook; median of the slower rank"),
    Figure("step_us_with_hook", "us", "the same with the hook and its timing of all-reduces, in turns with these"),
    Figure("hook_us", "us", "of these, what `probe.step` and the wait for the next batch took"),
)


def main() -> int:
    """Trains and prints; returns the exit code."""
    python = os.environ.get(PYTHON_VARIABLE)
    if not python:
        print(f"{PYTHON_VARIABLE} does not name a Python with PyTorch: run `make test-torch`", file=sys.stderr)
        return 2
    ranks = train(python).printed["overhead"]
    assert len(ranks) == WORLD_SIZE
    values = {figure.name: max(float(rank[figure.name]) for rank in ranks) for figure in FIGURES}
    print_table(Machine.here(), [(figure, values[figure.name]) for figure in FIGURES])
    write_json(_RESULTS, "torch", values)
    return 0


if __name__ == "__main__":
    sys.exit(main())
