"""Memory and swap, from /proc/meminfo (proc_meminfo(5))."""

from collections.abc import Sequence

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.fields import Field, FieldReader
from pulsetrain.agents.collectors.file_collector import FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.schemas.catalogue import metric_id

_KIB = 1024.0
_NOT_USED = (b"MemFree:", b"Buffers:", b"Cached:", b"SReclaimable:")


def memory_collector(roots: Roots) -> FileCollector:
    """The collector of /proc/meminfo."""
    return FileCollector("memory", KernelFile(roots.proc / "meminfo"), FieldReader(split_meminfo, _fields()))


def split_meminfo(content: bytes) -> tuple[Sequence[bytes], list[bytes]]:
    """`MemTotal:       24684084 kB`, one line a number, in KiB or pages as the file has them."""
    words = content.replace(b" kB\n", b"\n").split()
    return words[::2], words[1::2]


def _fields() -> list[Field]:
    def usage(name: str, attribute: str, states: dict[str, bytes], scale: float = _KIB) -> list[Field]:
        return [Field(metric_id(name, **{attribute: state}), (key + b":",), scale) for state, key in states.items()]

    used = {"system.memory.state": "used"}
    return [
        Field("system.memory.limit", (b"MemTotal:",), _KIB),
        *usage("system.memory.usage", "system.memory.state", {"free": b"MemFree", "buffers": b"Buffers"}),
        Field(
            metric_id("system.memory.usage", **{"system.memory.state": "cached"}), (b"Cached:", b"SReclaimable:"), _KIB
        ),
        Field(metric_id("system.memory.usage", **used), (b"MemTotal:",), _KIB, minus=_NOT_USED),
        Field(metric_id("system.memory.utilization", **used), (b"MemTotal:",), minus=_NOT_USED, per=b"MemTotal:"),
        Field("system.linux.memory.available", (b"MemAvailable:",), _KIB),
        *usage(
            "system.linux.memory.slab.usage",
            "linux.memory.slab.state",
            {"reclaimable": b"SReclaimable", "unreclaimable": b"SUnreclaim"},
        ),
        *usage(
            "system.linux.memory.lru.usage",
            "linux.memory.lru",
            {
                "active_anon": b"Active(anon)",
                "inactive_anon": b"Inactive(anon)",
                "active_file": b"Active(file)",
                "inactive_file": b"Inactive(file)",
                "unevictable": b"Unevictable",
            },
        ),
        *usage(
            "system.linux.memory.kind.usage",
            "linux.memory.kind",
            {
                "anonymous": b"AnonPages",
                "anonymous_huge": b"AnonHugePages",
                "mapped": b"Mapped",
                "shared": b"Shmem",
                "dirty": b"Dirty",
                "writeback": b"Writeback",
                "locked": b"Mlocked",
                "kernel_stacks": b"KernelStack",
                "page_tables": b"PageTables",
                "per_cpu": b"Percpu",
                "swap_cache": b"SwapCached",
            },
        ),
        Field("system.linux.memory.committed", (b"Committed_AS:",), _KIB),
        Field("system.linux.memory.commit_limit", (b"CommitLimit:",), _KIB),
        *usage(
            "system.linux.memory.hugepages.count",
            "linux.memory.hugepages.state",
            {"total": b"HugePages_Total", "free": b"HugePages_Free"},
            1.0,
        ),
        *usage("system.paging.usage", "system.paging.state", {"free": b"SwapFree"}),
        Field(
            metric_id("system.paging.usage", **{"system.paging.state": "used"}),
            (b"SwapTotal:",),
            _KIB,
            minus=(b"SwapFree:",),
        ),
    ]
