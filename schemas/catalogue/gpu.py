"""Metrics of a GPU, and what NVIDIA's DCGM calls them."""

from dataclasses import dataclass

from pulsetrain.schemas.catalogue.metric import BetweenSamples, JudgedBy, Metric, counter, gauge, metric_id, share

_GPU = {"hw.type": "gpu"}
_MEBI = 1024.0 * 1024.0


def _limit(name: str, unit: str, description: str) -> Metric:
    return gauge(name, unit, description, judged_by=JudgedBy.NOTHING, between_samples=BetweenSamples.HOLD)


def _flag(name: str, description: str) -> Metric:
    return gauge(name, "1", description, valid_max=1.0, between_samples=BetweenSamples.HOLD)


_ACTIVITY = (
    share("hw.gpu.utilization", "Share of time in which the GPU, or one of its engines (hw.gpu.task), was busy."),
    share("hw.gpu.memory.controller.utilization", "Share of time in which GPU memory was read or written."),
    share("hw.gpu.sm.activity", "Share of cycles in which a streaming multiprocessor had a warp assigned."),
    share("hw.gpu.sm.occupancy", "Resident warps as a share of the most that fit."),
    share("hw.gpu.tensor.activity", "Share of cycles in which the tensor cores were active."),
    share("hw.gpu.pipe.activity", "Share of cycles in which one arithmetic pipe (hw.gpu.pipe) was active."),
    share("hw.gpu.memory.activity", "Share of cycles in which GPU memory transferred data."),
)

_MEMORY = (
    gauge("hw.gpu.memory.usage", "By", "GPU memory by hw.gpu.memory.state."),
    _limit("hw.gpu.memory.limit", "By", "GPU memory in all."),
    gauge("hw.gpu.bar1.usage", "By", "Address space through which the host maps GPU memory, by hw.gpu.memory.state."),
    _limit("hw.gpu.bar1.limit", "By", "That address space in all."),
    gauge("hw.gpu.process.memory.usage", "By", "GPU memory of processes, in all or of one container or job."),
    gauge(
        "hw.gpu.process.count",
        "{process}",
        "Processes that use the GPU, in all or of one container or job.",
        between_samples=BetweenSamples.HOLD,
    ),
    counter("hw.gpu.memory.retired_pages", "{page}", "Memory pages taken out of use, by error.type."),
    _flag("hw.gpu.memory.retired_pages.pending", "1 where pages wait for a restart to be taken out of use."),
    counter("hw.gpu.memory.remapped_rows", "{row}", "Memory rows replaced by spare ones, by error.type."),
    _flag("hw.gpu.memory.remapped_rows.pending", "1 where rows wait for a reset of the GPU to be replaced."),
    _flag("hw.gpu.memory.remapped_rows.failed", "1 where a row could not be replaced: the GPU has to be exchanged."),
)

_CLOCKS = (
    gauge(
        "hw.gpu.clock.frequency",
        "Hz",
        "Clock by hw.gpu.clock.domain.",
        valid_max=1e11,
        between_samples=BetweenSamples.HOLD,
    ),
    _limit("hw.gpu.clock.frequency.limit", "Hz", "Highest clock by hw.gpu.clock.domain."),
    _flag("hw.gpu.clock.event", "1 while hw.gpu.clock.event.reason keeps the clocks below what was asked for."),
    counter("hw.gpu.clock.event.time", "s", "Time for which hw.gpu.clock.event.reason has kept the clocks down."),
)

_LINKS = (
    counter("hw.gpu.io", "By", "Bytes by hw.gpu.link and network.io.direction."),
    gauge("hw.gpu.io.rate", "By/s", "Bytes a second by hw.gpu.link and network.io.direction."),
    gauge("hw.gpu.pcie.generation", "1", "PCIe generation in use.", between_samples=BetweenSamples.HOLD),
    _limit("hw.gpu.pcie.generation.limit", "1", "PCIe generation that GPU and slot can have."),
    gauge("hw.gpu.pcie.lanes", "{lane}", "PCIe lanes in use.", between_samples=BetweenSamples.HOLD),
    _limit("hw.gpu.pcie.lanes.limit", "{lane}", "PCIe lanes that GPU and slot can have."),
    gauge("hw.gpu.nvlink.links", "{link}", "NVLinks by hw.state: up, down.", between_samples=BetweenSamples.HOLD),
)

_HEALTH = (
    gauge(
        "hw.gpu.last_xid",
        "1",
        "Code of the last Xid event; it stays until the next one and counts nothing.",
        judged_by=JudgedBy.NOTHING,
        between_samples=BetweenSamples.HOLD,
    ),
    counter("hw.errors", "{error}", "Errors by error.type."),
)

