"""What NVML says when it is asked without the collectors: one plain call a metric, in the catalogue's unit."""

from collections.abc import Callable
from typing import Any

import pynvml

Ask = Callable[[Any], float]

_GPU = "hw.type=gpu"
_KIBI = 1024
_CLOCKS = {
    "sm": pynvml.NVML_CLOCK_SM,
    "memory": pynvml.NVML_CLOCK_MEM,
    "graphics": pynvml.NVML_CLOCK_GRAPHICS,
    "video": pynvml.NVML_CLOCK_VIDEO,
}
_REASONS = {
    "gpu_idle": pynvml.nvmlClocksEventReasonGpuIdle,
    "applications_clocks_setting": pynvml.nvmlClocksEventReasonApplicationsClocksSetting,
    "sw_power_cap": pynvml.nvmlClocksEventReasonSwPowerCap,
    "hw_slowdown": pynvml.nvmlClocksEventReasonHwSlowdown,
    "sync_boost": pynvml.nvmlClocksEventReasonSyncBoost,
    "sw_thermal_slowdown": pynvml.nvmlClocksEventReasonSwThermalSlowdown,
    "hw_thermal_slowdown": pynvml.nvmlClocksEventReasonHwThermalSlowdown,
    "hw_power_brake_slowdown": pynvml.nvmlClocksEventReasonHwPowerBrakeSlowdown,
    "display_clock_setting": pynvml.nvmlClocksEventReasonDisplayClockSetting,
}


def field(handle: Any, identifier: int, scope: int = 0) -> float:
    """One field value.

    Raises:
        pynvml.NVMLError: there is none.
    """
    (answer,) = pynvml.nvmlDeviceGetFieldValues(handle, [(identifier, scope)])
    if answer.nvmlReturn != pynvml.NVML_SUCCESS:
        raise pynvml.NVMLError(answer.nvmlReturn)
    member = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}[answer.valueType]
    return float(getattr(answer.value, member))


def links(handle: Any) -> int:
    """How many NVLinks a GPU has.

    Raises:
        pynvml.NVMLError: it doesn't say, or has none.
    """
    count = int(field(handle, pynvml.NVML_FI_DEV_NVLINK_LINK_COUNT))
    if count == 0:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
    return count


def _over_links(identifier: int, scale: float = 1.0) -> Ask:
    return lambda handle: scale * sum(field(handle, identifier, link) for link in range(links(handle)))


def _first_supported(*asks: Ask) -> Ask:
    def ask(handle: Any) -> float:
        for each in asks[:-1]:
            try:
                return each(handle)
            except pynvml.NVMLError:
                continue
        return asks[-1](handle)

    return ask


def _links_in_state(state: int) -> Ask:
    return lambda handle: sum(pynvml.nvmlDeviceGetNvLinkState(handle, link) == state for link in range(links(handle)))


def _memory(member: str) -> Ask:
    return lambda handle: getattr(pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2), member)


def _reason(bit: int) -> Ask:
    return lambda handle: float(pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle) & bit != 0)


def _remapped(index: int) -> Ask:
    return lambda handle: pynvml.nvmlDeviceGetRemappedRows(handle)[index]


def _ecc(error: int, counter: int) -> Ask:
    return lambda handle: pynvml.nvmlDeviceGetTotalEccErrors(handle, error, counter)


def _threshold(identifier: int) -> Ask:
    return lambda handle: pynvml.nvmlDeviceGetTemperatureThreshold(handle, identifier)


def _seconds(identifier: int) -> Ask:
    return lambda handle: field(handle, identifier) / 1e9


def _clock(call: Callable[[Any, int], int], identifier: int) -> Ask:
    return lambda handle: call(handle, identifier) * 1e6


