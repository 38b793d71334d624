"""Processor time and memory of the agent: this process and those that it has started."""

import math
import os
from collections.abc import Callable
from pathlib import Path

from pulsetrain.agents.collectors.child_processes import OWN_CHILDREN, ChildProcesses
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.errors import CollectError

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class OwnProcess:
    """Figures of all threads of this process, and of its children.

    Args:
        proc_root: where /proc is.
        cpu_time_ns: processor time of this process, all threads.
        monotonic_ns: a clock that is never set.
        children: the processes that it has started.
    """

    def __init__(
        self,
        proc_root: Path,
        cpu_time_ns: Callable[[], int],
        monotonic_ns: Callable[[], int],
        children: ChildProcesses = OWN_CHILDREN,
    ) -> None:
        self._file = KernelFile(proc_root / "self/statm")
        self.source = str(self._file.path)
        self._cpu_time_ns = cpu_time_ns
        self._monotonic_ns = monotonic_ns
        self._children = children
        self._previous: tuple[int, int] | None = None

    def cpu_share(self) -> float:
        """Of one CPU since the previous call; NaN at the first one, and where no time has passed."""
        cpu_time_ns = self._cpu_time_ns() + self._children.cpu_time_ns()
        previous, now = self._previous, (cpu_time_ns, self._monotonic_ns())
        self._previous = now
        if previous is None or now[1] <= previous[1]:
            return math.nan
        return (now[0] - previous[0]) / (now[1] - previous[1])

    def resident_bytes(self) -> float:
        """Resident memory, of children without the pages of files; NaN where it can't be read."""
        return number_in(self._file, 1) * _PAGE_BYTES + self._children.resident_bytes()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def number_in(file: KernelFile, word: int) -> float:
    """The number that a word of a file spells, counted from 0; NaN where it can't be read."""
    try:
        return float(file.read().split()[word])
    except (CollectError, ValueError, IndexError):
        return math.nan