_POWER_AND_TEMPERATURE = (
    gauge("hw.power", "W", "Power drawn.", valid_max=1e5),
    _limit("hw.power.limit", "W", "Power above which the GPU slows itself down."),
    counter("hw.energy", "J", "Energy used."),
    gauge(
        "hw.temperature",
        "Cel",
        "Temperature by hw.sensor_location.",
        valid_min=-100.0,
        valid_max=250.0,
        between_samples=BetweenSamples.HOLD,
    ),
    _limit("hw.temperature.limit", "Cel", "Temperature by hw.limit_type and hw.sensor_location that has consequences."),
    gauge(
        "hw.temperature.margin",
        "Cel",
        "Degrees left until the GPU slows itself down; below 0 it does.",
        valid_min=-250.0,
        valid_max=250.0,
        between_samples=BetweenSamples.HOLD,
    ),
)

GPU_METRICS = (*_ACTIVITY, *_MEMORY, *_CLOCKS, *_LINKS, *_HEALTH, *_POWER_AND_TEMPERATURE)


@dataclass(frozen=True, slots=True)
class CanonicalName:
    """What a source's metric is called here. A value of the source times `scale` is in the catalogue's unit."""

    metric: str
    scale: float = 1.0


_CANONICAL_NAMES = {
    "DCGM_FI_DEV_GPU_UTIL": CanonicalName(metric_id("hw.gpu.utilization", **{"hw.gpu.task": "general"}), 0.01),
    "DCGM_FI_DEV_ENC_UTIL": CanonicalName(metric_id("hw.gpu.utilization", **{"hw.gpu.task": "encoder"}), 0.01),
    "DCGM_FI_DEV_DEC_UTIL": CanonicalName(metric_id("hw.gpu.utilization", **{"hw.gpu.task": "decoder"}), 0.01),
    "DCGM_FI_DEV_MEM_COPY_UTIL": CanonicalName("hw.gpu.memory.controller.utilization", 0.01),
    "DCGM_FI_DEV_FB_USED": CanonicalName(metric_id("hw.gpu.memory.usage", **{"hw.gpu.memory.state": "used"}), _MEBI),
    "DCGM_FI_DEV_FB_FREE": CanonicalName(metric_id("hw.gpu.memory.usage", **{"hw.gpu.memory.state": "free"}), _MEBI),
    "DCGM_FI_DEV_SM_CLOCK": CanonicalName(metric_id("hw.gpu.clock.frequency", **{"hw.gpu.clock.domain": "sm"}), 1e6),
    "DCGM_FI_DEV_MEM_CLOCK": CanonicalName(
        metric_id("hw.gpu.clock.frequency", **{"hw.gpu.clock.domain": "memory"}), 1e6
    ),
    "DCGM_FI_DEV_POWER_USAGE": CanonicalName(metric_id("hw.power", **_GPU)),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": CanonicalName(metric_id("hw.energy", **_GPU), 0.001),
    "DCGM_FI_DEV_GPU_TEMP": CanonicalName(metric_id("hw.temperature", **_GPU)),
    "DCGM_FI_DEV_MEMORY_TEMP": CanonicalName(metric_id("hw.temperature", **_GPU, **{"hw.sensor_location": "memory"})),
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": CanonicalName(
        metric_id("hw.errors", **_GPU, **{"error.type": "pcie_replay"}),
    ),
    "DCGM_FI_DEV_XID_ERRORS": CanonicalName("hw.gpu.last_xid"),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": CanonicalName(metric_id("hw.gpu.utilization", **{"hw.gpu.task": "graphics"})),
    "DCGM_FI_PROF_SM_ACTIVE": CanonicalName("hw.gpu.sm.activity"),
    "DCGM_FI_PROF_SM_OCCUPANCY": CanonicalName("hw.gpu.sm.occupancy"),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": CanonicalName("hw.gpu.tensor.activity"),
    "DCGM_FI_PROF_DRAM_ACTIVE": CanonicalName("hw.gpu.memory.activity"),
    "DCGM_FI_PROF_PCIE_TX_BYTES": CanonicalName(
        metric_id("hw.gpu.io.rate", **{"hw.gpu.link": "pcie", "network.io.direction": "transmit"})
    ),
    "DCGM_FI_PROF_PCIE_RX_BYTES": CanonicalName(
        metric_id("hw.gpu.io.rate", **{"hw.gpu.link": "pcie", "network.io.direction": "receive"})
    ),
    "DCGM_FI_PROF_NVLINK_TX_BYTES": CanonicalName(
        metric_id("hw.gpu.io.rate", **{"hw.gpu.link": "nvlink", "network.io.direction": "transmit"})
    ),
    "DCGM_FI_PROF_NVLINK_RX_BYTES": CanonicalName(
        metric_id("hw.gpu.io.rate", **{"hw.gpu.link": "nvlink", "network.io.direction": "receive"})
    ),
}


def canonical_name(source_name: str) -> CanonicalName | None:
    """What DCGM's `source_name` is called here; None if it is not in the table.

    Sentinels have to be taken out before values are scaled.
    """
    return _CANONICAL_NAMES.get(source_name)
