"""Processes on a GPU, and for whom they work."""

from collections.abc import Callable, Mapping
from typing import Any

from pulsetrain.agents.collectors.nvml.library import REFUSED, Nvml, code_of
from pulsetrain.agents.collectors.nvml.reading import Reading, Refusals
from pulsetrain.schemas.catalogue import metric_id

LabelsOfPid = Callable[[int], Mapping[str, str]]
"""Job, pod and container of a process of this node, as far as they are known."""

LabelsOfDevice = Callable[[str], Mapping[str, str]]
"""Pod and container that a device was given to, by its UUID."""

_COUNT, _MEMORY = PROCESS_METRICS = "hw.gpu.process.count", "hw.gpu.process.memory.usage"
_CALLS = (
    "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetGraphicsRunningProcesses",
    "nvmlDeviceGetMPSComputeRunningProcesses",
)
_MAX_PROCESSES = 1024
_MAX_OWNERS = 32
_MAX_OWNER_CHARACTERS = 64
_CONTAINER_CHARACTERS = 12
"""Of a container's id, as its tools show it."""


class ProcessReader:
    """Counts the processes of one device and their memory, in all and for each container or job.

    Args:
        nvml: the library.
        handle: the device, or a MIG device.
        refusals: what the device does not support.
        labels_of_pid: for whom a process works.
    """

    def __init__(self, nvml: Nvml, handle: Any, refusals: Refusals, labels_of_pid: LabelsOfPid) -> None:
        self._nvml = nvml
        self._handle = handle
        self._refusals = refusals
        self._labels_of_pid = labels_of_pid

    def read_into(self, reading: Reading) -> None:
        """Add the metrics, and as owners what is the same for all processes.

        Raises:
            GpuLostError: the device is gone.
        """
        refusal = self._refusals.standing(_COUNT)
        if refusal is None:
            try:
                memory_by_pid = self._memory_by_pid()
            except self._nvml.errors as error:
                refusal = self._refusals.note(_COUNT, error, reading)
            else:
                self._add(memory_by_pid, reading)
                return
        reading.miss((_COUNT, _MEMORY), refusal)

    def close(self) -> None:
        """Nothing is held."""

    def _memory_by_pid(self) -> dict[int, float | None]:
        memory: dict[int, float | None] = {}
        for call in _CALLS:
            try:
                processes = getattr(self._nvml, call)(self._handle)
            except self._nvml.errors as error:
                if call == _CALLS[0] or code_of(error) not in REFUSED:
                    raise
                continue
            for process in processes[:_MAX_PROCESSES]:
                # A process that computes and draws is in both lists with the same memory.
                memory[process.pid] = process.usedGpuMemory
        return memory

    def _add(self, memory_by_pid: Mapping[int, float | None], reading: Reading) -> None:
        owners: dict[tuple[tuple[str, str], ...], list[float | None]] = {(): list(memory_by_pid.values())}
        labels: Mapping[str, str] | None = None
        for pid, memory in memory_by_pid.items():
            found = self._labels_of_pid(pid)
            labels = found if labels is None else dict(labels.items() & found.items())
            owner = _owner(found)
            if owner and (owner in owners or len(owners) <= _MAX_OWNERS):
                owners.setdefault(owner, []).append(memory)
        for owner, memories in owners.items():
            attributes = dict(owner)
            reading.add(metric_id(_COUNT, **attributes), len(memories), 1.0)
            known = [memory for memory in memories if memory is not None]
            if len(known) == len(memories):
                reading.add(metric_id(_MEMORY, **attributes), sum(known), 1.0)
            else:
                reading.miss((metric_id(_MEMORY, **attributes),), "no_value")
        reading.owners = labels or {}


class DeviceOwnerReader:
    """Adds whom a device was given to; that holds before the first process runs, and says more than processes do."""

    def __init__(self, uuid: str, labels_of_device: LabelsOfDevice) -> None:
        self._uuid = uuid
        self._labels_of_device = labels_of_device

    def read_into(self, reading: Reading) -> None:
        """Add the owners."""
        reading.owners = {**(reading.owners or {}), **self._labels_of_device(self._uuid)}

    def close(self) -> None:
        """Nothing is held."""


def _owner(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    owner = {}
    if "job" in labels:
        owner["job"] = labels["job"][:_MAX_OWNER_CHARACTERS]
    if "container_id" in labels:
        owner["container.id"] = labels["container_id"][:_CONTAINER_CHARACTERS]
    return tuple(owner.items())
