"""Packets that the kernel took from its network cards, and how often it fell behind, from /proc/net/softnet_stat.

One line a CPU of numbers in base 16 (softnet_seq_show in net/core/net-procfs.c of Linux): packets processed, packets
dropped because the CPU's backlog was full, and rounds that ended with packets left over.
"""

from collections.abc import Sequence

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.file_collector import FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.schemas.catalogue import metric_id

_NAME = "system.linux.network.softnet.events"
_EVENTS = ("processed", "dropped", "squeezed")


def softnet_collector(roots: Roots) -> FileCollector:
    """The collector of /proc/net/softnet_stat."""
    return FileCollector("softnet", KernelFile(roots.net / "softnet_stat"), SoftnetReader())


class SoftnetReader:
    """Sums over the CPUs."""

    metric_names = (_NAME,)

    def layout(self, content: bytes) -> tuple[str, ...]:
        """One metric an event."""
        self.values([content])
        return tuple(metric_id(_NAME, **{"linux.softnet.event": e}) for e in _EVENTS)

    def values(self, contents: Sequence[bytes]) -> list[list[float]]:
        """Counters as they are, summed.

        Raises:
            ValueError: a line has too few numbers, or a word where one belongs.
        """
        return [_sums(content) for content in contents]


def _sums(content: bytes) -> list[float]:
    columns: list[list[int]] = [[], [], []]
    for line in content.splitlines():
        processed, dropped, squeezed, _ = line.split(b" ", 3)
        columns[0].append(int(processed, 16))
        columns[1].append(int(dropped, 16))
        columns[2].append(int(squeezed, 16))
    if not columns[0]:
        raise ValueError("no line of a CPU")
    return [float(sum(column)) for column in columns]
