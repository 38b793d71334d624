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

STOP_SECONDS = 10.0
"""How long the command has to end by itself after SIGTERM before it is killed."""


def main(command: list[str]) -> int:
    """Exit code of the command."""
    let_go = threading.Event()
    signal.signal(signal.SIGTERM, lambda _signal, _frame: let_go.set())
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=_watch_parent, args=(let_go,), daemon=True).start()
    threading.Thread(target=_end_when, args=(let_go, child), daemon=True).start()
    return child.wait()


def _watch_parent(let_go: threading.Event) -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    let_go.set()


def _end_when(let_go: threading.Event, child: subprocess.Popen[bytes]) -> None:
    let_go.wait()
    child.terminate()
    try:
        child.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