FAST: dict[str, Ask] = {
    "hw.gpu.utilization{hw.gpu.task=general}": lambda h: pynvml.nvmlDeviceGetUtilizationRates(h).gpu / 100,
    "hw.gpu.memory.controller.utilization": lambda h: pynvml.nvmlDeviceGetUtilizationRates(h).memory / 100,
    "hw.gpu.utilization{hw.gpu.task=encoder}": lambda h: pynvml.nvmlDeviceGetEncoderUtilization(h)[0] / 100,
    "hw.gpu.utilization{hw.gpu.task=decoder}": lambda h: pynvml.nvmlDeviceGetDecoderUtilization(h)[0] / 100,
    "hw.gpu.memory.usage{hw.gpu.memory.state=used}": _memory("used"),
    "hw.gpu.memory.usage{hw.gpu.memory.state=free}": _memory("free"),
    "hw.gpu.memory.usage{hw.gpu.memory.state=reserved}": _memory("reserved"),
    "hw.gpu.memory.limit": _memory("total"),
    f"hw.power{{{_GPU}}}": lambda h: pynvml.nvmlDeviceGetPowerUsage(h) / 1000,
    f"hw.energy{{{_GPU}}}": lambda h: pynvml.nvmlDeviceGetTotalEnergyConsumption(h) / 1000,
    f"hw.temperature{{{_GPU}}}": lambda h: pynvml.nvmlDeviceGetTemperature(h, pynvml.NVML_TEMPERATURE_GPU),
    f"hw.temperature{{hw.sensor_location=memory,{_GPU}}}": lambda h: field(h, pynvml.NVML_FI_DEV_MEMORY_TEMP),
    **{
        f"hw.gpu.clock.frequency{{hw.gpu.clock.domain={domain}}}": _clock(pynvml.nvmlDeviceGetClockInfo, identifier)
        for domain, identifier in _CLOCKS.items()
    },
    **{f"hw.gpu.clock.event{{hw.gpu.clock.event.reason={reason}}}": _reason(bit) for reason, bit in _REASONS.items()},
    **{
        f"hw.gpu.clock.event.time{{hw.gpu.clock.event.reason={reason}}}": (_seconds(identifier))
        for reason, identifier in {
            "sw_power_cap": pynvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP,
            "sync_boost": pynvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST,
            "sw_thermal_slowdown": pynvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN,
            "hw_thermal_slowdown": pynvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN,
            "hw_power_brake_slowdown": pynvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN,
        }.items()
    },
}

