"""The demo's child processes: the product's own, and the loads. None outlives the demo, however that ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from pulsetrain.cli.brokers import leash
from pulsetrain.cli.errors import CliError

STOP_SECONDS = 12.0
"""How long the product's processes have to end in an orderly way before they are killed."""

_LOG_TAIL_LINES = 12


class Children:
    """Processes of `pulsetrain`, each on a leash and with a log file of its own, as long as the context.

    Args:
        folder: where their logs and whatever they write for a while go.
        environment: their environment variables.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = {**environment, "TMPDIR": str(folder)}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, arguments: Sequence[str]) -> None:
        """Starts `pulsetrain ARGUMENT...`."""
        command = [sys.executable, "-m", "pulsetrain.cli.main", *arguments]
        with self._log(name).open("wb") as log:
            self._processes[name] = subprocess.Popen(
                [sys.executable, "-I", leash.__file__, *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
            )

    def check(self) -> None:
        """Passes if all of them run.

        Raises:
            CliError: one has ended; the message holds the last lines of its log.
        """
        for name, process in self._processes.items():
            if (code := process.poll()) is not None:
                lines = self._log(name).read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:]
                raise CliError("\n".join([f"The {name} ended with code {code}. Its last lines:", *lines]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"


class Loads:
    """The loads on this machine, by their names, as long as the context."""

    def __init__(self) -> None:
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, load: str, arguments: Sequence[str], longest_seconds: float) -> None:
        """Starts a load, which ends by itself after the longest time."""
        command = [sys.executable, "-m", "pulsetrain.cli.demo.loads", "--seconds", str(longest_seconds), load]
        # In a session of its own: Ctrl-C at the terminal is for the demo, which ends them all.
        self._processes[load] = subprocess.Popen(
            [*command, *arguments], stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )

    def check(self) -> None:
        """Passes if every load goes on, or its time is over.

        Raises:
            CliError: one could not do what it should; the message holds its last words.
        """
        for load, process in list(self._processes.items()):
            if process.poll() not in (None, -signal.SIGALRM):
                del self._processes[load]
                _, said = process.communicate()
                last_line = said.decode(errors="replace").strip().rpartition("\n")[2]
                raise CliError(f"The load {load} ended with code {process.returncode}: {last_line}.")

    def stop(self, load: str) -> None:
        """Ends a load with all its processes; there is nothing that they would have to tidy up."""
        process = self._processes.pop(load)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for load in list(self._processes):
            self.stop(load)
