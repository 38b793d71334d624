"""NUMA nodes; files in the form of Documentation/admin-guide/numastat.rst and of node_read_meminfo of Linux."""

from pathlib import Path

import pytest

from pulsetrain.agents.collectors.base import Notice, Roots
from pulsetrain.agents.collectors.numa import numa_collectors
from pulsetrain.schemas import catalogue


def node(tmp_path: Path, number: int) -> Path:
    folder = tmp_path / f"devices/system/node/node{number}"
    folder.mkdir(parents=True)
    names = ("numa_hit", "numa_miss", "numa_foreign", "interleave_hit", "local_node", "other_node")
    (folder / "numastat").write_text("".join(f"{name} {number}{place}\n" for place, name in enumerate(names)))
    (folder / "meminfo").write_text(
        f"Node {number} MemTotal:       1000 kB\nNode {number} MemFree:         400 kB\n"
        f"Node {number} MemUsed:         600 kB\nNode {number} HugePages_Total:     0\n"
    )
    return folder


def values(tmp_path: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    for collector in numa_collectors(Roots(tmp_path, tmp_path)):
        assert collector.is_supported().supported
        found |= dict(zip(collector.metrics(), collector.decode([collector.read()])[0], strict=True))
    return found


def test_each_node_has_its_own_allocations_and_memory(tmp_path: Path) -> None:
    node(tmp_path, 1)
    node(tmp_path, 10)
    found = values(tmp_path)
    assert len(found) == 2 * 7
    allocations = "system.linux.memory.numa.allocations"
    assert found[f"{allocations}{{linux.memory.numa.result=hit,linux.numa.node=1}}"] == 10
    assert found[f"{allocations}{{linux.memory.numa.result=local,linux.numa.node=10}}"] == 104
    assert found["system.memory.usage{linux.numa.node=10,system.memory.state=free}"] == 400 * 1024
    assert found["system.memory.usage{linux.numa.node=1,system.memory.state=used}"] == 600 * 1024
    for metric in found:
        assert catalogue.find(metric) is not None


def test_a_machine_with_one_node_has_no_more_to_say_than_its_totals(tmp_path: Path) -> None:
    node(tmp_path, 0)
    assert numa_collectors(Roots(tmp_path, tmp_path)) == []


@pytest.mark.parametrize("text", ["Node 0 MemTotal:\n", "Node\n"])
def test_a_file_of_another_form_is_not_supported(tmp_path: Path, text: str) -> None:
    (node(tmp_path, 0) / "meminfo").write_text(text)
    node(tmp_path, 1)
    _, memory, *_ = numa_collectors(Roots(tmp_path, tmp_path))
    assert not memory.is_supported().supported


def test_that_there_are_more_nodes_than_are_read_is_told(tmp_path: Path) -> None:
    # Two CPUs and eight parts of the memory of each of four GPUs, as on a board of GB200.
    for number in range(34):
        node(tmp_path, number)
    told: list[Notice] = []
    collectors = numa_collectors(Roots(tmp_path, tmp_path), told.append)
    assert [notice.message for notice in told] == ["This node has 34 NUMA nodes: only the first 16 are read."]
    assert [collector.name for collector in collectors][-1] == "numa_15_memory"
