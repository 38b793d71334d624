"""What cAdvisor, alone or inside the kubelet, calls the metrics of a container (its docs/storage/prometheus.md).

Sectors, inodes, the counters of perf and what describes the machine have no name here, nor has the limit of threads,
which is 0 where there is none.
"""

from pulsetrain.schemas.catalogue.exporters.mapping import CanonicalName, Names


def _one(name: str, /, **attributes: str) -> tuple[CanonicalName, ...]:
    return (CanonicalName(name, attributes=attributes),)


def _sum(name: str, /, **attributes: str) -> tuple[CanonicalName, ...]:
    return (CanonicalName(name, attributes=attributes, is_sum=True),)


def _io(name: str, direction: str, attribute: str = "disk.io.direction") -> tuple[CanonicalName, ...]:
    return _sum(name, **{attribute: direction})


def _network(name: str, direction: str) -> tuple[CanonicalName, ...]:
    return _io(name, direction, "network.io.direction")


def _stalled(resource: str, stall: str) -> tuple[CanonicalName, ...]:
    attributes = {"linux.pressure.resource": resource, "linux.pressure.stall": stall}
    return _one("container.pressure.stall_time", **attributes)


_FAULTS = "container.memory.paging.faults"
_OF_THE_WHOLE_CONTAINER = {"scope": "container"}

CADVISOR_NAMES: Names = {
    # One series a CPU, or one with cpu="total": never both.
    "container_cpu_usage_seconds_total": _sum("container.cpu.time"),
    "container_cpu_user_seconds_total": _one("container.cpu.time", **{"cpu.mode": "user"}),
    "container_cpu_system_seconds_total": _one("container.cpu.time", **{"cpu.mode": "system"}),
    "container_cpu_cfs_periods_total": _one("container.cpu.periods"),
    "container_cpu_cfs_throttled_periods_total": _one("container.cpu.throttled.periods"),
    "container_cpu_cfs_throttled_seconds_total": _one("container.cpu.throttled.time"),
    "container_memory_usage_bytes": _one("container.memory.usage"),
    "container_memory_working_set_bytes": _one("container.memory.working_set"),
    "container_memory_rss": _one("container.memory.rss"),
    "container_memory_cache": _one("container.memory.cache"),
    "container_memory_failures_total": (
        CanonicalName(_FAULTS, only={"failure_type": "pgfault", **_OF_THE_WHOLE_CONTAINER}),
        CanonicalName(
            _FAULTS,
            attributes={"system.paging.fault.type": "major"},
            only={"failure_type": "pgmajfault", **_OF_THE_WHOLE_CONTAINER},
        ),
    ),
    "container_memory_events_high_total": _one("container.memory.events", **{"container.memory.event": "high"}),
    "container_memory_events_max_total": _one("container.memory.events", **{"container.memory.event": "max"}),
    "container_oom_events_total": _one("container.memory.events", **{"container.memory.event": "oom_kill"}),
    "container_fs_reads_bytes_total": _io("container.disk.io", "read"),
    "container_fs_writes_bytes_total": _io("container.disk.io", "write"),
    "container_fs_reads_total": _io("container.disk.operations", "read"),
    "container_fs_writes_total": _io("container.disk.operations", "write"),
    "container_fs_usage_bytes": _sum("container.filesystem.usage"),
    "container_network_receive_bytes_total": _network("container.network.io", "receive"),
    "container_network_transmit_bytes_total": _network("container.network.io", "transmit"),
    "container_network_receive_packets_total": _network("container.network.packets", "receive"),
    "container_network_transmit_packets_total": _network("container.network.packets", "transmit"),
    "container_network_receive_packets_dropped_total": _network("container.network.packets.dropped", "receive"),
    "container_network_transmit_packets_dropped_total": _network("container.network.packets.dropped", "transmit"),
    "container_network_receive_errors_total": _network("container.network.errors", "receive"),
    "container_network_transmit_errors_total": _network("container.network.errors", "transmit"),
    "container_threads": _one("container.task.count"),
    "container_pressure_cpu_waiting_seconds_total": _stalled("cpu", "some"),
    "container_pressure_cpu_stalled_seconds_total": _stalled("cpu", "full"),
    "container_pressure_memory_waiting_seconds_total": _stalled("memory", "some"),
    "container_pressure_memory_stalled_seconds_total": _stalled("memory", "full"),
    "container_pressure_io_waiting_seconds_total": _stalled("io", "some"),
    "container_pressure_io_stalled_seconds_total": _stalled("io", "full"),
}
