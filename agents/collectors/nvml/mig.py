"""MIG: the parts into which a GPU is cut, each known by GPU instance and compute instance."""

from dataclasses import dataclass
from typing import Any

from pulsetrain.agents.collectors.nvml.identity import Gpu, text
from pulsetrain.agents.collectors.nvml.library import LOST, REFUSED, Nvml, code_of
from pulsetrain.agents.collectors.nvml.reading import GpuLostError

_MAX_DEVICES = 64


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
    for index in range(min(most, _MAX_DEVICES)):
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
