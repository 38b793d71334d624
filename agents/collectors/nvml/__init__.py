"""NVIDIA GPUs through NVML: nothing here sets or resets anything on a device."""

from collections.abc import Mapping

from pulsetrain.agents.collectors.nvml.collector import NvmlCollector, NvmlHealthCollector
from pulsetrain.agents.collectors.nvml.driver import Driver
from pulsetrain.agents.collectors.nvml.gpu_reader import slow_parts
from pulsetrain.agents.collectors.nvml.kernel_log import KernelLog
from pulsetrain.agents.collectors.nvml.library import load_pynvml
from pulsetrain.agents.collectors.nvml.processes import LabelsOfDevice, LabelsOfPid
from pulsetrain.agents.collectors.nvml.settings import NvmlSettings

__all__ = ["NvmlCollector", "NvmlHealthCollector", "NvmlSettings", "nvml_collectors"]


def nvml_collectors(
    settings: NvmlSettings, labels_of_pid: LabelsOfPid, labels_of_device: LabelsOfDevice
) -> tuple[NvmlCollector, NvmlHealthCollector]:
    """The GPU collectors on the driver of this machine; `pynvml` is loaded at the first call of `collect`.

    Args:
        settings: how often GPUs are asked.
        labels_of_pid: for whom a process works.
        labels_of_device: for whom a device is set apart, by its UUID.
    """
    driver = Driver(load_pynvml)
    owners: dict[str, Mapping[str, str]] = {}
    return (
        NvmlCollector(driver, settings.interval_ms, owners, KernelLog()),
        NvmlHealthCollector(driver, settings.health_interval_ms, slow_parts(labels_of_pid, labels_of_device), owners),
    )
