"""Everything that is asked of one GPU at one interval, its MIG devices included."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pulsetrain.agents.collectors.nvml.calls import FAST_CALLS, MEMORY, PCIE_RATES, SLOW_CALLS, CallReader
from pulsetrain.agents.collectors.nvml.field_values import FAST_FIELDS, SLOW_FIELDS, FieldValueReader
from pulsetrain.agents.collectors.nvml.gpm import GPM_METRICS, GpmReader, can_sample
from pulsetrain.agents.collectors.nvml.identity import Gpu, MigDevice, mig_devices
from pulsetrain.agents.collectors.nvml.library import Nvml
from pulsetrain.agents.collectors.nvml.nvlink import NVLINK_METRICS, NvLinkReader
from pulsetrain.agents.collectors.nvml.processes import (
    PROCESS_METRICS,
    DeviceOwnerReader,
    LabelsOfDevice,
    LabelsOfPid,
    ProcessReader,
)
from pulsetrain.agents.collectors.nvml.reading import Reading, Refusals

_MIG_SECONDS = 30.0
"""How long a list of MIG devices holds: to make one anew, an operator first stops what runs on it."""


class Part(Protocol):
    """Some metrics of one device."""

    def read_into(self, reading: Reading) -> None:
        """Add every metric, with a value or with the reason why there is none.

        Raises:
            GpuLostError: the device is gone.
        """

    def close(self) -> None:
        """Give back what is held; the library must still be initialised."""


@dataclass(frozen=True, slots=True)
class EntityReading:
    """What was read of a GPU or of one of its MIG devices."""

    entity: str
    labels: Mapping[str, str]
    reading: Reading


FAST_METRICS = (
    *(metric for call in FAST_CALLS for metric in call.metrics),
    *(field.metric for field in FAST_FIELDS),
    *GPM_METRICS,
)
SLOW_METRICS = (
    *(metric for call in (*SLOW_CALLS, *PCIE_RATES) for metric in call.metrics),
    *(field.metric for field in SLOW_FIELDS),
    *NVLINK_METRICS,
    *PROCESS_METRICS,
)
"""Ids of all that a GPU is asked."""

PartsOf = Callable[[Nvml, Gpu, MigDevice | None, Refusals], Sequence[Part]]
"""What is asked of a GPU, or of one of its MIG devices."""


def fast_parts(nvml: Nvml, gpu: Gpu, mig: MigDevice | None, refusals: Refusals) -> Sequence[Part]:
    """What moves within a second and is told at once."""
    if mig is not None:
        return (
            CallReader(nvml, mig.handle, (MEMORY,), refusals),
            GpmReader(nvml, gpu.handle, refusals, mig.gpu_instance),
        )
    return (
        CallReader(nvml, gpu.handle, FAST_CALLS, refusals),
        FieldValueReader(nvml, gpu.handle, FAST_FIELDS, refusals),
        GpmReader(nvml, gpu.handle, refusals),
    )


def slow_parts(labels_of_pid: LabelsOfPid, labels_of_device: LabelsOfDevice) -> PartsOf:
    """What moves slowly, or takes its time.

    Args:
        labels_of_pid: for whom a process works.
        labels_of_device: for whom a device is set apart.
    """

    def parts(nvml: Nvml, gpu: Gpu, mig: MigDevice | None, refusals: Refusals) -> Sequence[Part]:
        if mig is not None:
            return (
                ProcessReader(nvml, mig.handle, refusals, labels_of_pid),
                DeviceOwnerReader(mig.uuid, labels_of_device),
            )
        found: list[Part] = [
            CallReader(nvml, gpu.handle, SLOW_CALLS, refusals),
            FieldValueReader(nvml, gpu.handle, SLOW_FIELDS, refusals),
            NvLinkReader(nvml, gpu.handle, refusals),
            ProcessReader(nvml, gpu.handle, refusals, labels_of_pid),
            DeviceOwnerReader(gpu.uuid, labels_of_device),
        ]
        if not can_sample(nvml, gpu.handle):
            found.append(CallReader(nvml, gpu.handle, PCIE_RATES, refusals))
        return found

    return parts


class GpuReader:
    """Reads one GPU; used by one thread at a time.

    Args:
        nvml: the initialised library.
        gpu: whom to ask.
        parts_of: what to ask.
        monotonic: seconds that only grow.
    """

    def __init__(
        self, nvml: Nvml, gpu: Gpu, parts_of: PartsOf, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.gpu = gpu
        self._nvml = nvml
        self._parts_of = parts_of
        self._monotonic = monotonic
        self._parts: Sequence[Part] | None = None
        self._mig: dict[tuple[int, int, str], tuple[MigDevice, Sequence[Part]]] = {}
        self._mig_until = float("-inf")

    def read(self) -> list[EntityReading]:
        """The GPU first, then its MIG devices.

        Raises:
            GpuLostError: the GPU is gone.
        """
        if self._parts is None:
            self._parts = self._new_parts(None)
        found = [EntityReading(self.gpu.entity, self.gpu.labels, _read(self._parts))]
        if self._monotonic() >= self._mig_until:
            self._list_mig_devices()
        for device, parts in self._mig.values():
            found.append(EntityReading(device.entity(self.gpu), device.labels(self.gpu), _read(parts)))
        return found

    def close(self) -> None:
        """Give back what is held; the library must still be initialised."""
        for parts in (self._parts or (), *(parts for _, parts in self._mig.values())):
            _close(parts)
        self._parts, self._mig = None, {}

    def _new_parts(self, mig: MigDevice | None) -> Sequence[Part]:
        return self._parts_of(self._nvml, self.gpu, mig, Refusals(self._nvml, self._monotonic))

    def _list_mig_devices(self) -> None:
        try:
            devices = mig_devices(self._nvml, self.gpu)
        except self._nvml.errors:
            # Those that are known are asked, and say themselves what is wrong.
            return
        known, self._mig = self._mig, {}
        for device in devices:
            key = (device.gpu_instance, device.compute_instance, device.uuid)
            self._mig[key] = known.pop(key) if key in known else (device, self._new_parts(device))
        for _, parts in known.values():
            _close(parts)
        self._mig_until = self._monotonic() + _MIG_SECONDS


def _read(parts: Sequence[Part]) -> Reading:
    reading = Reading()
    for part in parts:
        part.read_into(reading)
    return reading


def _close(parts: Sequence[Part]) -> None:
    for part in parts:
        part.close()
