"""Metrics of a host, named as OpenTelemetry's semantic conventions do where those have a name."""

from pulsetrain.schemas.catalogue.metric import BetweenSamples, JudgedBy, counter, gauge, share

_UNSIGNED_INT = 2.0**32
"""Linux keeps softirqs of a CPU (fs/proc/stat.c) in an unsigned int. When one of them wraps, so much is missing in the
sum over CPUs, which itself may be larger."""

_UNSIGNED_INT_OF_MILLISECONDS = 2.0**32 / 1000
"""Linux shows the times of a disk as unsigned int (Documentation/admin-guide/iostats.rst), in milliseconds."""

_CPU = (
    share(
        "system.cpu.utilization",
        "Share of CPU time since the previous tick: in one mode of all CPUs (cpu.mode), or busy, that is neither idle "
        "nor waiting for I/O, of all CPUs or of one (cpu.logical_number). Time of guests counts as guest only.",
    ),
    gauge("system.cpu.frequency", "Hz", "Current clock, mean over the CPUs that were asked.", valid_max=1e11),
    gauge(
        "system.cpu.load_average.1m",
        "{thread}",
        "Threads running or in uninterruptible wait, mean over 1 min.",
        judged_by=JudgedBy.NOTHING,
    ),
    gauge(
        "system.cpu.load_average.5m",
        "{thread}",
        "Threads running or in uninterruptible wait, mean over 5 min.",
        judged_by=JudgedBy.NOTHING,
    ),
    gauge(
        "system.cpu.load_average.15m",
        "{thread}",
        "Threads running or in uninterruptible wait, mean over 15 min.",
        judged_by=JudgedBy.NOTHING,
    ),
    gauge(
        "system.process.count",
        "{thread}",
        "Threads by process.state: running or runnable, blocked on I/O.",
        between_samples=BetweenSamples.HOLD,
    ),
    counter("system.process.created", "{process}", "Forks and clones since boot."),
    gauge(
        "system.linux.thread.count",
        "{thread}",
        "Threads that exist.",
        judged_by=JudgedBy.CHANGE,
        between_samples=BetweenSamples.HOLD,
    ),
    counter("system.linux.context_switches", "{switch}", "Context switches of all CPUs since boot."),
    counter("system.linux.interrupts", "{interrupt}", "Interrupts serviced since boot."),
    counter(
        "system.linux.softirqs",
        "{interrupt}",
        "Softirqs serviced since boot, in all or of one type.",
        wraps_at=_UNSIGNED_INT,
    ),
)

_PRESSURE = (
    share(
        "system.linux.pressure.share",
        "Share of the last 10 s in which tasks (some, or all) stalled on a resource.",
        judged_by=JudgedBy.NOTHING,
    ),
    counter("system.linux.pressure.stall_time", "s", "Time in which tasks (some, or all) stalled on a resource."),
)

_MEMORY = (
    gauge(
        "system.memory.limit",
        "By",
        "Memory of the machine.",
        judged_by=JudgedBy.NOTHING,
        between_samples=BetweenSamples.HOLD,
    ),
    gauge(
        "system.memory.usage",
        "By",
        "Memory by system.memory.state; used is what is in none of the other states.",
        judged_by=JudgedBy.CHANGE,
    ),
    share("system.memory.utilization", "Share of memory by system.memory.state.", judged_by=JudgedBy.CHANGE),
    gauge(
        "system.linux.memory.available",
        "By",
        "Memory that new work can have without swapping.",
        judged_by=JudgedBy.CHANGE,
    ),
    gauge(
        "system.linux.memory.slab.usage", "By", "Kernel caches by linux.memory.slab.state.", judged_by=JudgedBy.CHANGE
    ),
    gauge(
        "system.linux.memory.lru.usage",
        "By",
        "Pages on the lists of reclaim, by linux.memory.lru.",
        judged_by=JudgedBy.CHANGE,
    ),
    gauge(
        "system.linux.memory.kind.usage",
        "By",
        "Memory by what it holds (linux.memory.kind).",
        judged_by=JudgedBy.CHANGE,
    ),
    gauge("system.linux.memory.committed", "By", "Memory promised to processes.", judged_by=JudgedBy.CHANGE),
    gauge(
        "system.linux.memory.commit_limit",
        "By",
        "Memory that may be promised under strict overcommit.",
        judged_by=JudgedBy.NOTHING,
        between_samples=BetweenSamples.HOLD,
    ),
    gauge(
        "system.linux.memory.hugepages.count",
        "{page}",
        "Reserved huge pages by linux.memory.hugepages.state.",
        judged_by=JudgedBy.CHANGE,
        between_samples=BetweenSamples.HOLD,
    ),
    gauge("system.paging.usage", "By", "Swap by system.paging.state.", judged_by=JudgedBy.CHANGE),
)

