"""Memory and swap, from /proc/meminfo (proc_meminfo(5))."""

import math

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.file_collector import Field, FieldReader, FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.schemas.catalogue import metric_id

_KIB = 1024.0
_BASIS = (b"MemTotal", b"MemFree", b"Buffers", b"Cached", b"SReclaimable", b"SwapTotal", b"SwapFree")
_USED, _CACHED, _SWAP_USED, _USED_SHARE = b"used", b"cached", b"swap used", b"used share"


def memory_collector(roots: Roots) -> FileCollector:
    """The collector of /proc/meminfo."""
    return FileCollector("memory", KernelFile(roots.proc / "meminfo"), FieldReader(parse_meminfo, _fields()))


def parse_meminfo(content: bytes) -> dict[bytes, bytes | float]:
    """The file's numbers by name (`MemTotal`), in KiB or pages as there, and what follows from them.

    Raises:
        ValueError: a word where a number belongs.
    """
    numbers: dict[bytes, bytes | float] = {}
    for line in content.split(b"\n"):
        key, _, rest = line.partition(b":")
        numbers[key] = rest.removesuffix(b" kB")
    try:
        total, free, buffers, page_cache, reclaimable, swap_total, swap_free = [float(numbers[key]) for key in _BASIS]
    except KeyError:
        return numbers
    cached = page_cache + reclaimable
    used = total - free - buffers - cached
    return numbers | {
        _CACHED: cached,
        _USED: used,
        _USED_SHARE: used / total if total else math.nan,
        _SWAP_USED: swap_total - swap_free,
    }


def _fields() -> list[Field]:
    def usage(name: str, attribute: str, states: dict[str, bytes], scale: float = _KIB) -> list[Field]:
        return [Field(metric_id(name, **{attribute: state}), key, scale) for state, key in states.items()]

    return [
        Field("system.memory.limit", b"MemTotal", _KIB),
        *usage(
            "system.memory.usage",
            "system.memory.state",
            {"used": _USED, "free": b"MemFree", "buffers": b"Buffers", "cached": _CACHED},
        ),
        *usage("system.memory.utilization", "system.memory.state", {"used": _USED_SHARE}, 1.0),
        Field("system.linux.memory.available", b"MemAvailable", _KIB),
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
        Field("system.linux.memory.committed", b"Committed_AS", _KIB),
        Field("system.linux.memory.commit_limit", b"CommitLimit", _KIB),
        *usage(
            "system.linux.memory.hugepages.count",
            "linux.memory.hugepages.state",
            {"total": b"HugePages_Total", "free": b"HugePages_Free"},
            1.0,
        ),
        *usage("system.paging.usage", "system.paging.state", {"used": _SWAP_USED, "free": b"SwapFree"}),
    ]
