"""Metrics that one call each answers; the calls in two groups: what moves fast, and what is slow or moves slowly."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pulsetrain.agents.collectors.nvml.library import DEPRECATED, FUNCTION_NOT_FOUND, REFUSED, Nvml, code_of
from pulsetrain.agents.collectors.nvml.reading import Reading, Refusals
from pulsetrain.schemas.catalogue import metric_id

_PERCENT, _MILLI, _KILO, _MEGA = 0.01, 1e-3, 1e3, 1e6
_GPU = {"hw.type": "gpu"}
_CLOCK_REASONS = {
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
    "display_clock_setting": 0x100,
}
"""Bits of nvmlClocksEventReason*."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One call. `read` brings one number a metric in NVML's unit; times `scale` it is in the catalogue's."""

    metrics: tuple[str, ...]
    read: Callable[[Nvml, Any], Sequence[float]]
    scale: float = 1.0


class CallReader:
    """Asks one device a list of calls; one that fails costs the others nothing."""

    def __init__(self, nvml: Nvml, handle: Any, calls: Sequence[Call], refusals: Refusals) -> None:
        self._nvml = nvml
        self._handle = handle
        self._calls = calls
        self._refusals = refusals

    def read_into(self, reading: Reading) -> None:
        """Add every metric, with a value or with the reason why there is none.

        Raises:
            GpuLostError: the device is gone.
        """
        nvml, handle, refusals = self._nvml, self._handle, self._refusals
        for call in self._calls:
            refusal = refusals.standing(call)
            if refusal is None:
                try:
                    raw = call.read(nvml, handle)
                except nvml.errors as error:
                    refusal = refusals.note(call, error, reading)
                else:
                    for metric, value in zip(call.metrics, raw, strict=True):
                        reading.add(metric, value, call.scale)
                    continue
            reading.miss(call.metrics, refusal)

    def close(self) -> None:
        """Nothing is held."""


def _one(metric: str, name: str, scale: float = 1.0) -> Call:
    return Call((metric,), lambda nvml, handle: (getattr(nvml, name)(handle),), scale)


def _engine(task: str, name: str) -> Call:
    metric = metric_id("hw.gpu.utilization", **{"hw.gpu.task": task})
    return Call((metric,), lambda nvml, handle: getattr(nvml, name)(handle)[:1], _PERCENT)


def _clock(metric: str, name: str, domain: str, constant: str) -> Call:
    metric = metric_id(metric, **{"hw.gpu.clock.domain": domain})
    return Call((metric,), lambda nvml, handle: (getattr(nvml, name)(handle, getattr(nvml, constant)),), _MEGA)


def _threshold(limit: str, constant: str, **location: str) -> Call:
    metric = metric_id("hw.temperature.limit", **_GPU, **{"hw.limit_type": limit}, **location)
    return Call(
        (metric,), lambda nvml, handle: (nvml.nvmlDeviceGetTemperatureThreshold(handle, getattr(nvml, constant)),)
    )


def _ecc(error: str, error_constant: str, scope: str, scope_constant: str) -> Call:
    metric = metric_id("hw.errors", **_GPU, **{"error.type": f"ecc_{error}", "hw.gpu.ecc.counter": scope})
    return Call(
        (metric,),
        lambda nvml, handle: (
            nvml.nvmlDeviceGetTotalEccErrors(handle, getattr(nvml, error_constant), getattr(nvml, scope_constant)),
        ),
    )


def _pcie_rate(direction: str, constant: str) -> Call:
    metric = metric_id("hw.gpu.io.rate", **{"hw.gpu.link": "pcie", "network.io.direction": direction})
    return Call(
        (metric,), lambda nvml, handle: (nvml.nvmlDeviceGetPcieThroughput(handle, getattr(nvml, constant)),), _KILO
    )


def _memory(nvml: Nvml, handle: Any) -> tuple[float, ...]:
    try:
        memory = nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
    except nvml.errors as error:
        if code_of(error) not in REFUSED:
            raise
        # An older driver: reserved memory is part of the used one.
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        return memory.used, memory.free, float("nan"), memory.total
    return memory.used, memory.free, memory.reserved, memory.total


def _bar1(nvml: Nvml, handle: Any) -> tuple[float, ...]:
    memory = nvml.nvmlDeviceGetBAR1MemoryInfo(handle)
    return memory.bar1Used, memory.bar1Free, memory.bar1Total


def _utilization(nvml: Nvml, handle: Any) -> tuple[float, ...]:
    rates = nvml.nvmlDeviceGetUtilizationRates(handle)
    return rates.gpu, rates.memory


def _temperature(nvml: Nvml, handle: Any) -> tuple[float]:
    try:
        return (nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),)
    except nvml.errors as error:
        if code_of(error) not in {FUNCTION_NOT_FOUND, DEPRECATED}:
            raise
        return (nvml.nvmlDeviceGetTemperatureV(handle, nvml.NVML_TEMPERATURE_GPU),)


