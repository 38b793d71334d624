"""Processor time and memory of the processes that this one has started: an operator who grants the agent one per cent
of a core means all of them.

The kernel adds up those that have ended and were waited for (`RUSAGE_CHILDREN` of getrusage(2)); those that run have to
be named here, by whoever starts them.
"""

import math
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.errors import CollectError

_NS_PER_SECOND = 1e9
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_ALL_THREADS = 2
"""Lowest bits of a process's clock: the scheduler's own count, of all threads (clock_getcpuclockid(3))."""


def ended_ns() -> int:
    """Processor time of all children that have ended and were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((usage.ru_utime + usage.ru_stime) * _NS_PER_SECOND)


def running_ns(pid: int) -> int:
    """Processor time of a child from its start until it is waited for; its own children count when they have ended.

    Raises:
        OSError: there is no such process.
    """
    return time.clock_gettime_ns(~pid << 3 | _ALL_THREADS)


class ChildProcesses:
    """Whoever starts a process that goes on adds it, and removes it once it has ended. For several threads.

    Args:
        ended_ns: processor time of all that have ended.
        running_ns: processor time of one that runs, by its id; raises OSError when there is none any more.
        own_proc: /proc as this process sees itself in it, whatever is shown of the node elsewhere.
    """

    def __init__(
        self,
        ended_ns: Callable[[], int] = ended_ns,
        running_ns: Callable[[int], int] = running_ns,
        own_proc: Path = Path("/proc"),
    ) -> None:
        self._ended_ns = ended_ns
        self._running_ns = running_ns
        self._own_proc = own_proc
        self._running: set[int] = set()
        self._statm: dict[int, KernelFile] = {}
        self._most_ns = 0

    def add(self, pid: int) -> None:
        """A process runs."""
        self._running.add(pid)

    def remove(self, pid: int) -> None:
        """A process has ended and was waited for."""
        self._running.discard(pid)

    def cpu_time_ns(self) -> int:
        """Processor time of all children there ever were.

        It never falls: one that is waited for while this is read is in neither count, or in both.
        """
        total = self._ended_ns()
        for pid in tuple(self._running):
            try:
                total += self._running_ns(pid)
            except OSError:
                # It has been waited for meanwhile; its number may be another's soon.
                self.remove(pid)
        self._most_ns = max(self._most_ns, total)
        return self._most_ns

    def resident_bytes(self) -> float:
        """Memory of those that run, without the pages of files: a program's text is there once for all who run it, and
        the kernel takes it back when it needs room. NaN where it can't be read. To be asked from one thread."""
        running = tuple(self._running)
        for pid in self._statm.keys() - running:
            self._statm.pop(pid).close()
        for pid in running:
            if pid not in self._statm:
                self._statm[pid] = KernelFile(self._own_proc / str(pid) / "statm")
        return math.fsum(map(_own_pages, self._statm.values())) * _PAGE_BYTES


def _own_pages(statm: KernelFile) -> float:
    """The resident pages without the shared ones (proc_pid_statm(5))."""
    try:
        _, resident, shared, *_ = statm.read().split()
        return float(int(resident) - int(shared))
    except (CollectError, ValueError):
        return math.nan


OWN_CHILDREN = ChildProcesses()
"""Those of this process, which has them once, as the kernel's count of the ended ones."""
