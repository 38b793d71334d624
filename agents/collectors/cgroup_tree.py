"""Where the kernel's control groups are, and which of them are containers or batch jobs.

Version 2 is one tree (Documentation/admin-guide/cgroup-v2.rst of Linux); in version 1 each controller has a tree of its
own (Documentation/admin-guide/cgroup-v1/), in which a container has the same path. Where both are mounted, the
controllers are those of version 1.
"""

import os
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pulsetrain.agents.attribution.cgroup_paths import labels_in_path
from pulsetrain.agents.collectors.base import Roots

_MAX_DEPTH = 12
_SHORT_ID = 12
"""Characters of a container's id that its engine shows."""

_CONTROLLERS = ("memory", "cpu", "cpuacct", "blkio", "pids")
_WALKED = ("memory", "cpuacct", "pids")
_EMPTY_FOLDER_LINKS = 2


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Mounted control groups: the version, and the top folder of each controller (of version 2 always the same)."""

    version: int
    tops: Mapping[str, Path]

    @property
    def walked(self) -> Path:
        """The tree in which groups are looked for."""
        return next(self.tops[controller] for controller in _WALKED if controller in self.tops)

    def file(self, controller: str, path: str, name: str) -> Path | None:
        """A file of the group at `path`; None where the controller is not mounted."""
        top = self.tops.get(controller)
        return None if top is None else top / path.lstrip("/") / name


def mounted_hierarchy(roots: Roots) -> Hierarchy | None:
    """What is mounted under sys/fs/cgroup; None where nothing is from which a container could be read."""
    folder = roots.sys / "fs/cgroup"
    if (folder / "cgroup.controllers").exists():
        return Hierarchy(2, dict.fromkeys(_CONTROLLERS, folder))
    tops = {controller: folder / controller for controller in _CONTROLLERS if (folder / controller).is_dir()}
    return Hierarchy(1, tops) if any(controller in tops for controller in _WALKED) else None


def find_containers(top: Path, most: int) -> tuple[dict[str, str], int]:
    """Entities of containers and batch jobs by path, in the order of depth, and how many other groups there are.

    Of those `most` are looked into; what is inside the rest is not known.

    What is inside a container belongs to it and is not looked for. Of several groups with the name of one container,
    such as those that a user made in a tree of their own, the first counts.
    """
    found: dict[str, str] = {}
    known: set[str] = set()
    pending = deque([("", 0)])
    visited = 0
    while pending and visited < most:
        path, depth = pending.popleft()
        visited += 1
        for name in _folders(f"{top}{path}"):
            below = f"{path}/{name}"
            entity = container_entity(below)
            if entity is not None:
                if entity not in known:
                    known.add(entity)
                    found[below] = entity
            elif depth < _MAX_DEPTH:
                pending.append((below, depth + 1))
    return found, visited + len(pending)


def container_entity(path: str) -> str | None:
    """`container:<first 12 characters of its id>` or `container:job_<number>` of a batch job; None for other groups."""
    labels = labels_in_path(path)
    if "container_id" in labels:
        return f"container:{labels['container_id'][:_SHORT_ID]}"
    return f"container:job_{labels['job']}" if "job" in labels else None


def own_path(content: str, hierarchy: Hierarchy) -> str | None:
    """This process's group from /proc/self/cgroup, lines `<number>:<controllers>:<path>`; None where it has none here.

    In a container the path is often the node's while the mounted tree begins at the container: then its top is meant.
    """
    for line in content.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        is_meant = not controllers if hierarchy.version == 2 else "memory" in controllers.split(",")
        if is_meant and ".." not in path.split("/"):
            path = path.rstrip("/")
            return path if Path(f"{hierarchy.walked}{path}").is_dir() else ""
    return None


def _folders(folder: str) -> list[str]:
    try:
        # The kernel keeps the number of links at that of the folders inside and two more: most groups have none.
        if Path(folder).stat().st_nlink == _EMPTY_FOLDER_LINKS:
            return []
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
