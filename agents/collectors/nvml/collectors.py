"""The GPU collectors on the driver of this machine."""

from collections.abc import Mapping

from pulsetrain.agents.collectors.nvml.collector import NvmlCollector, NvmlHealthCollector
from pulsetrain.agents.collectors.nvml.driver import Driver
from pulsetrain.agents.collectors.nvml.gpu_reader import slow_parts
from pulsetrain.agents.collectors.nvml.kernel_log import KernelLog
from pulsetrain.agents.collectors.nvml.library import load_pynvml
from pulsetrain.agents.collectors.nvml.processes import LabelsOfDevice, LabelsOfPid
from pulsetrain.agents.collectors.nvml.settings import NvmlSettings


def nvml_collectors(
    settings: NvmlSettings, labels_of_pid: LabelsOfPid, labels_of_device: LabelsOfDevice
) -> tuple[NvmlCollector, NvmlHealthCollector]:
    """What moves fast, and what moves slowly. `pynvml` is loaded at the first call of `collect`.

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
