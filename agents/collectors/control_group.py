"""One control group: its files, and what follows from them together."""

import math
from collections.abc import Mapping, Sequence

from pulsetrain.agents.collectors.base import Observation
from pulsetrain.agents.collectors.cgroup_files import INACTIVE_FILE, GroupFile
from pulsetrain.agents.collectors.cgroup_limits import Limits
from pulsetrain.agents.collectors.cgroup_tree import Hierarchy
from pulsetrain.agents.collectors.fields import FieldReader
from pulsetrain.agents.collectors.file_collector import FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.errors import CollectError

_MAX_FILE_BYTES = 65_536
"""memory.stat has about 2 KiB, io.stat about 100 bytes a device; read in one piece, the kernel writes them once."""

_USAGE = "container.memory.usage"
_CPU_LIMIT, _TASK_LIMIT = "container.cpu.limit", "container.task.limit"
_MEMORY_METRICS = (
    "container.memory.limit",
    "container.memory.utilization",
    "container.memory.working_set",
    "container.memory.working_set.utilization",
)
LIMIT_METRICS = (_CPU_LIMIT, _TASK_LIMIT, *_MEMORY_METRICS)
"""What stands in no single file."""


class ControlGroup:
    """The files of one group stay open; `limits` and `labels` may be set anew at any time.

    Args:
        entity: whom the group is for.
        hierarchy: where groups are mounted.
        path: of the group.
        files: those to be read where the group has them.
    """

    def __init__(self, entity: str, hierarchy: Hierarchy, path: str, files: Sequence[GroupFile]) -> None:
        self.limits = Limits()
        self.labels: Mapping[str, str] = {}
        self._entity = entity
        self._collectors = _supported(hierarchy, path, files)

    def observe(self, time_ns: int) -> Observation | None:
        """What the group uses now; None where none of its files can be read any more: the group is gone."""
        values: dict[str, float] = {}
        missing: dict[str, str] = {}
        failures = 0
        for collector in self._collectors:
            try:
                (numbers,) = collector.decode([collector.read()])
            except CollectError as error:
                failures += 1
                numbers = [math.nan] * len(collector.metrics())
                missing.update(dict.fromkeys(collector.metrics(), str(error)))
            values.update(zip(collector.metrics(), numbers, strict=True))
        if failures == len(self._collectors):
            return None
        values.update(_limit_values(values, self.limits))
        return Observation(self._entity, time_ns, tuple(values), list(values.values()), missing, self.labels)

    def close(self) -> None:
        """Close the files."""
        for collector in self._collectors:
            collector.close()


def _supported(hierarchy: Hierarchy, path: str, files: Sequence[GroupFile]) -> list[FileCollector]:
    supported = []
    for file in files:
        location = hierarchy.file(file.controller, path, file.name)
        if location is None:
            continue
        reader = FieldReader(file.split, file.fields)
        collector = FileCollector(file.name, KernelFile(location, head_bytes=_MAX_FILE_BYTES), reader)
        if collector.is_supported().supported:
            supported.append(collector)
        else:
            collector.close()
    return supported


def _limit_values(values: Mapping[str, float], limits: Limits) -> dict[str, float]:
    """The limits, and memory as a share of its limit.

    The working set is what cAdvisor and the kubelet call so: the usage less the inactive page cache, never negative.
    """
    found: dict[str, float] = {}
    if math.isfinite(limits.cpus):
        found[_CPU_LIMIT] = limits.cpus
    if math.isfinite(limits.tasks):
        found[_TASK_LIMIT] = limits.tasks
    if _USAGE in values and math.isfinite(limits.memory_bytes):
        usage, limit = values[_USAGE], limits.memory_bytes
        needed = usage - values.get(INACTIVE_FILE, math.nan)
        # Not max(0.0, needed), which makes 0 of NaN.
        working_set = 0.0 if needed < 0.0 else needed
        shares = (limit, _share(usage, limit), working_set, _share(working_set, limit))
        found.update(zip(_MEMORY_METRICS, shares, strict=True))
    return found


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
