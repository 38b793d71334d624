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

    def within(self, machine: "Limits") -> "Limits":
        """The same, but no more than a machine has."""
        return Limits(min(self.memory_bytes, machine.memory_bytes), min(self.cpus, machine.cpus), self.tasks)

    def are_tighter_than(self, machine: "Limits") -> bool:
        """Whether they allow less memory or CPU than a machine has."""
        return self.memory_bytes < machine.memory_bytes or self.cpus < machine.cpus


def machine_limits(roots: Roots, cpus: Callable[[], int | None] = os.cpu_count) -> Limits:
    """Memory (MemTotal) and CPUs of the machine."""
    for line in _read(roots.proc / "meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return Limits(_number(line.split()[1]) * _KIB, cpus() or math.inf)
    return Limits(cpus=cpus() or math.inf)


def group_limits(hierarchy: Hierarchy, path: str) -> Limits:
    """What the group at `path` and those above it say; a limit that can't be read is none."""
    memory_file = "memory.max" if hierarchy.version == 2 else "memory.limit_in_bytes"
    quota = _quota_v2 if hierarchy.version == 2 else _quota_v1

    def least(limit: Callable[[str], float]) -> float:
        return min(limit(group) for group in hierarchy.upwards(path))

    return Limits(
        least(lambda group: _number(_read(hierarchy.file("memory", group, memory_file)))),
        least(lambda group: quota(hierarchy, group)),
        least(lambda group: _number(_read(hierarchy.file("pids", group, "pids.max")))),
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
