"""How perf is found and run; tests put something else in the place of `Processes`."""

import os
import select
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Protocol

from pulsetrain.agents.collectors.child_processes import OWN_CHILDREN, ChildProcesses
from pulsetrain.agents.collectors.perf.intervals import LineReader
from pulsetrain.agents.collectors.perf.trial import Answer, Run

_PART_BYTES = 65536
_MAX_PARTS = 16
"""What is read at one call; a pipe holds one part."""
_MAX_ERROR_CHARACTERS = 400
_END_SECONDS = 1.0
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH")
"""What finding perf and its libraries may need; the agent's own environment may hold passwords."""


def perf_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """All that perf gets of an environment: neither a locale nor a user's configuration may change what it prints."""
    kept = {name: environment[name] for name in _KEPT_VARIABLES if name in environment}
    return kept | {"LC_ALL": "C", "PERF_CONFIG": os.devnull}


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


class PerfChild:
    """One running `perf stat`.

    When this process ends, however it ends, the pipe closes, and perf ends by SIGPIPE at its next row: within an
    interval. (PR_SET_PDEATHSIG would already fire when the thread that started it ends.)

    Args:
        command: the program and its arguments; no shell sees them.
        environment: all of its environment.
        children: what it costs is part of what this process costs.

    Raises:
        OSError: it can't be started.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], children: ChildProcesses = OWN_CHILDREN
    ) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            bufsize=0,
            process_group=0,
        )
        self._children = children
        children.add(self._process.pid)
        self._reader = LineReader()
        self._errors = b""
        if self._process.stdout is None or self._process.stderr is None:
            raise OSError("no pipes to perf")
        self._output, self._error_output = self._process.stdout, self._process.stderr
        self._complaining = [self._error_output]
        for stream in (self._output, self._error_output):
            os.set_blocking(stream.fileno(), False)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def too_long_lines(self) -> int:
        """Lines that were thrown away for their length."""
        return self._reader.too_long

    def wait(self, seconds: float) -> None:
        """Wait until it prints something or ends, for so many seconds at most."""
        # Not select(), which takes no descriptor above 1023: an agent that watches many containers has those.
        ready = select.poll()
        try:
            for stream in (self._output, *self._complaining):
                ready.register(stream, select.POLLIN)
            if ready.poll(seconds * 1000):
                self._read_errors()
        except ValueError:
            # It was closed from another thread.
            return

    def lines(self) -> list[bytes]:
        """What it has printed since the last call; never waits. One that can print no more is ended."""
        lines: list[bytes] = []
        for _ in range(_MAX_PARTS):
            part = _read(self._output)
            if part == b"":
                self.end()
            if not part:
                break
            lines += self._reader.lines(part)
            if len(part) < _PART_BYTES:
                break
        return lines

    def exit_code(self) -> int | None:
        """How it ended, negative for a signal; None while it runs."""
        return self._process.poll()

    def error_text(self) -> str:
        """What it complained of last, on one line."""
        self._read_errors()
        return _one_line(self._errors)

    def end(self) -> None:
        """End it and wait for its end, at most two seconds."""
        for end in (self._process.terminate, self._process.kill):
            end()
            try:
                self._process.wait(_END_SECONDS)
                self._children.remove(self._process.pid)
                return
            except subprocess.TimeoutExpired:
                continue

    def close(self) -> None:
        """End it and close the pipes."""
        self.end()
        self._output.close()
        self._error_output.close()

    def _read_errors(self) -> None:
        part = _read(self._error_output)
        self._errors = (self._errors + (part or b""))[-_PART_BYTES:]
        if part == b"":
            self._complaining = []


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


def run_once(command: Sequence[str], seconds: float, environment: Mapping[str, str]) -> Answer | None:
    """Run a command to its end; None if it would take longer than so many seconds.

    Raises:
        OSError: it can't be started.
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            env=dict(environment),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return Answer(done.returncode, done.stdout, _one_line(done.stderr))


def _one_line(text: bytes) -> str:
    return " ".join(text.decode("utf-8", "replace").split())[:_MAX_ERROR_CHARACTERS]


def _read(stream: IO[bytes]) -> bytes | None:
    """What there is, at most `_PART_BYTES`; None for nothing now, nothing for the end."""
    try:
        return os.read(stream.fileno(), _PART_BYTES)
    except BlockingIOError:
        return None
