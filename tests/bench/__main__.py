"""Measures side by side in one run: `python -m tests.bench [NAME...] [--markdown]`.

Prints one table and writes build/bench/NAME.json (figure to value) and build/bench/machine.json. No time is ever
asserted: the exit code is 1 only when a bench could not run.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.bench.machine import Machine
from tests.bench.report import markdown, print_table, write_machine
from tests.bench.runner import NAMES, ON_REQUEST, run_benches

_RESULTS = Path("build/bench")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the named benches, all of them by default; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure Pulsetrain on this machine.")
    known = (*NAMES, *ON_REQUEST)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which of {', '.join(known)}; default: {', '.join(NAMES)}"
    )
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"there is no bench {unknown[0]!r}: choose from {', '.join(known)}")

    machine = Machine.here()
    write_machine(_RESULTS, machine)
    results = run_benches(options.names or NAMES, _RESULTS, _say)
    if options.markdown:
        print("\n".join(markdown(machine, results.measured)))
    else:
        print_table(machine, results.measured)
    return 1 if results.failed else 0


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
