"""Metrics of power, idle states, sensors and the node's clock.

`hw.power`, `hw.energy` and `hw.temperature` stand with the GPU's metrics and serve every kind of hardware (hw.type).
"""

from pulsetrain.schemas.catalogue.metric import BetweenSamples, JudgedBy, counter, gauge

IDLE_METRICS = (
    counter(
        "system.linux.cpu.idle.residency",
        "s",
        "Time in an idle state (linux.cpu.idle.state: POLL, C1, C6 ...), mean over the CPUs that are asked; its rate "
        "is the share of time. Time counts when a CPU leaves the state.",
    ),
    counter(
        "system.linux.cpu.idle.entries",
        "{entry}",
        "How often an idle state was entered (linux.cpu.idle.state), mean over the CPUs that are asked.",
    ),
)

SENSOR_METRICS = (
    counter("system.linux.cpu.throttles", "{event}", "How often heat made a processor package slower."),
    counter("system.linux.cpu.throttled_time", "s", "How long heat made packages slower, the sum over them."),
    gauge("hw.fan.speed", "rpm", "Revolutions a minute, by hw.name and hw.sensor_location.", valid_max=1e5),
)

CLOCK_METRICS = (
    gauge(
        "system.linux.clock.synchronized",
        "1",
        "1 where the kernel takes its clock for synchronized with a better one, 0 where not.",
        valid_max=1.0,
        between_samples=BetweenSamples.HOLD,
    ),
    gauge(
        "system.linux.clock.offset",
        "s",
        "Offset that the kernel's own loop has still to correct; 0 where a daemon steers the frequency instead.",
        valid_min=-1e3,
        valid_max=1e3,
    ),
    gauge(
        "system.linux.clock.max_error",
        "s",
        "Largest error that the clock may have; grows by 0.5 ms a second without synchronization.",
        judged_by=JudgedBy.NOTHING,
    ),
    gauge("system.linux.clock.estimated_error", "s", "Error that the clock is thought to have."),
    gauge(
        "system.linux.clock.frequency_correction",
        "1",
        "By how much the clock's frequency is corrected, as a share of it.",
        valid_min=-1e-2,
        valid_max=1e-2,
    ),
    gauge(
        "system.linux.clock.tai_offset",
        "s",
        "Atomic time (TAI) less UTC as the kernel knows it; 0 where nobody has told it.",
        judged_by=JudgedBy.NOTHING,
        between_samples=BetweenSamples.HOLD,
    ),
)

POWER_METRICS = (*IDLE_METRICS, *SENSOR_METRICS, *CLOCK_METRICS)
