"""Labels of a process, a control group and a device, looked up where this node has them, and remembered for a while."""

import os
import stat
import time
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path

from pulsetrain.agents.attribution.cgroup_paths import labels_in_cgroup_file, labels_in_path
from pulsetrain.agents.attribution.container_logs import MAX_CONTAINERS, labels_in_log_names
from pulsetrain.agents.attribution.environment import MAX_ENVIRONMENT_BYTES, labels_in_environ
from pulsetrain.agents.attribution.expiring import Expiring
from pulsetrain.agents.attribution.pod_resources import LIST, DeviceOwners
from pulsetrain.agents.attribution.settings import AttributionSettings
from pulsetrain.agents.collectors.base import Support
from pulsetrain.agents.errors import AgentError

_MAX_PROCESSES = 4096
_MAX_CGROUPS = 4096
_REMEMBERED_SECONDS = 30.0
_LOG_NAMES_SECONDS = 10.0
_MAX_CGROUP_FILE_BYTES = 64 * 1024
_MAX_STAT_BYTES = 4096
_START_TIME_FIELD = 19
"""Of /proc/<pid>/stat, counted after the command's closing bracket: field 22 of proc(5)."""

_CALL_SECONDS = 2.0
_MAX_LIST_BYTES = 4 * 1024 * 1024
"""Of the kubelet's answer; the limit of gRPC's own clients."""


class Attribution:
    """Who works for whom on this node. One is enough for all collectors: their threads may share it.

    A process's environment is read through its memory map, which can hang with a process that hangs in the kernel; so
    it is asked only from threads of their own, as background collectors have.

    Args:
        proc: where the node's /proc is.
        settings: the other places.
        monotonic: seconds that only grow.
    """

    def __init__(
        self,
        proc: Path = Path("/proc"),
        settings: AttributionSettings | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._proc = proc
        self._settings = settings or AttributionSettings()
        self._monotonic = monotonic
        self._by_process: Expiring[tuple[int, bytes], Mapping[str, str]] = Expiring(
            _MAX_PROCESSES, _REMEMBERED_SECONDS, monotonic
        )
        self._by_cgroup: Expiring[str, Mapping[str, str]] = Expiring(_MAX_CGROUPS, _REMEMBERED_SECONDS, monotonic)
        self._log_names: Expiring[str, dict[str, Mapping[str, str]]] = Expiring(1, _LOG_NAMES_SECONDS, monotonic)
        self._owners = DeviceOwners(self._ask_kubelet, monotonic)

    def labels_of_pid(self, pid: int) -> Mapping[str, str]:
        """`job`, `rank`, `namespace`, `pod`, `container`, `pod_uid`, `container_id`, as far as they can be told.

        The kernel's word, the control group, wins over the environment, which the process's owner chose. Empty for a
        process that is gone.
        """
        start = self._start_time(pid)
        if start is None:
            return {}
        return self._by_process.get((pid, start), lambda: self._labels_of_process(pid))

    def labels_of_cgroup(self, path: str) -> Mapping[str, str]:
        """`job`, `namespace`, `pod`, `container`, `pod_uid`, `container_id` of a control group.

        Args:
            path: as in /proc/<pid>/cgroup, or where the group is mounted.
        """
        return self._by_cgroup.get(path, lambda: self._with_names(labels_in_path(path)))

    def labels_of_device(self, device_id: str) -> Mapping[str, str]:
        """`namespace`, `pod` and `container` that the kubelet gave a device to, such as `GPU-<uuid>` or `MIG-<uuid>`.

        May take 2 seconds when the kubelet's list is due. Of a shared device only what all its users have in common.
        """
        return self._owners.labels().get(device_id, {})

    def sources(self) -> dict[str, Support]:
        """What is looked up here, by path, and what isn't, with the reason."""
        logs, kubelet = self._settings.container_logs, self._settings.kubelet_socket
        environ = self._proc / "1/environ"
        return {
            str(self._proc / "<pid>/cgroup"): _readable(self._proc / "self/cgroup"),
            str(self._proc / "<pid>/environ"): _readable(environ)
            if self._settings.environment
            else Support(False, "attribution.environment is off"),
            logs: _readable(Path(logs)),
            kubelet: _listening(Path(kubelet)),
        }

    def _labels_of_process(self, pid: int) -> Mapping[str, str]:
        labels: dict[str, str] = {}
        if self._settings.environment:
            labels |= labels_in_environ(_head(self._proc / f"{pid}/environ", MAX_ENVIRONMENT_BYTES))
        cgroups = _head(self._proc / f"{pid}/cgroup", _MAX_CGROUP_FILE_BYTES).decode(errors="replace")
        labels |= self._with_names(labels_in_cgroup_file(cgroups))
        return labels

    def _with_names(self, labels: dict[str, str]) -> dict[str, str]:
        if "container_id" in labels:
            labels |= self._names_of_containers().get(labels["container_id"], {})
        return labels

    def _names_of_containers(self) -> dict[str, Mapping[str, str]]:
        folder = self._settings.container_logs
        return self._log_names.get(folder, lambda: _names_in(folder))

    def _start_time(self, pid: int) -> bytes | None:
        """Tells a process from an earlier one with its number; None if there is none."""
        fields = _head(self._proc / f"{pid}/stat", _MAX_STAT_BYTES).rpartition(b")")[2].split()
        return fields[_START_TIME_FIELD] if len(fields) > _START_TIME_FIELD else None

    def _ask_kubelet(self) -> bytes:
        path = Path(self._settings.kubelet_socket)
        support = _listening(path)
        if not support.supported:
            raise AgentError(support.reason)
        try:
            # Only nodes with a kubelet pay for the HTTP/2 library.
            from pulsetrain.agents.attribution.unary_call import unary_call
        except ImportError as error:
            raise AgentError(f"{path} can't be asked ({error}): install pulsetrain[agent]") from error
        return unary_call(path, LIST, b"", _CALL_SECONDS, _MAX_LIST_BYTES, self._monotonic)


def _names_in(folder: str) -> dict[str, Mapping[str, str]]:
    try:
        with os.scandir(folder) as entries:
            return labels_in_log_names(entry.name for entry in islice(entries, MAX_CONTAINERS))
    except OSError:
        return {}


def _head(path: Path, most: int) -> bytes:
    """The beginning of a file; empty where it can't be read."""
    try:
        with path.open("rb", buffering=0) as file:
            content = bytearray()
            while len(content) < most and (part := file.read(most - len(content))):
                content += part
    except OSError:
        return b""
    return bytes(content)


def _readable(path: Path) -> Support:
    if os.access(path, os.R_OK):
        return Support(True)
    return Support(False, f"{path} {'may not be read' if path.exists() else 'does not exist'}")


def _listening(path: Path) -> Support:
    try:
        is_socket = stat.S_ISSOCK(path.stat().st_mode)
    except OSError as error:
        return Support(False, f"{path}: {error.strerror}")
    return Support(is_socket, "" if is_socket else f"{path} is no socket")
