"""The loads that the demo puts on this machine, each a small program: `python -m pulsetrain.cli.demo.loads NAME`.

Every load is bounded in time and in what it takes. It ends with the process that started it, however that ends: its
standard input is a pipe whose other end is held there. It leaves nothing behind.
"""

import argparse
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Sequence

_MEBIBYTE = 1024 * 1024

_LOWEST_PRIORITY = 19

_LEAK_MEBIBYTES_PER_SECOND = 384
_LEAK_STEP_MEBIBYTES = 32

_FILE_MEBIBYTES = 64
_COPY_BYTES_A_MESSAGE = 1024
_COPY_MESSAGES_PER_SECOND = 3000
_COPY_STEP_SECONDS = 0.0073
"""No multiple of the kernel's tick, at which CPU time is accounted: each run is to look like every other."""


def cpu_hog() -> None:
    """Keeps a CPU busy, at the lowest priority: whatever else runs on this machine comes first."""
    os.nice(_LOWEST_PRIORITY)
    while True:
        pass


def memory_leak(most_mebibytes: int) -> None:
    """Takes memory at a steady rate, writes to all of it and never lets go."""
    leaked = []
    step_seconds = _LEAK_STEP_MEBIBYTES / _LEAK_MEBIBYTES_PER_SECOND
    for _ in range(most_mebibytes // _LEAK_STEP_MEBIBYTES):
        leaked.append(b"\x55" * (_LEAK_STEP_MEBIBYTES * _MEBIBYTE))
        time.sleep(step_seconds)
    signal.pause()


def disk_hammer(folder: str) -> None:
    """Writes a file of 64 MiB over and over, each MiB forced to the disk; the file has no name and ends with us."""
    block = os.urandom(_MEBIBYTE)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        while True:
            file.seek(0)
            for _ in range(_FILE_MEBIBYTES):
                file.write(block)
                os.fsync(file.fileno())


def network_copy() -> None:
    """Sends messages to itself over the loopback network at a steady rate, as a job that copies a checkpoint does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        receiver, _ = server.accept()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    message = bytes(_COPY_BYTES_A_MESSAGE)
    due = time.monotonic()
    with sender, receiver:
        while True:
            for _ in range(round(_COPY_MESSAGES_PER_SECOND * _COPY_STEP_SECONDS)):
                sender.sendall(message)
                receiver.recv(_COPY_BYTES_A_MESSAGE, socket.MSG_WAITALL)
            due = max(due + _COPY_STEP_SECONDS, time.monotonic() - 1)
            time.sleep(max(0.0, due - time.monotonic()))


def main(arguments: Sequence[str]) -> None:
    """Runs one load until its time is over or the parent has ended."""
    parser = argparse.ArgumentParser(prog="pulsetrain.cli.demo.loads")
    parser.add_argument("--seconds", type=float, required=True)
    loads = parser.add_subparsers(dest="load", required=True)
    loads.add_parser("cpu_hog").add_argument("--processes", type=int, required=True)
    loads.add_parser("memory_leak").add_argument("--mebibytes", type=int, required=True)
    loads.add_parser("disk_hammer").add_argument("--folder", required=True)
    loads.add_parser("network_copy")
    chosen = parser.parse_args(arguments)

    for _ in range(chosen.processes - 1 if chosen.load == "cpu_hog" else 0):
        if os.fork() == 0:
            break
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, chosen.seconds)  # whose signal ends the process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    match chosen.load:
        case "cpu_hog":
            cpu_hog()
        case "memory_leak":
            memory_leak(chosen.mebibytes)
        case "disk_hammer":
            disk_hammer(chosen.folder)
        case "network_copy":
            network_copy()


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
