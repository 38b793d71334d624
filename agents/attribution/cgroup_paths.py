"""Container, pod and batch job from the path of a control group, version 1 or 2.

A path is read component by component, from the root to the leaf, whatever lies above and below: so it may begin with
the mount point, with `/../..` as a private cgroup namespace shows it, or with the path of an outer container.

    docker       /docker/<id>  /system.slice/docker-<id>.scope
    containerd   /kubepods.slice/.../cri-containerd-<id>.scope  /default/<id>  <pod slice>:cri-containerd:<id>
    CRI-O        /kubepods.slice/.../crio-<id>.scope
    podman       /machine.slice/libpod-<id>.scope  /libpod_parent/libpod-<id>
    kubelet      /kubepods/burstable/pod<uid>  /kubepods.slice/.../kubepods-burstable-pod<uid>.slice
    Slurm        /slurm/uid_<n>/job_<n>  /system.slice/slurmstepd.scope/job_<n>
"""

import re
from collections.abc import Iterator

MAX_PATH_CHARACTERS = 4096
"""The kernel's PATH_MAX; a longer path names nothing here."""

_ID = r"[0-9a-f]{64}"
_CONTAINER = re.compile(rf"(?:(?:docker|cri-containerd|containerd|nerdctl|crio|libpod)-)?({_ID})(?:\.scope)?")
_CONTAINERD_TRIPLE = re.compile(rf"(.+):cri-containerd:({_ID})")
"""What containerd makes of a systemd slice while it is set up for plain cgroup folders."""

# The kubelet writes the dashes of a UID as underscores in a slice; a static pod's UID is a hash without dashes.
_UID = r"[0-9a-f]{8}[-_]?[0-9a-f]{4}[-_]?[0-9a-f]{4}[-_]?[0-9a-f]{4}[-_]?[0-9a-f]{12}"
_POD = re.compile(rf"(?:[a-z0-9-]*kubepods(?:-besteffort|-burstable)?-)?pod({_UID})(?:\.slice)?")

_SLURM = re.compile(r"slurm(?:_.+)?|(?:.+_)?slurmstepd\.scope")
_JOB = re.compile(r"job_(\d{1,18})")


def labels_in_path(path: str) -> dict[str, str]:
    """`container_id`, `pod_uid` and `job` as far as the path has them; of nested containers the innermost."""
    labels: dict[str, str] = {}
    if len(path) > MAX_PATH_CHARACTERS:
        return labels
    in_slurm = False
    for component in _components(path):
        if pod := _POD.fullmatch(component):
            labels.pop("container_id", None)
            labels["pod_uid"] = pod[1].replace("_", "-")
        elif container := _CONTAINER.fullmatch(component):
            labels["container_id"] = container[1]
        elif in_slurm and (job := _JOB.fullmatch(component)):
            labels["job"] = job[1]
        in_slurm = in_slurm or _SLURM.fullmatch(component) is not None
    return labels


def labels_in_cgroup_file(content: str) -> dict[str, str]:
    """The labels of /proc/<pid>/cgroup: one line a hierarchy, `<number>:<controllers>:<path>`.

    On a mixed system the hierarchies may disagree about depth; what a later one leaves out, an earlier one fills.
    """
    labels: dict[str, str] = {}
    for line in content.splitlines():
        _, _, rest = line.partition(":")
        _, _, path = rest.partition(":")
        for name, value in labels_in_path(path).items():
            labels.setdefault(name, value)
    return labels


def _components(path: str) -> Iterator[str]:
    for component in path.split("/"):
        if triple := _CONTAINERD_TRIPLE.fullmatch(component):
            yield triple[1]
            yield triple[2]
        else:
            yield component
