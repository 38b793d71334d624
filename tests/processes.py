"""Real processes of the product, as an operator starts them, and bounded waits that say what they waited for."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

T = TypeVar("T")

_POLL_SECONDS = 0.1


def wait_until(what: str, condition: Callable[[], T | None], seconds: float = 60.0) -> T:
    """The first truthy result of `condition`; fails with `what` when it takes too long."""
    deadline = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s in vain for {what}")
        time.sleep(_POLL_SECONDS)


class PulsetrainProcess:
    """`pulsetrain ARGUMENTS` with its output in a file; killed at the end of the context."""

    def __init__(self, arguments: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self._arguments = [sys.executable, "-m", "pulsetrain.cli.main", *arguments]
        self._log = log
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the process (again)."""
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                self._arguments, stdout=output, stderr=subprocess.STDOUT, env=self._environment, start_new_session=True
            )

    def kill(self) -> None:
        """SIGKILL to the process and all that it started."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def pause(self) -> None:
        """SIGSTOP: the process stands still."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT: it goes on."""
        self._running().send_signal(signal.SIGCONT)

    def terminate(self) -> None:
        """SIGTERM to the process alone."""
        self._running().send_signal(signal.SIGTERM)

    def hang_up(self) -> None:
        """SIGHUP to the process alone."""
        self._running().send_signal(signal.SIGHUP)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._running().pid

    def wait(self, seconds: float) -> int:
        """The exit code; fails with the end of the log when the process does not end in time."""
        try:
            return self._running().wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self._arguments[3:]} did not end within {seconds:.0f} s:\n{self.log()}") from None

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def log(self, lines: int = 40) -> str:
        """The last lines that the process wrote."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:])

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        if error is not None:
            print(f"--- the last lines of pulsetrain {' '.join(self._arguments[3:])}:\n{self.log()}")

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise AssertionError("the process was not started")
        return self._process