_PAGING = (
    counter("system.paging.faults", "{fault}", "Page faults, in all or major: those that had to read from a disk."),
    counter("system.paging.operations", "{page}", "Pages swapped, by system.paging.direction."),
    counter("system.linux.paging.io", "By", "Bytes between page cache or swap and disks, by disk.io.direction."),
    counter("system.linux.memory.pages", "{page}", "Pages by event: allocated, freed, dirtied, written, activated."),
    counter("system.linux.memory.reclaim.scanned", "{page}", "Pages looked at by reclaim, by linux.memory.reclaimer."),
    counter("system.linux.memory.reclaim.stolen", "{page}", "Pages reclaimed, by linux.memory.reclaimer."),
    counter("system.linux.memory.refaults", "{page}", "Pages read again soon after their eviction, by kind."),
    counter("system.linux.memory.allocation_stalls", "{stall}", "Allocations that had to reclaim memory themselves."),
    counter("system.linux.memory.oom_kills", "{process}", "Processes killed because memory ran out."),
    counter("system.linux.memory.migrated", "{page}", "Pages moved between nodes or zones, by result."),
    counter("system.linux.memory.compaction.events", "{event}", "Direct compactions by result."),
    counter("system.linux.memory.thp.events", "{event}", "Huge page events at page faults and splits."),
    counter("system.linux.memory.numa.allocations", "{page}", "Allocations by whether the wanted node could serve."),
    counter("system.linux.memory.numa.events", "{event}", "Events of automatic NUMA balancing."),
)

_DISK = (
    counter("system.disk.io", "By", "Bytes by disk.io.direction; of all physical disks, or one (system.device)."),
    counter("system.disk.operations", "{operation}", "Completed operations by disk.io.direction."),
    counter("system.disk.merged", "{operation}", "Operations merged with a neighbour, by disk.io.direction."),
    counter(
        "system.disk.operation_time",
        "s",
        "Sum of the durations of all operations, by disk.io.direction.",
        wraps_at=_UNSIGNED_INT_OF_MILLISECONDS,
    ),
    counter(
        "system.disk.io_time",
        "s",
        "Time in which operations were in progress; the sum over all disks.",
        wraps_at=_UNSIGNED_INT_OF_MILLISECONDS,
    ),
    counter(
        "system.disk.weighted_io_time",
        "s",
        "Time in progress, weighted by the operations in progress.",
        wraps_at=_UNSIGNED_INT_OF_MILLISECONDS,
    ),
    gauge(
        "system.disk.pending_operations", "{operation}", "Operations in progress.", between_samples=BetweenSamples.HOLD
    ),
)

