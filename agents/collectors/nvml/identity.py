"""Who a GPU is, and who its MIG devices are.

A GPU is its UUID: the index is where it happens to stand, and changes from one boot to the next. A MIG device is its
GPU with GPU instance and compute instance: its own UUID changes when it is made anew.
"""

import ctypes
import re
from dataclasses import dataclass
from typing import Any

from pulsetrain.agents.collectors.nvml.library import LOST, REFUSED, Nvml, code_of
from pulsetrain.agents.collectors.nvml.reading import GpuLostError

PciAddress = tuple[int, int, int]
"""Domain, bus and device; a GPU's function is always 0."""

_PCI_ADDRESS = re.compile(r"(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})(?:\.\d)?")
_MAX_LABEL_CHARACTERS = 128
_MAX_MIG_DEVICES = 64


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as it was last seen. `handle` is NVML's, good for one initialisation of the library."""

    uuid: str
    index: int
    name: str
    serial: str
    bus_id: str
    handle: Any

    @property
    def entity(self) -> str:
        """The name of the entity, without the node."""
        return f"gpu:{self.uuid}"

    @property
    def labels(self) -> dict[str, str]:
        """What is known of it beside the UUID; what the driver doesn't tell is absent."""
        known = {
            "hw.model": self.name,
            "hw.serial_number": self.serial,
            "hw.gpu.index": str(self.index),
            "hw.gpu.bus_id": self.bus_id,
        }
        return {key: value[:_MAX_LABEL_CHARACTERS] for key, value in known.items() if value}

    def described(self) -> str:
        """For a sentence to an operator."""
        return f"GPU {self.index} ({self.name or 'unknown model'}, {self.uuid}, bus {self.bus_id or 'unknown'})"


@dataclass(frozen=True, slots=True)
class MigDevice:
    """One compute instance of one GPU instance. `uuid` is its own, as CUDA takes it; made anew, it has another."""

    gpu_instance: int
    compute_instance: int
    uuid: str
    name: str
    handle: Any

    def entity(self, gpu: Gpu) -> str:
        """The name of the entity, without the node."""
        return f"{gpu.entity}:gi{self.gpu_instance}:ci{self.compute_instance}"

    def labels(self, gpu: Gpu) -> dict[str, str]:
        """What is known of it."""
        return {**gpu.labels, "hw.model": self.name or gpu.name, "hw.gpu.mig_uuid": self.uuid}


def identify(nvml: Nvml, index: int) -> Gpu:
    """Ask for the GPU at an index.

    Raises:
        Nvml.errors: it has no handle or no UUID.
    """
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    return Gpu(
        uuid=text(nvml.nvmlDeviceGetUUID(handle)),
        index=index,
        name=_optional(nvml, "nvmlDeviceGetName", handle),
        serial=_optional(nvml, "nvmlDeviceGetSerial", handle),
        bus_id=_bus_id(nvml, handle),
        handle=handle,
    )


def mig_devices(nvml: Nvml, gpu: Gpu) -> list[MigDevice]:
    """The parts of a GPU, in the order of the driver; none where it is whole or can't be cut.

    Raises:
        GpuLostError: the GPU is gone.
        Nvml.errors: it does not say now.
    """
    try:
        current, _ = nvml.nvmlDeviceGetMigMode(gpu.handle)
        most = nvml.nvmlDeviceGetMaxMigDeviceCount(gpu.handle) if current else 0
    except nvml.errors as error:
        if code_of(error) in LOST:
            raise GpuLostError(nvml.reason(code_of(error))) from error
        if code_of(error) not in REFUSED:
            raise
        return []
    found = []
    for index in range(min(most, _MAX_MIG_DEVICES)):
        try:
            handle = nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu.handle, index)
            found.append(
                MigDevice(
                    gpu_instance=nvml.nvmlDeviceGetGpuInstanceId(handle),
                    compute_instance=nvml.nvmlDeviceGetComputeInstanceId(handle),
                    uuid=text(nvml.nvmlDeviceGetUUID(handle)),
                    name=text(nvml.nvmlDeviceGetName(handle)),
                    handle=handle,
                )
            )
        except nvml.errors:
            # Places without a device are within the count, and one may vanish while it is asked.
            continue
    return found


def text(value: bytes | str) -> str:
    """Text of the driver: bytes in some versions of pynvml, a string in others."""
    if isinstance(value, bytes):
        value = value.partition(b"\0")[0].decode("utf-8", "replace")
    return value.strip()


def pci_address(bus_id: str) -> PciAddress | None:
    """The address in any of its spellings: `00000000:3B:00.0` of NVML, `0000:3b:00` of the kernel log."""
    found = _PCI_ADDRESS.fullmatch(bus_id)
    return (int(found[1] or "0", 16), int(found[2], 16), int(found[3], 16)) if found else None


def handle_address(handle: Any) -> int | None:
    """Where a handle points to: what tells whether two of them are the same."""
    return ctypes.cast(handle, ctypes.c_void_p).value


def _optional(nvml: Nvml, call: str, handle: Any) -> str:
    try:
        return text(getattr(nvml, call)(handle))
    except nvml.errors:
        return ""
    except UnicodeDecodeError:
        # pynvml takes all text of a driver for UTF-8.
        return ""


def _bus_id(nvml: Nvml, handle: Any) -> str:
    try:
        return text(nvml.nvmlDeviceGetPciInfo(handle).busId).lower()
    except nvml.errors:
        return ""
