"""What running processes cost, read from the kernel."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from pulsetrain.agents.collectors.child_processes import running_ns

_NS_PER_SECOND = 1e9
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_CLOCK_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_KIB_PER_MIB = 1024
_PSS = re.compile(r"^Pss:\s+(\d+) kB$", re.MULTILINE)
_CHILDREN_USER_TIME = 13
"""Of /proc/<pid>/stat, counted after the command's closing bracket: field 16 of proc(5), cutime; cstime follows."""


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads so far, those that have ended too, by the kernel's clock of the process."""
    return running_ns(pid) / _NS_PER_SECOND


def tree(pid: int) -> list[int]:
    """The process and all that descend from it, as far as they live."""
    return [pid, *_descendants(pid)]


def tree_cpu_seconds(pid: int) -> float:
    """CPU time of a process and its descendants; of those that have ended by then, in hundredths of a second."""
    total = 0.0
    for member in tree(pid):
        with suppress(OSError):
            total += cpu_seconds(member) + _ended_children_seconds(member)
    return total


def resident_mib(pids: Iterable[int]) -> float:
    """Resident memory, pages that several processes share counted in each of them."""
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    return pages * _PAGE_BYTES / 2**20


def proportional_mib(pids: Iterable[int]) -> float:
    """Resident memory, of shared pages only this process's part: what would be free without it is no more than this."""
    texts = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids]
    return sum(int(found[1]) for text in texts if (found := _PSS.search(text))) / _KIB_PER_MIB


def _descendants(pid: int) -> Iterator[int]:
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            for child in (thread / "children").read_text().split():
                with suppress(OSError):
                    yield from tree(int(child))


def _ended_children_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[_CHILDREN_USER_TIME : _CHILDREN_USER_TIME + 2]) / _CLOCK_TICKS_PER_SECOND
