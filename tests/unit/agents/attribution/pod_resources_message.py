"""Lists of pod resources as protobuf's own runtime writes them, after the kubelet's published api.proto (v1)."""

from collections.abc import Sequence
from functools import cache
from itertools import groupby
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from pulsetrain.agents.attribution.pod_resources import PodContainer

_STRING, _INT64, _MESSAGE = 9, 3, 11

# Message to fields: name, number, type (the name of a message or a scalar), repeated.
_API: dict[str, list[tuple[str, int, str | int, bool]]] = {
    "ListPodResourcesResponse": [("pod_resources", 1, "PodResources", True)],
    "PodResources": [
        ("name", 1, _STRING, False),
        ("namespace", 2, _STRING, False),
        ("containers", 3, "ContainerResources", True),
    ],
    "ContainerResources": [
        ("name", 1, _STRING, False),
        ("devices", 2, "ContainerDevices", True),
        ("cpu_ids", 3, _INT64, True),
    ],
    "ContainerDevices": [
        ("resource_name", 1, _STRING, False),
        ("device_ids", 2, _STRING, True),
        ("topology", 3, "TopologyInfo", False),
    ],
    "TopologyInfo": [("nodes", 1, "NUMANode", True)],
    "NUMANode": [("ID", 1, _INT64, False)],
}


def pod_resources(containers: Sequence[PodContainer]) -> bytes:
    """A ListPodResourcesResponse; each device comes with a resource name, processors and a NUMA node."""
    response = _messages()["ListPodResourcesResponse"]()
    for (namespace, name), group in groupby(containers, lambda container: (container.namespace, container.pod)):
        pod = response.pod_resources.add(name=name, namespace=namespace)
        for container in group:
            resources = pod.containers.add(name=container.container, cpu_ids=[0, 300])
            for device in container.device_ids:
                devices = resources.devices.add(resource_name="nvidia.com/gpu", device_ids=[device])
                devices.topology.nodes.add(ID=1)
    return bytes(response.SerializeToString())


@cache
def _messages() -> dict[str, Any]:
    file: Any = FileDescriptorProto(name="podresources.proto", package="v1", syntax="proto3")
    for message, fields in _API.items():
        described = file.message_type.add(name=message)
        for name, number, kind, repeated in fields:
            field = described.field.add(name=name, number=number, label=3 if repeated else 1)
            if isinstance(kind, str):
                field.type, field.type_name = _MESSAGE, f".v1.{kind}"
            else:
                field.type = kind
    pool = DescriptorPool()
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"v1.{name}")) for name in _API}
