"""Run a command that ends when the process that started this one does, however that ended.

Started as a script: `python leash.py COMMAND ARGUMENT...`, with a pipe as standard input that the parent keeps
open. End of file on it (the parent closed it, exited, or was killed) or SIGTERM ends the command.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

STOP_SECONDS = 10.0
"""How long the command has to end by itself after SIGTERM before it is killed."""


def main(command: list[str]) -> int:
    """Exit code of the command."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, lambda _signal, _frame: _in_background(_end, child))
    _in_background(_end_with_parent, child)
    return child.wait()


def _in_background(task: Callable[[subprocess.Popen[bytes]], None], child: subprocess.Popen[bytes]) -> None:
    threading.Thread(target=task, args=(child,), daemon=True).start()


def _end_with_parent(child: subprocess.Popen[bytes]) -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
