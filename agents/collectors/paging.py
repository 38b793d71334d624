"""Page faults, swapping, reclaim, migration and NUMA, from /proc/vmstat (proc_vmstat(5))."""

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.fields import Field, FieldReader, split_flat
from pulsetrain.agents.collectors.file_collector import FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.schemas.catalogue import metric_id

_KIB = 1024.0
_ZONES = (b"_dma", b"_dma32", b"_normal", b"_high", b"_movable", b"_device")


def paging_collector(roots: Roots) -> FileCollector:
    """The collector of /proc/vmstat."""
    return FileCollector("paging", KernelFile(roots.proc / "vmstat"), FieldReader(split_flat, _fields()))


def _fields() -> list[Field]:
    def counters(name: str, attribute: str, keys: dict[str, bytes], scale: float = 1.0) -> list[Field]:
        return [Field(metric_id(name, **{attribute: value}), (key,), scale) for value, key in keys.items()]

    return [
        Field("system.paging.faults", (b"pgfault",)),
        *counters("system.paging.faults", "system.paging.fault.type", {"major": b"pgmajfault"}),
        *counters("system.paging.operations", "system.paging.direction", {"in": b"pswpin", "out": b"pswpout"}),
        *counters("system.linux.paging.io", "disk.io.direction", {"read": b"pgpgin", "write": b"pgpgout"}, _KIB),
        Field(
            metric_id("system.linux.memory.pages", **{"linux.memory.event": "allocated"}),
            tuple(b"pgalloc" + zone for zone in _ZONES),
        ),
        *counters(
            "system.linux.memory.pages",
            "linux.memory.event",
            {
                "freed": b"pgfree",
                "activated": b"pgactivate",
                "deactivated": b"pgdeactivate",
                "dirtied": b"nr_dirtied",
                "written": b"nr_written",
            },
        ),
        *counters(
            "system.linux.memory.reclaim.scanned",
            "linux.memory.reclaimer",
            {"kswapd": b"pgscan_kswapd", "direct": b"pgscan_direct"},
        ),
        *counters(
            "system.linux.memory.reclaim.stolen",
            "linux.memory.reclaimer",
            {"kswapd": b"pgsteal_kswapd", "direct": b"pgsteal_direct"},
        ),
        *counters(
            "system.linux.memory.refaults",
            "linux.memory.kind",
            {"anonymous": b"workingset_refault_anon", "file": b"workingset_refault_file"},
        ),
        Field("system.linux.memory.allocation_stalls", tuple(b"allocstall" + zone for zone in _ZONES)),
        Field("system.linux.memory.oom_kills", (b"oom_kill",)),
        *counters(
            "system.linux.memory.migrated",
            "linux.memory.result",
            {"success": b"pgmigrate_success", "failure": b"pgmigrate_fail"},
        ),
        *counters(
            "system.linux.memory.compaction.events",
            "linux.memory.result",
            {"stall": b"compact_stall", "success": b"compact_success", "failure": b"compact_fail"},
        ),
        *counters(
            "system.linux.memory.thp.events",
            "linux.memory.event",
            {
                "fault_allocated": b"thp_fault_alloc",
                "fault_fallback": b"thp_fault_fallback",
                "split": b"thp_split_page",
            },
        ),
        *counters(
            "system.linux.memory.numa.allocations",
            "linux.memory.numa.result",
            {"hit": b"numa_hit", "miss": b"numa_miss", "foreign": b"numa_foreign", "other": b"numa_other"},
        ),
        *counters(
            "system.linux.memory.numa.events",
            "linux.memory.event",
            {
                "pages_migrated": b"numa_pages_migrated",
                "hint_faults": b"numa_hint_faults",
                "hint_faults_local": b"numa_hint_faults_local",
            },
        ),
    ]
