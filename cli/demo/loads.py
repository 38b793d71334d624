"""The loads that the demo puts on this machine, each a small program: `python -m pulsetrain.cli.demo.loads NAME`.

Every load is bounded in time and in what it takes. It ends with the process that started it, however that ends: its
standard input is a pipe whose other end is held there. It leaves nothing behind.
"""

import argparse
import os
import random
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
_BYTES_A_MESSAGE = 1024
_CHECKPOINT_SHARE = 0.25
"""Share of a training job's steps after which it writes."""

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
    sender, receiver = _connection()
    due = time.monotonic()
    while True:
        _send(sender, receiver, round(_COPY_MESSAGES_PER_SECOND * _COPY_STEP_SECONDS))
        due = max(due + _COPY_STEP_SECONDS, time.monotonic() - 1)
        time.sleep(max(0.0, due - time.monotonic()))


def training_job(folder: str) -> None:
    """Does a little of all that a training loop does, in uneven steps: what is normal on a machine that works."""
    chance = random.Random(1)  # noqa: S311  # the same steps in each demo
    sender, receiver = _connection()
    with tempfile.TemporaryFile(dir=folder, buffering=0) as data:
        data.write(os.urandom(_FILE_MEBIBYTES * _MEBIBYTE))
        os.fsync(data.fileno())
        while True:
            batch = b"\x55" * chance.randrange(4 * _MEBIBYTE, 24 * _MEBIBYTE)
            _compute(chance.uniform(0.005, 0.08))
            _read(
                data.fileno(), [chance.randrange(_FILE_MEBIBYTES - 1) * _MEBIBYTE for _ in range(chance.randrange(6))]
            )
            _send(sender, receiver, chance.randrange(20, 100))
            for _ in range(chance.randrange(3)):
                os.waitpid(os.posix_spawnp("true", ["true"], os.environ), 0)
            if chance.random() < _CHECKPOINT_SHARE:
                _write(folder, batch[: chance.randrange(_MEBIBYTE, 4 * _MEBIBYTE)])
            del batch
            time.sleep(chance.uniform(0.05, 0.6))


def _connection() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        receiver, _ = server.accept()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sender, receiver


def _send(sender: socket.socket, receiver: socket.socket, messages: int) -> None:
    message = bytes(_BYTES_A_MESSAGE)
    for _ in range(messages):
        sender.sendall(message)
        receiver.recv(_BYTES_A_MESSAGE, socket.MSG_WAITALL)


def _compute(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def _read(file: int, offsets: Sequence[int]) -> None:
    """From the disk: what the page cache has of the file is dropped first."""
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    for offset in offsets:
        os.pread(file, _MEBIBYTE // 4, offset)


def _write(folder: str, content: bytes) -> None:
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        file.write(content)
        os.fsync(file.fileno())


def main(arguments: Sequence[str]) -> None:
    """Runs one load until its time is over or the parent has ended."""
    parser = argparse.ArgumentParser(prog="pulsetrain.cli.demo.loads")
    parser.add_argument("--seconds", type=float, required=True)
    loads = parser.add_subparsers(dest="load", required=True)
    loads.add_parser("cpu_hog").add_argument("--processes", type=int, required=True)
    loads.add_parser("memory_leak").add_argument("--mebibytes", type=int, required=True)
    loads.add_parser("disk_hammer").add_argument("--folder", required=True)
    loads.add_parser("network_copy")
    loads.add_parser("training_job").add_argument("--folder", required=True)
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
        case "training_job":
            training_job(chosen.folder)


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
