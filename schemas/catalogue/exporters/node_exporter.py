"""What Prometheus' node_exporter calls the metrics of a machine; those families that the agent reads itself, too."""

from pulsetrain.schemas.catalogue.exporters.mapping import CanonicalName, Names

_SECTOR_BYTES = 512.0
_KIB = 1024.0

# Parts of disks and what stands on top of them would count the same bytes again.
_DISK = {"device": r"(?!loop|ram|zram|fd|dm-|md|sr|.*boot|nvme\d+n\d+p\d|mmcblk\d+p\d|(?:s|h|v|xv)d[a-z]+\d).+"}
# The same for bridges, tunnels and the near ends of containers' networks.
_ADAPTER = {"device": r"(?!lo$|veth|cali|lxc|cilium|docker|br-|cni|flannel|tunl|tap|tun|virbr|kube|vxlan|dummy|ifb).+"}


def _one(name: str, scale: float = 1.0, /, **attributes: str) -> tuple[CanonicalName, ...]:
    return (CanonicalName(name, scale, attributes),)


def _sum(name: str, /, **attributes: str) -> tuple[CanonicalName, ...]:
    return (CanonicalName(name, attributes=attributes, is_sum=True),)


def _energy(hardware: str, zone: str) -> tuple[CanonicalName, ...]:
    return (CanonicalName("hw.energy", 1.0, {"hw.type": hardware, "hw.name": zone}, {"hw.id": "index"}),)


def _softnet(event: str) -> tuple[CanonicalName, ...]:
    return _sum("system.linux.network.softnet.events", **{"linux.softnet.event": event})


def _disk(name: str, direction: str = "", scale: float = 1.0) -> tuple[CanonicalName, ...]:
    attributes = {"disk.io.direction": direction} if direction else {}
    return (CanonicalName(name, scale, attributes, {"system.device": "device"}, only=_DISK),)


def _adapter(name: str, direction: str) -> tuple[CanonicalName, ...]:
    attributes = {"network.io.direction": direction}
    return (CanonicalName(name, 1.0, attributes, {"network.interface.name": "device"}, only=_ADAPTER),)


def _memory(state: str) -> tuple[CanonicalName, ...]:
    return _one("system.memory.usage", **{"system.memory.state": state})


def _kind(kind: str) -> tuple[CanonicalName, ...]:
    return _one("system.linux.memory.kind.usage", **{"linux.memory.kind": kind})


def _lru(kind: str) -> tuple[CanonicalName, ...]:
    return _one("system.linux.memory.lru.usage", **{"linux.memory.lru": kind})


def _stalled(resource: str, stall: str) -> tuple[CanonicalName, ...]:
    attributes = {"linux.pressure.resource": resource, "linux.pressure.stall": stall}
    return _one("system.linux.pressure.stall_time", **attributes)


_CPU: Names = {
    "node_cpu_seconds_total": (
        CanonicalName(
            "system.cpu.time",
            by_label={"cpu.mode": "mode"},
            spelled={"irq": "interrupt"},
            only={"cpu": ".+"},
            is_sum=True,
        ),
    ),
    "node_load1": _one("system.cpu.load_average.1m"),
    "node_load5": _one("system.cpu.load_average.5m"),
    "node_load15": _one("system.cpu.load_average.15m"),
    "node_procs_running": _one("system.process.count", **{"process.state": "running"}),
    "node_procs_blocked": _one("system.process.count", **{"process.state": "blocked"}),
    "node_forks_total": _one("system.process.created"),
    "node_context_switches_total": _one("system.linux.context_switches"),
    "node_intr_total": _one("system.linux.interrupts"),
    "node_pressure_cpu_waiting_seconds_total": _stalled("cpu", "some"),
    "node_pressure_memory_waiting_seconds_total": _stalled("memory", "some"),
    "node_pressure_memory_stalled_seconds_total": _stalled("memory", "full"),
    "node_pressure_io_waiting_seconds_total": _stalled("io", "some"),
    "node_pressure_io_stalled_seconds_total": _stalled("io", "full"),
}

