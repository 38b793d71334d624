"""Metrics of a container, or of a batch job that has a control group of its own.

Named as OpenTelemetry's semantic conventions do where those have a name.
"""

from pulsetrain.schemas.catalogue.metric import BetweenSamples, JudgedBy, counter, gauge

_CPU = (
    counter("container.cpu.time", "s", "CPU time used, in all or by cpu.mode."),
    gauge(
        "container.cpu.limit",
        "{cpu}",
        "CPUs that the quota allows; those of the machine where there is no quota.",
        judged_by=JudgedBy.NOTHING,
        between_samples=BetweenSamples.HOLD,
    ),
    counter("container.cpu.periods", "{period}", "Periods of the quota in which there was work."),
    counter("container.cpu.throttled.periods", "{period}", "Periods in which the quota was used up."),
    counter("container.cpu.throttled.time", "s", "Time in which work had to wait for the next period, of all CPUs."),
)

_MEMORY = (
    gauge(
        "container.memory.limit",
        "By",
        "Memory that may be used, the least of all limits above it; that of the machine where there is none.",
        judged_by=JudgedBy.NOTHING,
        between_samples=BetweenSamples.HOLD,
    ),
    gauge("container.memory.usage", "By", "Memory used, page cache included.", judged_by=JudgedBy.CHANGE),
    gauge("container.memory.utilization", "1", "Used memory as a share of the limit.", judged_by=JudgedBy.CHANGE),
    gauge(
        "container.memory.working_set",
        "By",
        "Memory used, less the page cache that has not been needed lately.",
        judged_by=JudgedBy.CHANGE,
    ),
    gauge(
        "container.memory.working_set.utilization",
        "1",
        "The working set as a share of the limit; near 1 the next allocation may end a process.",
    ),
    gauge("container.memory.rss", "By", "Anonymous memory.", judged_by=JudgedBy.CHANGE),
    gauge("container.memory.cache", "By", "Page cache.", judged_by=JudgedBy.CHANGE),
    counter(
        "container.memory.paging.faults",
        "{fault}",
        "Page faults, in all or major: those that had to read from a disk.",
    ),
    counter(
        "container.memory.events",
        "{event}",
        "What a limit did, by container.memory.event: reclaim at the high limit, allocations at the maximum, "
        "out of memory, processes killed for it (oom_kill).",
    ),
)

_OTHERS = (
    counter("container.disk.io", "By", "Bytes by disk.io.direction, of all physical disks."),
    counter("container.disk.operations", "{operation}", "Operations by disk.io.direction, of all physical disks."),
    gauge(
        "container.filesystem.usage",
        "By",
        "Bytes that the container uses, of all its file systems.",
        judged_by=JudgedBy.CHANGE,
    ),
    gauge(
        "container.task.count",
        "{thread}",
        "Processes and threads.",
        judged_by=JudgedBy.CHANGE,
        between_samples=BetweenSamples.HOLD,
    ),
    gauge(
        "container.task.limit",
        "{thread}",
        "Processes and threads that may exist; absent where there is no limit.",
        judged_by=JudgedBy.NOTHING,
        between_samples=BetweenSamples.HOLD,
    ),
    counter(
        "container.pressure.stall_time",
        "s",
        "Time in which tasks (linux.pressure.stall: some, or all) stalled on linux.pressure.resource.",
    ),
)

_NETWORK = (
    counter("container.network.io", "By", "Bytes by network.io.direction, of all interfaces."),
    counter("container.network.packets", "{packet}", "Packets by network.io.direction."),
    counter("container.network.packets.dropped", "{packet}", "Packets dropped, by network.io.direction."),
    counter("container.network.errors", "{error}", "Errors by network.io.direction."),
)

CONTAINER_METRICS = (*_CPU, *_MEMORY, *_OTHERS, *_NETWORK)
