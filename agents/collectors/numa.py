"""Memory and allocations of each NUMA node (Documentation/admin-guide/numastat.rst of Linux)."""

from collections.abc import Callable, Sequence
from pathlib import Path

from pulsetrain.agents.collectors.base import Notice, Roots
from pulsetrain.agents.collectors.bounded import first_of, ignore
from pulsetrain.agents.collectors.fields import Field, FieldReader, split_flat
from pulsetrain.agents.collectors.file_collector import FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.schemas.catalogue import metric_id

_MAX_NODES = 16
_KIB = 1024.0
_NODE = "linux.numa.node"
_ALLOCATIONS = {
    "hit": b"numa_hit",
    "miss": b"numa_miss",
    "foreign": b"numa_foreign",
    "local": b"local_node",
    "other": b"other_node",
}


def numa_collectors(roots: Roots, tell: Callable[[Notice], None] = ignore) -> list[FileCollector]:
    """Two collectors a node; none on a machine with one node, whose totals say the same.

    Args:
        roots: where the kernel's file systems are.
        tell: takes the notice that there are more nodes than are read.
    """
    nodes = sorted((roots.sys / "devices/system/node").glob("node[0-9]*"), key=_number)
    if len(nodes) < 2:
        return []
    read = first_of(nodes, "numa", "NUMA nodes", _MAX_NODES, tell)
    return [collector for node in read for collector in _node_collectors(node)]


def split_node_meminfo(content: bytes) -> tuple[Sequence[bytes], list[bytes]]:
    """`Node 0 MemTotal:       24684084 kB`, one line a number.

    Raises:
        ValueError: a line has fewer words.
    """
    names, numbers = [], []
    for line in content.splitlines():
        _, _, name, number, *_ = line.split()
        names.append(name)
        numbers.append(number)
    return names, numbers


def _node_collectors(node: Path) -> list[FileCollector]:
    number = str(_number(node))
    allocations = [
        Field(
            metric_id("system.linux.memory.numa.allocations", **{_NODE: number, "linux.memory.numa.result": kind}),
            (key,),
        )
        for kind, key in _ALLOCATIONS.items()
    ]
    memory = [
        Field(metric_id("system.memory.usage", **{_NODE: number, "system.memory.state": state}), (key,), _KIB)
        for state, key in {"free": b"MemFree:", "used": b"MemUsed:"}.items()
    ]
    return [
        FileCollector(f"numa_{number}", KernelFile(node / "numastat"), FieldReader(split_flat, allocations)),
        FileCollector(f"numa_{number}_memory", KernelFile(node / "meminfo"), FieldReader(split_node_meminfo, memory)),
    ]


def _number(node: Path) -> int:
    return int(node.name.removeprefix("node"))
