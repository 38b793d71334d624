"""Pod, namespace and container of a container id, from the names in the kubelet's folder of container logs.

The kubelet keeps one symbolic link a container, `<pod>_<namespace>_<container>-<container id>.log`. Names of Kubernetes
objects have no underscore, so the parts can't be confused. No link is followed.
"""

import re
from collections.abc import Iterable, Mapping

MAX_CONTAINERS = 10_000
"""Many times what a kubelet runs; names beyond it are not seen."""

_NAME = re.compile(r"([a-z0-9.-]{1,253})_([a-z0-9-]{1,63})_([a-z0-9-]{1,63})-([0-9a-f]{64})\.log")


def labels_in_log_names(names: Iterable[str]) -> dict[str, Mapping[str, str]]:
    """`pod`, `namespace` and `container` by container id."""
    found: dict[str, Mapping[str, str]] = {}
    for name in names:
        if match := _NAME.fullmatch(name):
            pod, namespace, container, container_id = match.groups()
            found[container_id] = {"namespace": namespace, "pod": pod, "container": container}
    return found
