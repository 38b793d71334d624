"""Bytes, packets, drops and errors of the network interfaces, from /proc/net/dev (proc_pid_net(5))."""

import math
from collections.abc import Callable, Sequence

from pulsetrain.agents.collectors.base import Notice, Roots
from pulsetrain.agents.collectors.bounded import ignore
from pulsetrain.agents.collectors.devices import physical_interfaces, with_own_metrics
from pulsetrain.agents.collectors.file_collector import FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.collectors.numbers import to_floats
from pulsetrain.schemas.catalogue import metric_id

_LOOPBACK = b"lo"
_HEADER_LINES = 2

# Columns after the interface's name: 8 of reception, then 8 of transmission.
_COLUMNS: tuple[tuple[int, str, str], ...] = (
    (0, "system.network.io", "receive"),
    (1, "system.network.packet.count", "receive"),
    (2, "system.network.errors", "receive"),
    (3, "system.network.packet.dropped", "receive"),
    (8, "system.network.io", "transmit"),
    (9, "system.network.packet.count", "transmit"),
    (10, "system.network.errors", "transmit"),
    (11, "system.network.packet.dropped", "transmit"),
)
_FEWEST_COLUMNS = 16


def network_collector(roots: Roots, tell: Callable[[Notice], None] = ignore) -> FileCollector:
    """The collector of /proc/net/dev, for the adapters that the machine has now."""
    file = KernelFile(roots.net / "dev")
    return FileCollector("network", file, NetworkReader(physical_interfaces(roots), tell))


class NetworkReader:
    """Sums over the given interfaces, and each of the first of them.

    Args:
        interfaces: the network adapters; where there is none, all but the loopback interface count as such.
        tell: takes the notice that there are more interfaces than have metrics of their own.
    """

    metric_names = tuple(dict.fromkeys(name for _, name, _ in _COLUMNS))

    def __init__(self, interfaces: Sequence[str], tell: Callable[[Notice], None] = ignore) -> None:
        self._interfaces = {interface.encode() for interface in interfaces}
        self._summed: list[bytes] = []
        self._own_metrics: Sequence[bytes] = []
        self._tell = tell
        self._skipped_lines = 0

    def layout(self, content: bytes) -> tuple[str, ...]:
        """The columns for all interfaces, then for each.

        Raises:
            ValueError: the machine's adapters are not in this file, which belongs to another network.
        """
        found, _ = parse_net_dev(content)
        interfaces = self._interfaces or found.keys() - {_LOOPBACK}
        self._summed = sorted(interfaces & found.keys())
        if self._interfaces and not self._summed:
            raise ValueError(f"none of the adapters {b', '.join(sorted(self._interfaces)).decode()} is in it")
        self._own_metrics = with_own_metrics(self._summed, "network", "network interfaces", self._tell)
        if not self._own_metrics:
            return ()
        names = [metric_id(name, **{"network.io.direction": direction}) for _, name, direction in _COLUMNS]
        for interface in self._own_metrics:
            own = {"network.interface.name": interface.decode(errors="replace")}
            names += [metric_id(name, **own, **{"network.io.direction": way}) for _, name, way in _COLUMNS]
        return (*names, metric_id("pulsetrain.agent.lines.skipped", **{"agent.collector": "network"}))

    def values(self, contents: Sequence[bytes]) -> list[list[float]]:
        """Counters as they are; those of an interface that is gone are NaN, and so are the sums while it is."""
        return [self._of(content) for content in contents]

    def _of(self, content: bytes) -> list[float]:
        found, skipped = parse_net_dev(content)
        self._skipped_lines += skipped
        absent = [math.nan] * len(_COLUMNS)
        rows = [found.get(interface, absent) for interface in self._summed]
        values = [sum(column) for column in zip(*rows, strict=True)]
        for interface in self._own_metrics:
            values += found.get(interface, absent)
        values.append(self._skipped_lines)
        return values


def parse_net_dev(content: bytes) -> tuple[dict[bytes, list[float]], int]:
    """The counters of `_COLUMNS` by interface, and how many lines were not understood."""
    interfaces: dict[bytes, list[float]] = {}
    skipped = 0
    for line in content.split(b"\n")[_HEADER_LINES:]:
        name, colon, rest = line.rpartition(b":")
        words = rest.split()
        if not colon and not words:
            continue
        try:
            if not colon or len(words) < _FEWEST_COLUMNS:
                raise ValueError(line)
            interfaces[name.strip()] = to_floats([words[column] for column, _, _ in _COLUMNS])
        except ValueError:
            skipped += 1
    return interfaces, skipped
