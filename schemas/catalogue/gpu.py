"""Metrics of a GPU."""

from pulsetrain.schemas.catalogue.metric import BetweenSamples, JudgedBy, Metric, counter, gauge, share


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
