"""Faults of a training node, made on this machine: `python -m tests.bench.faults FOLDER`.

A steady load runs all the time, a worker that computes 30 ms of every 100. Each line of standard input, `KIND SECONDS`,
makes one fault; its beginning and end, Unix nanoseconds, are written to standard output. Nothing is started for a
fault: starting would show more than the fault itself.
"""

import mmap
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_BUSY_SECONDS, _CYCLE_SECONDS = 0.03, 0.1
_CHUNK = bytes(1 << 20)
_FILE_CHUNKS = 64
_MEMORY_BYTES = 512 << 20
_PAGE_BYTES = 4096
_CONNECTIONS_A_TURN, _TURN_SECONDS = 20, 0.01
_LATEST_ANSWER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault as it happened, Unix nanoseconds."""

    kind: str
    begin_ns: int
    end_ns: int


class Injector:
    """The process that makes faults."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid

    def inject(self, kind: str, seconds: float) -> Fault:
        """Make one fault and wait until it is over."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{kind} {seconds}\n")
        self._process.stdin.flush()
        begin, end = self._process.stdout.readline().split()
        return Fault(kind, int(begin), int(end))


@contextmanager
def injector(folder: Path) -> Iterator[Injector]:
    """The steady load and whoever disturbs it, as long as the context; files go to the folder."""
    command = [sys.executable, "-m", "tests.bench.faults", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Injector(process)
        finally:
            process.communicate(timeout=_LATEST_ANSWER_SECONDS)


def processor(seconds: float) -> None:
    """One core is busy."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def disk(seconds: float, file: int) -> None:
    """Writes as fast as the disk takes them, each of 1 MiB made durable."""
    until = time.monotonic() + seconds
    written = 0
    while time.monotonic() < until:
        os.pwrite(file, _CHUNK, written % _FILE_CHUNKS * len(_CHUNK))
        os.fdatasync(file)
        written += 1


def memory(seconds: float) -> None:
    """512 MiB are taken, page by page, and given back."""
    until = time.monotonic() + seconds
    with mmap.mmap(-1, _MEMORY_BYTES) as taken:
        for position in range(0, _MEMORY_BYTES, _PAGE_BYTES):
            taken[position] = 1
        time.sleep(max(0.0, until - time.monotonic()))


def network(seconds: float) -> None:
    """2,000 connections a second to a port where nobody listens: attempts fail, resets come back."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = nobody.getsockname()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for _ in range(_CONNECTIONS_A_TURN):
                with socket.socket() as client:
                    client.connect_ex(address)
            time.sleep(_TURN_SECONDS)


def stall(seconds: float, worker: int) -> None:
    """The steady load stands still and goes on."""
    os.kill(worker, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(worker, signal.SIGCONT)


KINDS = ("processor", "disk", "memory", "network", "stall")


def main(folder: str) -> None:
    """Makes faults until standard input ends."""
    worker = os.fork()
    if worker == 0:
        _work()
    file = os.open(Path(folder) / "burst", os.O_RDWR | os.O_CREAT, 0o600)
    makers: Mapping[str, Callable[[float], None]] = {
        "processor": processor,
        "disk": lambda seconds: disk(seconds, file),
        "memory": memory,
        "network": network,
        "stall": lambda seconds: stall(seconds, worker),
    }
    try:
        for line in sys.stdin:
            kind, seconds = line.split()
            begin_ns = time.time_ns()
            makers[kind](float(seconds))
            print(begin_ns, time.time_ns(), flush=True)
    finally:
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)


def _work() -> None:
    """The steady load; ends with its parent."""
    parent = os.getppid()
    while os.getppid() == parent:
        processor(_BUSY_SECONDS)
        time.sleep(_CYCLE_SECONDS - _BUSY_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