_MEMORY: Names = {
    "node_memory_MemTotal_bytes": _one("system.memory.limit"),
    "node_memory_MemFree_bytes": _memory("free"),
    "node_memory_Buffers_bytes": _memory("buffers"),
    "node_memory_MemAvailable_bytes": _one("system.linux.memory.available"),
    "node_memory_SReclaimable_bytes": _one(
        "system.linux.memory.slab.usage", **{"linux.memory.slab.state": "reclaimable"}
    ),
    "node_memory_SUnreclaim_bytes": _one(
        "system.linux.memory.slab.usage", **{"linux.memory.slab.state": "unreclaimable"}
    ),
    "node_memory_Active_anon_bytes": _lru("active_anon"),
    "node_memory_Inactive_anon_bytes": _lru("inactive_anon"),
    "node_memory_Active_file_bytes": _lru("active_file"),
    "node_memory_Inactive_file_bytes": _lru("inactive_file"),
    "node_memory_Unevictable_bytes": _lru("unevictable"),
    "node_memory_AnonPages_bytes": _kind("anonymous"),
    "node_memory_AnonHugePages_bytes": _kind("anonymous_huge"),
    "node_memory_Mapped_bytes": _kind("mapped"),
    "node_memory_Shmem_bytes": _kind("shared"),
    "node_memory_Dirty_bytes": _kind("dirty"),
    "node_memory_Writeback_bytes": _kind("writeback"),
    "node_memory_Mlocked_bytes": _kind("locked"),
    "node_memory_KernelStack_bytes": _kind("kernel_stacks"),
    "node_memory_PageTables_bytes": _kind("page_tables"),
    "node_memory_Percpu_bytes": _kind("per_cpu"),
    "node_memory_SwapCached_bytes": _kind("swap_cache"),
    "node_memory_Committed_AS_bytes": _one("system.linux.memory.committed"),
    "node_memory_CommitLimit_bytes": _one("system.linux.memory.commit_limit"),
    "node_memory_HugePages_Total": _one(
        "system.linux.memory.hugepages.count", **{"linux.memory.hugepages.state": "total"}
    ),
    "node_memory_HugePages_Free": _one(
        "system.linux.memory.hugepages.count", **{"linux.memory.hugepages.state": "free"}
    ),
    "node_memory_SwapFree_bytes": _one("system.paging.usage", **{"system.paging.state": "free"}),
    "node_vmstat_pgfault": _one("system.paging.faults"),
    "node_vmstat_pgmajfault": _one("system.paging.faults", **{"system.paging.fault.type": "major"}),
    "node_vmstat_pswpin": _one("system.paging.operations", **{"system.paging.direction": "in"}),
    "node_vmstat_pswpout": _one("system.paging.operations", **{"system.paging.direction": "out"}),
    "node_vmstat_pgpgin": _one("system.linux.paging.io", _KIB, **{"disk.io.direction": "read"}),
    "node_vmstat_pgpgout": _one("system.linux.paging.io", _KIB, **{"disk.io.direction": "write"}),
    "node_vmstat_oom_kill": _one("system.linux.memory.oom_kills"),
}

_DISKS: Names = {
    "node_disk_reads_completed_total": _disk("system.disk.operations", "read"),
    "node_disk_reads_merged_total": _disk("system.disk.merged", "read"),
    "node_disk_read_bytes_total": _disk("system.disk.io", "read"),
    "node_disk_read_time_seconds_total": _disk("system.disk.operation_time", "read"),
    "node_disk_writes_completed_total": _disk("system.disk.operations", "write"),
    "node_disk_writes_merged_total": _disk("system.disk.merged", "write"),
    "node_disk_written_bytes_total": _disk("system.disk.io", "write"),
    "node_disk_write_time_seconds_total": _disk("system.disk.operation_time", "write"),
    "node_disk_io_now": _disk("system.disk.pending_operations"),
    "node_disk_io_time_seconds_total": _disk("system.disk.io_time"),
    "node_disk_io_time_weighted_seconds_total": _disk("system.disk.weighted_io_time"),
    "node_disk_discards_completed_total": _disk("system.disk.operations", "discard"),
    "node_disk_discards_merged_total": _disk("system.disk.merged", "discard"),
    "node_disk_discarded_sectors_total": _disk("system.disk.io", "discard", _SECTOR_BYTES),
    "node_disk_discard_time_seconds_total": _disk("system.disk.operation_time", "discard"),
    "node_disk_flush_requests_total": _disk("system.disk.operations", "flush"),
    "node_disk_flush_requests_time_seconds_total": _disk("system.disk.operation_time", "flush"),
}


def _tcp(name: str, attribute: str, /, **keys: str) -> dict[str, tuple[CanonicalName, ...]]:
    return {f"node_netstat_{key}": _one(name, **{attribute: value}) for value, key in keys.items()}


_WAY = "network.io.direction"

