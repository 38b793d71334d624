"""What a control group may use: the least of its own limit, of those above it, and of what the machine has."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.cgroup_tree import Hierarchy
from pulsetrain.agents.collectors.kernel_file import read_once
from pulsetrain.agents.errors import CollectError

_KIB = 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Memory in bytes, CPUs, and processes and threads; infinite where nothing limits."""

    memory_bytes: float = math.inf
    cpus: float = math.inf
    tasks: float = math.inf

    def within(self, others: "Limits") -> "Limits":
        """The lower one of each."""
        return Limits(
            min(self.memory_bytes, others.memory_bytes), min(self.cpus, others.cpus), min(self.tasks, others.tasks)
        )

    def are_tighter_than(self, machine: "Limits") -> bool:
        """Whether they allow less memory or CPU than a machine has."""
        return self.memory_bytes < machine.memory_bytes or self.cpus < machine.cpus


def machine_limits(roots: Roots, cpus: Callable[[], int | None] = os.cpu_count) -> Limits:
    """Memory (MemTotal) and CPUs of the machine."""
    for line in _read(roots.proc / "meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return Limits(_number(line.split()[1]) * _KIB, cpus() or math.inf)
    return Limits(cpus=cpus() or math.inf)


class GroupLimits:
    """What groups may use, each group read once; made anew whenever limits may have changed.

    Args:
        hierarchy: where the groups are.
    """

    def __init__(self, hierarchy: Hierarchy) -> None:
        self._hierarchy = hierarchy
        self._known: dict[str, Limits] = {}

    def of(self, path: str) -> Limits:
        """The least of what the group at `path` and those above it say; a limit that can't be read is none."""
        path = path.rstrip("/")
        if path not in self._known:
            own = _own_limits(self._hierarchy, path)
            self._known[path] = own.within(self.of(path.rpartition("/")[0])) if path else own
        return self._known[path]


def _own_limits(hierarchy: Hierarchy, path: str) -> Limits:
    memory_file = "memory.max" if hierarchy.version == 2 else "memory.limit_in_bytes"
    quota = _quota_v2 if hierarchy.version == 2 else _quota_v1
    return Limits(
        _number(_read(hierarchy.file("memory", path, memory_file))),
        quota(hierarchy, path),
        _number(_read(hierarchy.file("pids", path, "pids.max"))),
    )


def _quota_v2(hierarchy: Hierarchy, path: str) -> float:
    """`200000 100000`: so many microseconds in each period of so many; or `max 100000`."""
    quota, _, period = _read(hierarchy.file("cpu", path, "cpu.max")).partition(" ")
    return _share(_number(quota), _number(period))


def _quota_v1(hierarchy: Hierarchy, path: str) -> float:
    """-1 is no quota."""
    quota = _number(_read(hierarchy.file("cpu", path, "cpu.cfs_quota_us")))
    return _share(quota, _number(_read(hierarchy.file("cpu", path, "cpu.cfs_period_us"))))


def _share(quota: float, period: float) -> float:
    return quota / period if math.isfinite(quota) and 0 < period < math.inf and quota > 0 else math.inf


def _number(text: str) -> float:
    """Infinite for `max`, and for what is no number."""
    text = text.strip()
    return float(text) if text.isdecimal() else math.inf


def _read(path: Path | None) -> str:
    """Empty where there is nothing to be read."""
    if path is None:
        return ""
    try:
        return read_once(path).decode("ascii")
    except (CollectError, ValueError):
        return ""