_NETWORK = (
    counter("system.network.io", "By", "Bytes by network.io.direction; of all interfaces, or one."),
    counter("system.network.packet.count", "{packet}", "Packets by network.io.direction."),
    counter("system.network.packet.dropped", "{packet}", "Packets dropped, by network.io.direction."),
    counter(
        "system.linux.network.softnet.events",
        "{event}",
        "Packets from network cards by linux.softnet.event: processed, dropped because a CPU's backlog was full; and "
        "rounds that left packets over (squeezed).",
        wraps_at=_UNSIGNED_INT,
    ),
    counter("system.network.errors", "{error}", "Errors by network.io.direction."),
    gauge(
        "system.network.connection.count",
        "{connection}",
        "Established connections by network.transport.",
        judged_by=JudgedBy.CHANGE,
        between_samples=BetweenSamples.HOLD,
    ),
    counter("system.network.tcp.segments", "{segment}", "Segments by network.io.direction, retransmitted excluded."),
    counter("system.network.tcp.retransmits", "{segment}", "Segments sent again, in all or by reason."),
    counter("system.network.tcp.errors", "{error}", "TCP errors, in all received segments or by error.type."),
    counter("system.network.tcp.connections", "{connection}", "Connections by event: opened, failed, reset."),
    counter("system.network.tcp.events", "{event}", "What TCP did about loss, reordering and full queues."),
    counter("system.network.udp.datagrams", "{datagram}", "Datagrams by network.io.direction."),
    counter("system.network.udp.errors", "{error}", "UDP errors by error.type."),
    counter("system.network.ip.packets", "{packet}", "IP packets by network.io.direction."),
    counter("system.network.ip.discards", "{packet}", "IP packets discarded for lack of room, by direction."),
)

HOST_METRICS = (*_CPU, *_PRESSURE, *_MEMORY, *_PAGING, *_DISK, *_NETWORK)

AGENT_METRICS = (
    gauge(
        "pulsetrain.agent.cpu.utilization",
        "1",
        "CPU time of the agent and of the programs that it runs as a share of one CPU.",
        judged_by=JudgedBy.NOTHING,
    ),
    gauge(
        "pulsetrain.agent.memory.usage",
        "By",
        "Resident memory of the agent; of the programs that it runs, without the pages of files.",
        judged_by=JudgedBy.NOTHING,
    ),
    gauge(
        "pulsetrain.agent.collect.duration",
        "s",
        "How long the previous tick's reading of all sources took.",
        judged_by=JudgedBy.NOTHING,
    ),
    gauge(
        "pulsetrain.agent.tick.delay", "s", "How long after its grid point a tick began.", judged_by=JudgedBy.NOTHING
    ),
    counter(
        "pulsetrain.agent.ticks.skipped", "{tick}", "Grid points at which nothing was read.", judged_by=JudgedBy.NOTHING
    ),
    counter(
        "pulsetrain.agent.samples.lost",
        "{sample}",
        "Samples dropped for lack of room, or not delivered.",
        judged_by=JudgedBy.NOTHING,
    ),
    gauge(
        "pulsetrain.agent.degraded.level",
        "1",
        "How many steps the agent has slowed down to stay within its budget; 0 at full pace.",
        judged_by=JudgedBy.NOTHING,
        between_samples=BetweenSamples.HOLD,
    ),
    gauge(
        "pulsetrain.agent.collector.duration",
        "s",
        "How long the slowest answer to an agent.collector took since the previous sample.",
        judged_by=JudgedBy.NOTHING,
    ),
    counter(
        "pulsetrain.agent.collector.failures",
        "{reading}",
        "Readings of an agent.collector that brought nothing.",
        judged_by=JudgedBy.NOTHING,
    ),
    gauge(
        "pulsetrain.agent.collector.up",
        "1",
        "Whether the latest reading of an agent.collector brought something (1) or not (0).",
        valid_max=1.0,
        judged_by=JudgedBy.NOTHING,
        between_samples=BetweenSamples.HOLD,
    ),
    counter(
        "pulsetrain.agent.lines.skipped",
        "{line}",
        "Lines of a source that could not be understood.",
        judged_by=JudgedBy.NOTHING,
    ),
)