_NETWORK: Names = {
    **{
        f"node_network_{direction}_{what}_total": _adapter(name, direction)
        for direction in ("receive", "transmit")
        for what, name in (
            ("bytes", "system.network.io"),
            ("packets", "system.network.packet.count"),
            ("errs", "system.network.errors"),
            ("drop", "system.network.packet.dropped"),
        )
    },
    "node_netstat_Tcp_CurrEstab": _one("system.network.connection.count", **{"network.transport": "tcp"}),
    "node_netstat_Tcp_RetransSegs": _one("system.network.tcp.retransmits"),
    "node_netstat_TcpExt_TCPSynRetrans": _one("system.network.tcp.retransmits", **{"network.tcp.reason": "syn"}),
    "node_netstat_Tcp_InErrs": _one("system.network.tcp.errors"),
    **_tcp("system.network.tcp.segments", _WAY, receive="Tcp_InSegs", transmit="Tcp_OutSegs"),
    **_tcp(
        "system.network.tcp.connections",
        "network.connection.event",
        opened_active="Tcp_ActiveOpens",
        opened_passive="Tcp_PassiveOpens",
        reset_sent="Tcp_OutRsts",
    ),
    **_tcp(
        "system.network.tcp.errors",
        "error.type",
        listen_overflow="TcpExt_ListenOverflows",
        listen_drop="TcpExt_ListenDrops",
        receive_queue_drop="TcpExt_TCPRcvQDrop",
    ),
    **_tcp(
        "system.network.tcp.events",
        "network.tcp.event",
        timeout="TcpExt_TCPTimeouts",
        out_of_order_queued="TcpExt_TCPOFOQueue",
    ),
    **_tcp("system.network.udp.datagrams", _WAY, receive="Udp_InDatagrams", transmit="Udp_OutDatagrams"),
    **_tcp(
        "system.network.udp.errors",
        "error.type",
        receive="Udp_InErrors",
        no_port="Udp_NoPorts",
        receive_buffer="Udp_RcvbufErrors",
        send_buffer="Udp_SndbufErrors",
    ),
}

_PORT = {"hw.type": "network"}
_HARDWARE: Names = {
    "node_infiniband_port_data_received_bytes_total": _sum("hw.network.io", **_PORT, **{_WAY: "receive"}),
    "node_infiniband_port_data_transmitted_bytes_total": _sum("hw.network.io", **_PORT, **{_WAY: "transmit"}),
    "node_infiniband_port_packets_received_total": _sum("hw.network.packets", **_PORT, **{_WAY: "receive"}),
    "node_infiniband_port_packets_transmitted_total": _sum("hw.network.packets", **_PORT, **{_WAY: "transmit"}),
    "node_infiniband_port_transmit_wait_total": _sum("hw.network.transmit_wait", **_PORT),
    "node_infiniband_rate_bytes_per_second": _sum("hw.network.bandwidth.limit", **_PORT),
    "node_infiniband_link_error_recovery_total": _sum(
        "hw.network.link.events", **_PORT, **{"hw.network.link.event": "recovered"}
    ),
    "node_infiniband_link_downed_total": _sum("hw.network.link.events", **_PORT, **{"hw.network.link.event": "downed"}),
    "node_infiniband_port_errors_received_total": _sum("hw.errors", **_PORT, **{"error.type": "receive"}),
    "node_infiniband_port_discards_transmitted_total": _sum("hw.errors", **_PORT, **{"error.type": "transmit_discard"}),
    "node_rapl_package_joules_total": _energy("cpu", "package"),
    "node_rapl_core_joules_total": _energy("cpu", "core"),
    "node_rapl_dram_joules_total": _energy("memory", "dram"),
    "node_hwmon_temp_celsius": (
        CanonicalName("hw.temperature", by_label={"hw.id": "chip", "hw.sensor_location": "sensor"}),
    ),
    "node_timex_sync_status": _one("system.linux.clock.synchronized"),
    "node_timex_offset_seconds": _one("system.linux.clock.offset"),
    "node_timex_maxerror_seconds": _one("system.linux.clock.max_error"),
    "node_timex_estimated_error_seconds": _one("system.linux.clock.estimated_error"),
    "node_timex_tai_offset_seconds": _one("system.linux.clock.tai_offset"),
    "node_softnet_processed_total": _softnet("processed"),
    "node_softnet_dropped_total": _softnet("dropped"),
    "node_softnet_times_squeezed_total": _softnet("squeezed"),
}

NODE_EXPORTER_NAMES: Names = {**_CPU, **_MEMORY, **_DISKS, **_NETWORK, **_HARDWARE}
