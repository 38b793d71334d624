"""How the collector reaches perf; tests put something else here."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from pulsetrain.agents.collectors.perf.child import PerfChild, perf_environment, run_once
from pulsetrain.agents.collectors.perf.trial import Run


class Child(Protocol):
    """A running `perf stat`."""

    @property
    def too_long_lines(self) -> int:
        """Lines that were thrown away for their length."""

    def wait(self, seconds: float) -> None:
        """Wait until it prints something or ends, for so many seconds at most."""

    def lines(self) -> list[bytes]:
        """What it has printed since the last call; never waits."""

    def exit_code(self) -> int | None:
        """How it ended; None while it runs."""

    def error_text(self) -> str:
        """What it complained of."""

    def end(self) -> None:
        """End it; a `wait` in another thread returns."""

    def close(self) -> None:
        """End it and close the pipes."""


@dataclass(frozen=True, slots=True)
class Processes:
    """How perf is found and run.

    `program`: where it is, None if nowhere. `run`: runs a command to its end. `start`: starts one that goes on; raises
    OSError if it can't be started.
    """

    program: str | None
    run: Run
    start: Callable[[Sequence[str]], Child]


def own_processes(environment: Mapping[str, str] = os.environ) -> Processes:
    """The perf on this machine's search path."""
    cleaned = perf_environment(environment)
    return Processes(
        find_program("perf", environment.get("PATH", os.defpath)),
        partial(run_once, environment=cleaned),
        partial(PerfChild, environment=cleaned),
    )


def find_program(name: str, path: str) -> str | None:
    """Where a program is on the search path, as a file that may be executed."""
    for folder in path.split(os.pathsep):
        candidate = Path(folder) / name
        # A folder that may not be looked into has nothing to execute; only then does is_file() not raise.
        if candidate.is_absolute() and os.access(candidate, os.X_OK) and candidate.is_file():
            return str(candidate)
    return None
