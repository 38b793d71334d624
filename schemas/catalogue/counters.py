"""Metrics of a processor's performance counters, as `perf stat` reads them.

OpenTelemetry's semantic conventions have no names for these. All are gauges: a rate is the mean over the interval that
ends at its time. Counters would give none of their growth to a window that holds one sample of them, and intervals
grow with the number of cores to many seconds; nor is a count that was scaled up from a part of its interval one that
could be added to the others.
"""

from pulsetrain.schemas.catalogue.metric import gauge, share

COUNTER_METRICS = (
    gauge("system.cpu.cycle.rate", "{cycle}/s", "Clock cycles of all cores that were not halted."),
    gauge("system.cpu.instruction.rate", "{instruction}/s", "Instructions retired by all cores."),
    gauge(
        "system.cpu.instructions_per_cycle",
        "{instruction}/{cycle}",
        "Instructions retired in a cycle, mean over all cores.",
        valid_max=100.0,
    ),
    gauge("system.cpu.branch.rate", "{branch}/s", "Branches retired by all cores."),
    gauge("system.cpu.branch_miss.rate", "{branch}/s", "Branches predicted wrongly."),
    share("system.cpu.branch_miss.ratio", "Branches predicted wrongly, as a share of all."),
    gauge("system.cpu.cache.reference.rate", "{access}/s", "Accesses to a cache, by cpu.cache.level."),
    gauge("system.cpu.cache.miss.rate", "{access}/s", "Accesses to a cache that missed it, by cpu.cache.level."),
    share("system.cpu.cache.miss.ratio", "Accesses to a cache that missed it, as a share of all, by cpu.cache.level."),
    gauge(
        "system.cpu.memory_access.rate",
        "{access}/s",
        "Loads and stores, or one of the two (cpu.memory_access.type).",
    ),
    share(
        "system.cpu.stall.share",
        "Share of cycles in which a core stood still, by cause (cpu.stall): nothing came to be executed (frontend), "
        "nothing could be (backend), it waited for memory (memory), for a load (load), or for a load that missed the "
        "L3 cache (l3_miss).",
    ),
    gauge(
        "system.memory.io.rate",
        "By/s",
        "Bytes between memory and processors, by memory.io.direction where it is known.",
    ),
    gauge(
        "system.linux.cpu_migration.rate",
        "{migration}/s",
        "Threads that moved to another CPU; perf itself visits each CPU once an interval.",
    ),
)
