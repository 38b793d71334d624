"""Whom a scraped series describes, and what its labels say of it.

A GPU is known by its UUID: its index changes from boot to boot, and the host name beside it is the exporter's pod. What
an exporter says of its whole machine is kept apart from what the agent reads itself.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pulsetrain.agents.attribution.cgroup_paths import labels_in_path
from pulsetrain.schemas.identity import MAX_LABEL_CHARACTERS

_SHORT_ID = 12
_MAX_CHARACTERS = 200
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]")

# What a label is called here, and what exporters of several versions call it; the first that is not empty counts.
_OWNER = {
    "namespace": ("namespace", "pod_namespace", "container_label_io_kubernetes_pod_namespace"),
    "pod": ("pod", "pod_name", "container_label_io_kubernetes_pod_name"),
    "container": ("container", "container_name", "container_label_io_kubernetes_container_name"),
}
_GPU_LABELS = {
    **_OWNER,
    "job": ("hpc_job",),
    "hw.model": ("modelName",),
    "hw.gpu.index": ("gpu",),
    "hw.gpu.mig.profile": ("GPU_I_PROFILE",),
}
_CONTAINER_LABELS = {**_OWNER, "image": ("image",), "name": ("name",)}
_MODEL_LABELS = {"model": ("model",), "model_version": ("version",)}


# Labels of the entity as a whole, which do not tell its series apart; some change with the exporter's next start.
_GPU_ITSELF = re.compile(
    r"UUID|uuid|gpu_uuid|gpu|device|pci_bus_id|GPU_I_(?:ID|PROFILE)|[Hh]ostname|modelName|DCGM_FI_.*|hpc_job|pod|pod_.*"
    r"|namespace|container|container_.*"
)
_CONTAINER_ITSELF = re.compile(r"id|image|name|pod|pod_.*|namespace|container|container_.*")
_MODEL_ITSELF = re.compile("model|version")
_SANDBOX = ("", "POD")
"""What the kubelet calls the container of a pod's sandbox: containerd's, and those of older runtimes and CRI-O."""

_NONE = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Described:
    """An entity, without the node, and its labels; `others` are the exporter's labels that tell its series apart."""

    entity: str
    labels: Mapping[str, str]
    others: Mapping[str, str]


def described_by(name: str, labels: Mapping[str, str], target: str) -> Described | None:
    """Whom a series describes; None where its labels don't say it.

    Args:
        name: the exporter's name of the series.
        labels: the exporter's labels.
        target: the target's name.
    """
    if name.startswith(("DCGM_", "nv_gpu_", "nv_energy_")):
        return _gpu(labels)
    if name.startswith("container_"):
        return _container(name, labels)
    if name.startswith("nv_"):
        return _model(labels) if labels.get("model") else _exporter("triton", target, labels)
    return _exporter("node_exporter" if name.startswith("node_") else "exporter", target, labels)


def _gpu(labels: Mapping[str, str]) -> Described | None:
    uuid = labels.get("UUID") or labels.get("uuid") or labels.get("gpu_uuid")
    if not uuid:
        return None
    instance = labels.get("GPU_I_ID")
    entity = _entity("gpu", uuid, f"gi{instance}") if instance else _entity("gpu", uuid)
    return _described(entity, _renamed(labels, _GPU_LABELS), labels, _GPU_ITSELF)


def _container(name: str, labels: Mapping[str, str]) -> Described | None:
    """A container, a batch job, or a pod; slices above them would count the same again.

    A pod's sandbox is no container: its network is the pod's, and nothing else of it counts.
    """
    path = labels.get("id", "")
    found = labels_in_path(path)
    if found.keys() >= {"pod_uid", "container_id"} and labels.get("container") in _SANDBOX:
        if not name.startswith("container_network_"):
            return None
        del found["container_id"]
        labels = {label: value for label, value in labels.items() if label not in ("container", "image", "name")}
    if "container_id" in found:
        entity = _entity("container", found["container_id"][:_SHORT_ID])
    elif "job" in found:
        entity = _entity("container", f"job_{found['job']}")
    elif "pod_uid" in found:
        entity = _entity("pod", found["pod_uid"])
    elif path and not path.startswith("/"):
        entity = _entity("container", path[:_SHORT_ID])
    else:
        return None
    return _described(entity, _renamed(labels, _CONTAINER_LABELS) | found, labels, _CONTAINER_ITSELF)


def _model(labels: Mapping[str, str]) -> Described | None:
    entity = _entity("model", labels["model"], labels.get("version", ""))
    return _described(entity, _renamed(labels, _MODEL_LABELS), labels, _MODEL_ITSELF)


def _exporter(kind: str, target: str, labels: Mapping[str, str]) -> Described | None:
    return _described(_entity(kind, target), {}, labels, _NONE)


def _described(
    entity: str | None, ours: Mapping[str, str], theirs: Mapping[str, str], itself: re.Pattern[str]
) -> Described | None:
    if entity is None:
        return None
    return Described(entity, ours, {label: value for label, value in theirs.items() if not itself.fullmatch(label)})


def _entity(kind: str, *parts: str) -> str | None:
    """`kind:part:part`, with what could be mistaken percent-encoded; None where it is too long for a name."""
    safe = ":".join(
        _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), part) for part in parts
    )
    return f"{kind}:{safe}".rstrip(":") if len(safe) <= _MAX_CHARACTERS else None


def _renamed(labels: Mapping[str, str], names: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    renamed = {}
    for ours, theirs in names.items():
        value = next((labels[label] for label in theirs if labels.get(label)), "")
        if value:
            renamed[ours] = value[:MAX_LABEL_CHARACTERS]
    return renamed