SLOW: dict[str, Ask] = {
    "hw.gpu.utilization{hw.gpu.task=jpeg}": lambda h: pynvml.nvmlDeviceGetJpgUtilization(h)[0] / 100,
    "hw.gpu.utilization{hw.gpu.task=ofa}": lambda h: pynvml.nvmlDeviceGetOfaUtilization(h)[0] / 100,
    "hw.gpu.bar1.usage{hw.gpu.memory.state=used}": lambda h: pynvml.nvmlDeviceGetBAR1MemoryInfo(h).bar1Used,
    "hw.gpu.bar1.usage{hw.gpu.memory.state=free}": lambda h: pynvml.nvmlDeviceGetBAR1MemoryInfo(h).bar1Free,
    "hw.gpu.bar1.limit": lambda h: pynvml.nvmlDeviceGetBAR1MemoryInfo(h).bar1Total,
    f"hw.power.limit{{{_GPU}}}": lambda h: pynvml.nvmlDeviceGetEnforcedPowerLimit(h) / 1000,
    f"hw.temperature.limit{{hw.limit_type=high.critical,{_GPU}}}": _threshold(
        pynvml.NVML_TEMPERATURE_THRESHOLD_SHUTDOWN
    ),
    f"hw.temperature.limit{{hw.limit_type=high.degraded,{_GPU}}}": _threshold(
        pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
    ),
    f"hw.temperature.limit{{hw.limit_type=max,{_GPU}}}": _threshold(pynvml.NVML_TEMPERATURE_THRESHOLD_GPU_MAX),
    f"hw.temperature.limit{{hw.limit_type=max,hw.sensor_location=memory,{_GPU}}}": _threshold(
        pynvml.NVML_TEMPERATURE_THRESHOLD_MEM_MAX
    ),
    f"hw.temperature.margin{{{_GPU}}}": lambda h: pynvml.nvmlDeviceGetMarginTemperature(h),
    **{
        f"hw.gpu.clock.frequency.limit{{hw.gpu.clock.domain={domain}}}": _clock(
            pynvml.nvmlDeviceGetMaxClockInfo, identifier
        )
        for domain, identifier in _CLOCKS.items()
    },
    **{
        f"hw.errors{{error.type=ecc_{error},hw.gpu.ecc.counter={counter},{_GPU}}}": _ecc(error_type, counter_type)
        for error, error_type in (
            ("corrected", pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED),
            ("uncorrected", pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
        )
        for counter, counter_type in (("volatile", pynvml.NVML_VOLATILE_ECC), ("aggregate", pynvml.NVML_AGGREGATE_ECC))
    },
    "hw.gpu.memory.remapped_rows{error.type=ecc_corrected}": _remapped(0),
    "hw.gpu.memory.remapped_rows{error.type=ecc_uncorrected}": _remapped(1),
    "hw.gpu.memory.remapped_rows.pending": _remapped(2),
    "hw.gpu.memory.remapped_rows.failed": _remapped(3),
    "hw.gpu.memory.retired_pages{error.type=ecc_corrected}": lambda h: field(h, pynvml.NVML_FI_DEV_RETIRED_SBE),
    "hw.gpu.memory.retired_pages{error.type=ecc_uncorrected}": lambda h: field(h, pynvml.NVML_FI_DEV_RETIRED_DBE),
    "hw.gpu.memory.retired_pages.pending": lambda h: field(h, pynvml.NVML_FI_DEV_RETIRED_PENDING),
    "hw.gpu.pcie.generation": lambda h: pynvml.nvmlDeviceGetCurrPcieLinkGeneration(h),
    "hw.gpu.pcie.generation.limit": lambda h: pynvml.nvmlDeviceGetMaxPcieLinkGeneration(h),
    "hw.gpu.pcie.lanes": lambda h: pynvml.nvmlDeviceGetCurrPcieLinkWidth(h),
    "hw.gpu.pcie.lanes.limit": lambda h: pynvml.nvmlDeviceGetMaxPcieLinkWidth(h),
    f"hw.errors{{error.type=pcie_replay,{_GPU}}}": lambda h: pynvml.nvmlDeviceGetPcieReplayCounter(h),
    "hw.gpu.nvlink.links{hw.state=up}": _links_in_state(1),
    "hw.gpu.nvlink.links{hw.state=down}": _links_in_state(0),
    "hw.gpu.io{hw.gpu.link=nvlink,network.io.direction=transmit}": _first_supported(
        _over_links(pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, _KIBI),
        _over_links(pynvml.NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES),
    ),
    "hw.gpu.io{hw.gpu.link=nvlink,network.io.direction=receive}": _first_supported(
        _over_links(pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, _KIBI),
        _over_links(pynvml.NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES),
    ),
    f"hw.errors{{error.type=nvlink_replay,{_GPU}}}": _first_supported(
        _over_links(pynvml.NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY),
        lambda h: field(h, pynvml.NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL),
    ),
    f"hw.errors{{error.type=nvlink_recovery,{_GPU}}}": _first_supported(
        _over_links(pynvml.NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY),
        lambda h: field(h, pynvml.NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL),
    ),
    f"hw.errors{{error.type=nvlink_crc,{_GPU}}}": _first_supported(
        _over_links(pynvml.NVML_FI_DEV_NVLINK_ERROR_DL_CRC),
        lambda h: (
            field(h, pynvml.NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL)
            + field(h, pynvml.NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL)
        ),
    ),
    "hw.gpu.process.count": lambda h: len({process.pid for process in _processes(h)}),
    "hw.gpu.process.memory.usage": lambda h: sum(
        {process.pid: process.usedGpuMemory or 0 for process in _processes(h)}.values()
    ),
}


def _processes(handle: Any) -> list[Any]:
    found = list(pynvml.nvmlDeviceGetComputeRunningProcesses(handle))
    for call in (pynvml.nvmlDeviceGetGraphicsRunningProcesses, pynvml.nvmlDeviceGetMPSComputeRunningProcesses):
        try:
            found += call(handle)
        except pynvml.NVMLError:
            continue
    return found


GPM: dict[str, tuple[int, float]] = {
    "hw.gpu.utilization{hw.gpu.task=graphics}": (pynvml.NVML_GPM_METRIC_GRAPHICS_UTIL, 0.01),
    "hw.gpu.sm.activity": (pynvml.NVML_GPM_METRIC_SM_UTIL, 0.01),
    "hw.gpu.sm.occupancy": (pynvml.NVML_GPM_METRIC_SM_OCCUPANCY, 0.01),
    "hw.gpu.tensor.activity": (pynvml.NVML_GPM_METRIC_ANY_TENSOR_UTIL, 0.01),
    "hw.gpu.memory.activity": (pynvml.NVML_GPM_METRIC_DRAM_BW_UTIL, 0.01),
    "hw.gpu.pipe.activity{hw.gpu.pipe=fp64}": (pynvml.NVML_GPM_METRIC_FP64_UTIL, 0.01),
    "hw.gpu.pipe.activity{hw.gpu.pipe=fp32}": (pynvml.NVML_GPM_METRIC_FP32_UTIL, 0.01),
    "hw.gpu.pipe.activity{hw.gpu.pipe=fp16}": (pynvml.NVML_GPM_METRIC_FP16_UTIL, 0.01),
    "hw.gpu.pipe.activity{hw.gpu.pipe=integer}": (pynvml.NVML_GPM_METRIC_INTEGER_UTIL, 0.01),
    "hw.gpu.pipe.activity{hw.gpu.pipe=tensor_fp64}": (pynvml.NVML_GPM_METRIC_DFMA_TENSOR_UTIL, 0.01),
    "hw.gpu.pipe.activity{hw.gpu.pipe=tensor_fp16}": (pynvml.NVML_GPM_METRIC_HMMA_TENSOR_UTIL, 0.01),
    "hw.gpu.pipe.activity{hw.gpu.pipe=tensor_integer}": (pynvml.NVML_GPM_METRIC_IMMA_TENSOR_UTIL, 0.01),
    "hw.gpu.io.rate{hw.gpu.link=pcie,network.io.direction=transmit}": (
        pynvml.NVML_GPM_METRIC_PCIE_TX_PER_SEC,
        1024.0 * 1024.0,
    ),
    "hw.gpu.io.rate{hw.gpu.link=pcie,network.io.direction=receive}": (
        pynvml.NVML_GPM_METRIC_PCIE_RX_PER_SEC,
        1024.0 * 1024.0,
    ),
    "hw.gpu.io.rate{hw.gpu.link=nvlink,network.io.direction=transmit}": (
        pynvml.NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC,
        1024.0 * 1024.0,
    ),
    "hw.gpu.io.rate{hw.gpu.link=nvlink,network.io.direction=receive}": (
        pynvml.NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC,
        1024.0 * 1024.0,
    ),
}
"""Performance counter and scale by metric."""

PCIE_RATES: dict[str, Ask] = {
    "hw.gpu.io.rate{hw.gpu.link=pcie,network.io.direction=transmit}": (
        lambda h: pynvml.nvmlDeviceGetPcieThroughput(h, pynvml.NVML_PCIE_UTIL_TX_BYTES) * 1000
    ),
    "hw.gpu.io.rate{hw.gpu.link=pcie,network.io.direction=receive}": (
        lambda h: pynvml.nvmlDeviceGetPcieThroughput(h, pynvml.NVML_PCIE_UTIL_RX_BYTES) * 1000
    ),
}
"""Of devices without performance counters."""


def has_gpm(handle: Any) -> bool:
    """Whether a device has performance counters."""
    try:
        return bool(pynvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice)
    except pynvml.NVMLError:
        return False