def _clock_reasons(nvml: Nvml, handle: Any) -> tuple[float, ...]:
    try:
        bits = nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)
    except nvml.errors as error:
        if code_of(error) not in REFUSED:
            raise
        bits = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    return tuple(float(bool(bits & bit)) for bit in _CLOCK_REASONS.values())


def _by_state(metric: str, *states: str) -> tuple[str, ...]:
    return tuple(metric_id(metric, **{"hw.gpu.memory.state": state}) for state in states)


def _by_error(metric: str) -> tuple[str, str]:
    corrected, uncorrected = ({"error.type": f"ecc_{kind}"} for kind in ("corrected", "uncorrected"))
    return metric_id(metric, **corrected), metric_id(metric, **uncorrected)


_DOMAINS = (
    ("sm", "NVML_CLOCK_SM"),
    ("memory", "NVML_CLOCK_MEM"),
    ("graphics", "NVML_CLOCK_GRAPHICS"),
    ("video", "NVML_CLOCK_VIDEO"),
)
_CORRECTED, _UNCORRECTED = "NVML_MEMORY_ERROR_TYPE_CORRECTED", "NVML_MEMORY_ERROR_TYPE_UNCORRECTED"

MEMORY = Call((*_by_state("hw.gpu.memory.usage", "used", "free", "reserved"), "hw.gpu.memory.limit"), _memory)

FAST_CALLS = (
    Call(
        (metric_id("hw.gpu.utilization", **{"hw.gpu.task": "general"}), "hw.gpu.memory.controller.utilization"),
        _utilization,
        _PERCENT,
    ),
    _engine("encoder", "nvmlDeviceGetEncoderUtilization"),
    _engine("decoder", "nvmlDeviceGetDecoderUtilization"),
    MEMORY,
    _one(metric_id("hw.power", **_GPU), "nvmlDeviceGetPowerUsage", _MILLI),
    _one(metric_id("hw.energy", **_GPU), "nvmlDeviceGetTotalEnergyConsumption", _MILLI),
    Call((metric_id("hw.temperature", **_GPU),), _temperature),
    *(_clock("hw.gpu.clock.frequency", "nvmlDeviceGetClockInfo", *domain) for domain in _DOMAINS),
    Call(
        tuple(metric_id("hw.gpu.clock.event", **{"hw.gpu.clock.event.reason": reason}) for reason in _CLOCK_REASONS),
        _clock_reasons,
    ),
)

SLOW_CALLS = (
    _engine("jpeg", "nvmlDeviceGetJpgUtilization"),
    _engine("ofa", "nvmlDeviceGetOfaUtilization"),
    Call((*_by_state("hw.gpu.bar1.usage", "used", "free"), "hw.gpu.bar1.limit"), _bar1),
    _one(metric_id("hw.power.limit", **_GPU), "nvmlDeviceGetEnforcedPowerLimit", _MILLI),
    _threshold("high.critical", "NVML_TEMPERATURE_THRESHOLD_SHUTDOWN"),
    _threshold("high.degraded", "NVML_TEMPERATURE_THRESHOLD_SLOWDOWN"),
    _threshold("max", "NVML_TEMPERATURE_THRESHOLD_GPU_MAX"),
    _threshold("max", "NVML_TEMPERATURE_THRESHOLD_MEM_MAX", **{"hw.sensor_location": "memory"}),
    _one(metric_id("hw.temperature.margin", **_GPU), "nvmlDeviceGetMarginTemperature"),
    *(_clock("hw.gpu.clock.frequency.limit", "nvmlDeviceGetMaxClockInfo", *domain) for domain in _DOMAINS),
    *(
        _ecc(error, error_constant, scope, scope_constant)
        for scope, scope_constant in (("volatile", "NVML_VOLATILE_ECC"), ("aggregate", "NVML_AGGREGATE_ECC"))
        for error, error_constant in (("corrected", _CORRECTED), ("uncorrected", _UNCORRECTED))
    ),
    Call(
        (
            *_by_error("hw.gpu.memory.remapped_rows"),
            "hw.gpu.memory.remapped_rows.pending",
            "hw.gpu.memory.remapped_rows.failed",
        ),
        lambda nvml, handle: nvml.nvmlDeviceGetRemappedRows(handle),
    ),
    _one("hw.gpu.pcie.generation", "nvmlDeviceGetCurrPcieLinkGeneration"),
    _one("hw.gpu.pcie.generation.limit", "nvmlDeviceGetMaxPcieLinkGeneration"),
    _one("hw.gpu.pcie.lanes", "nvmlDeviceGetCurrPcieLinkWidth"),
    _one("hw.gpu.pcie.lanes.limit", "nvmlDeviceGetMaxPcieLinkWidth"),
    _one(metric_id("hw.errors", **_GPU, **{"error.type": "pcie_replay"}), "nvmlDeviceGetPcieReplayCounter"),
)

PCIE_RATES = (_pcie_rate("transmit", "NVML_PCIE_UTIL_TX_BYTES"), _pcie_rate("receive", "NVML_PCIE_UTIL_RX_BYTES"))
"""Each takes 20 ms, over which it counts; only for devices whose performance counters don't tell it."""
