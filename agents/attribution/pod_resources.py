"""Which container was given which device: the kubelet's pod-resources service, `v1.PodResourcesLister.List`.

Source: https://github.com/kubernetes/kubelet/blob/master/pkg/apis/podresources/v1/api.proto
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pulsetrain.agents.attribution.protobuf import byte_fields, text
from pulsetrain.agents.errors import AgentError

LIST = "/v1.PodResourcesLister/List"

_REFRESH_SECONDS = 10.0
_RETRY_SECONDS = 30.0
_KEPT_SECONDS = 120.0
"""How long an old list stands in for a kubelet that doesn't answer, as while it restarts."""

_REPLICA = "::"
"""NVIDIA's device plugin writes a shared device as `<uuid>::<replica>`."""


@dataclass(frozen=True, slots=True)
class PodContainer:
    """One container of a pod and the ids of its devices."""

    namespace: str
    pod: str
    container: str
    device_ids: tuple[str, ...]

    @property
    def labels(self) -> dict[str, str]:
        """Its names as labels."""
        return {"namespace": self.namespace, "pod": self.pod, "container": self.container}


def decode_list(message: bytes) -> list[PodContainer]:
    """The containers of a ListPodResourcesResponse.

    Raises:
        WireError: the bytes are no such message.
    """
    return [container for number, pod in byte_fields(message) if number == 1 for container in _containers(pod)]


def labels_by_device(containers: list[PodContainer]) -> dict[str, Mapping[str, str]]:
    """The labels of each device's container; of a device that several share, only the labels they have in common."""
    found: dict[str, Mapping[str, str]] = {}
    for container in containers:
        for device in container.device_ids:
            device, labels = device.partition(_REPLICA)[0], container.labels
            known = found.get(device, labels)
            found[device] = dict(known.items() & labels.items())
    return found


class DeviceOwners:
    """The newest list that the kubelet gave, as labels by device id; asked again when it is due.

    Args:
        call: brings the bytes of a list; an AgentError says why it can't.
        monotonic: seconds that only grow.
    """

    def __init__(self, call: Callable[[], bytes], monotonic: Callable[[], float]) -> None:
        self._call = call
        self._monotonic = monotonic
        self._asking = threading.Lock()
        self._labels: Mapping[str, Mapping[str, str]] = {}
        self._due = self._stale = monotonic()
        self.problem: str | None = None

    def labels(self) -> Mapping[str, Mapping[str, str]]:
        """The labels by device id; empty where the kubelet doesn't answer. One thread asks, others don't wait."""
        if self._monotonic() >= self._due and self._asking.acquire(blocking=False):
            try:
                self._ask()
            finally:
                self._asking.release()
        return self._labels

    def _ask(self) -> None:
        try:
            self._labels = labels_by_device(decode_list(self._call()))
        except AgentError as error:
            self.problem = str(error)
            now = self._monotonic()
            self._due = now + _RETRY_SECONDS
            if now >= self._stale:
                self._labels = {}
            return
        self.problem = None
        now = self._monotonic()
        self._due, self._stale = now + _REFRESH_SECONDS, now + _KEPT_SECONDS


def _containers(pod: memoryview) -> list[PodContainer]:
    name = namespace = ""
    parts: list[memoryview] = []
    for number, content in byte_fields(pod):
        if number == 1:
            name = text(content)
        elif number == 2:
            namespace = text(content)
        elif number == 3:
            parts.append(content)
    return [PodContainer(namespace, name, *_container(part)) for part in parts]


def _container(message: memoryview) -> tuple[str, tuple[str, ...]]:
    name = ""
    devices: list[str] = []
    for number, content in byte_fields(message):
        if number == 1:
            name = text(content)
        elif number == 2:
            # ContainerDevices: resource_name = 1, device_ids = 2
            devices += [text(device) for field, device in byte_fields(content) if field == 2]
    return name, tuple(devices)
