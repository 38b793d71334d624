"""What containers and batch jobs use of what they may use, from the kernel's control groups.

One entity a container, `container:<first 12 characters of its id>`. Where the agent itself runs under a limit, what its
own group uses belongs to the host's entity: to the agent, the container is the node.
"""

import resource
from collections.abc import Callable, Mapping

from pulsetrain.agents.collectors.background_files import BackgroundFiles
from pulsetrain.agents.collectors.base import HOST, Collected, Roots, Support
from pulsetrain.agents.collectors.bounded import Bounded
from pulsetrain.agents.collectors.cgroup_files import GroupFile, group_files, physical_disk_numbers
from pulsetrain.agents.collectors.cgroup_limits import GroupLimits, Limits, machine_limits
from pulsetrain.agents.collectors.cgroup_tree import (
    Hierarchy,
    find_containers,
    mounted_hierarchy,
    own_path,
)
from pulsetrain.agents.collectors.control_group import LIMIT_METRICS, ControlGroup
from pulsetrain.agents.collectors.kernel_file import read_once
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas.catalogue import metric_name

_RESCAN_NS = 10_000_000_000
"""Containers that come and limits that change are seen after so long."""

_MAX_GROUPS = 4096
_MAX_CONTAINERS = 128
_FILES_OF_OTHERS = 768
"""A port of InfiniBand has 33, an idle state 2 for each CPU that is asked, a driver some for each GPU."""

_FILES_OF_A_CONTAINER = 10

LabelsOf = Callable[[str], Mapping[str, str]]
"""Labels (job, pod ...) of the control group at a path."""


def _metric_names() -> tuple[str, ...]:
    """Of the files of both versions, and of the limits."""
    files = (file for version in (1, 2) for file in group_files(version, ()))
    return tuple(
        dict.fromkeys((*(metric_name(field.metric) for file in files for field in file.fields), *LIMIT_METRICS))
    )


class ControlGroupCollector(BackgroundFiles):
    """Every container that is found on the node, and the agent's own group where it is limited.

    Args:
        roots: where the kernel's file systems are.
        labels_of: what else is known of a group.
        interval_ms: distance of two readings.
        machine: memory and CPUs of the machine.
        open_files: how many files this process may have open, by default its limit; a tenth of what others leave is the
            most containers.
    """

    name = "containers"
    deadline_seconds = 2.0
    metric_names = _metric_names()

    def __init__(
        self,
        roots: Roots,
        labels_of: LabelsOf = lambda _: {},
        interval_ms: int = 1000,
        machine: Limits | None = None,
        open_files: int | None = None,
    ) -> None:
        super().__init__()
        self.interval_ms = interval_ms
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = most_containers(limit if open_files is None else open_files)
        advice = "; more need a higher limit of open files" if most < _MAX_CONTAINERS else ""
        self._searched = Bounded(self.name, "control groups", _MAX_GROUPS, "are searched for containers")
        self._most = Bounded(self.name, "containers", most, f"are read{advice}")
        self.source = str(roots.sys / "fs/cgroup")
        self._roots = roots
        self._labels_of = labels_of
        self._machine = machine or machine_limits(roots)
        self._hierarchy: Hierarchy | None = None
        self._files: list[GroupFile] = []
        self._groups: dict[tuple[str, str], ControlGroup] = {}
        self._scanned_ns: int | None = None

    def is_supported(self) -> Support:
        """Whether control groups are mounted; containers may come later."""
        self._hierarchy = mounted_hierarchy(self._roots)
        if self._hierarchy is None:
            return Support(False, f"no control groups are mounted at {self.source}")
        self._files = group_files(self._hierarchy.version, physical_disk_numbers(self._roots))
        return Support(True)

    def _collect(self, time_ns: int) -> Collected:
        if self._scanned_ns is None or not 0 <= time_ns - self._scanned_ns < _RESCAN_NS:
            self._scan()
            self._scanned_ns = time_ns
        observations = []
        for key, group in list(self._groups.items()):
            observation = group.observe(time_ns)
            if observation is None:
                group.close()
                del self._groups[key]
            else:
                observations.append(observation)
        return Collected(observations, [*self._searched.take_notices(), *self._most.take_notices()])

    def _scan(self) -> None:
        """Bring the groups up to date with what is there."""
        hierarchy = self._hierarchy
        if hierarchy is None:
            return
        limits = GroupLimits(hierarchy)
        containers = self._containers(hierarchy)
        wanted = [(entity, path) for path, (entity, _) in containers.items()]
        own = own_path(self._own_cgroups(), hierarchy)
        if own is not None and limits.of(own).are_tighter_than(self._machine):
            wanted.append((HOST, own))
        for key in self._groups.keys() - set(wanted):
            self._groups.pop(key).close()
        for entity, path in wanted:
            group = self._groups.get((entity, path))
            if group is None:
                group = self._groups[entity, path] = ControlGroup(entity, hierarchy, path, self._files)
            group.limits = limits.of(path).within(self._machine)
            group.labels = containers[path][1] if path in containers else {}

    def _containers(self, hierarchy: Hierarchy) -> dict[str, tuple[str, Mapping[str, str]]]:
        """Entity and labels by path, as many as may be read."""
        found, groups = find_containers(hierarchy.walked, _MAX_GROUPS)
        self._searched.first(range(groups))
        containers = without_sandboxes({path: (entity, self._labels_of(path)) for path, entity in found.items()})
        return dict(self._most.first(list(containers.items())))

    def _own_cgroups(self) -> str:
        try:
            return read_once(self._roots.proc / "self/cgroup").decode(errors="replace")
        except CollectError:
            return ""

    def _close_files(self) -> None:
        for group in self._groups.values():
            group.close()
        self._groups.clear()
        self._scanned_ns = None


def without_sandboxes(
    containers: Mapping[str, tuple[str, Mapping[str, str]]],
) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Leave out what holds a pod's namespaces and does nothing: it has no container's name where its siblings have."""
    named_pods = {labels["pod_uid"] for _, labels in containers.values() if {"pod_uid", "container"} <= labels.keys()}
    return {
        path: (entity, labels)
        for path, (entity, labels) in containers.items()
        if "container" in labels or labels.get("pod_uid") not in named_pods
    }


def most_containers(open_files: int) -> int:
    """As many as can be kept open beside all else; an unlimited number of files is negative."""
    if open_files < 0:
        return _MAX_CONTAINERS
    return max(1, min(_MAX_CONTAINERS, (open_files - _FILES_OF_OTHERS) // _FILES_OF_A_CONTAINER))
