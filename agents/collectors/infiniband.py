"""InfiniBand and RoCE ports (Documentation/ABI/stable/sysfs-class-infiniband of Linux).

A driver asks its card for some of these counters, which takes a while, and may hang with the card.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from pulsetrain.agents.collectors.background_files import SMALL_FILE_BYTES, BackgroundFiles
from pulsetrain.agents.collectors.base import HOST, Collected, Observation, Roots, Support
from pulsetrain.agents.collectors.bounded import Bounded
from pulsetrain.agents.collectors.growing_sums import GrowingSums
from pulsetrain.agents.collectors.infiniband_counters import BANDWIDTH, COUNTERS, UP, PortCounter
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas.catalogue.fabric import FABRIC_METRICS

_MAX_PORTS = 32
_RESCAN_NS = 30_000_000_000
_RATE = re.compile(rb"([0-9.]+) Gb/sec")
_NUMBERED = re.compile(r"(\D*)(\d*)")
_BYTES_PER_GIGABIT = 1e9 / 8
_ACTIVE = b"4:"
"""The number of the state in which a port carries data: `4: ACTIVE`."""


@dataclass(frozen=True, slots=True)
class PortFile:
    """A file of a port: what it says is `metric`, and its part of `total`, of a counter the sum."""

    path: Path
    metric: str
    total: str
    parse: Callable[[bytes], float]
    is_counter: bool = True


class InfinibandCollector(BackgroundFiles):
    """Every port, and all together: sums, and the share of ports that are up. Of very many ports the first ones."""

    name = "infiniband"
    deadline_seconds = 2.0
    metric_names = (*(metric.name for metric in FABRIC_METRICS), "hw.errors")

    def __init__(self, roots: Roots, interval_ms: int = 1000) -> None:
        super().__init__()
        self.interval_ms = interval_ms
        self._folder = roots.sys / "class/infiniband"
        self.source = str(self._folder / "*/ports/*")
        self._files: list[tuple[PortFile, KernelFile]] = []
        self._sums = GrowingSums()
        self._ports = Bounded(self.name, "InfiniBand and RoCE ports", _MAX_PORTS)
        self._scanned_ns: int | None = None

    def is_supported(self) -> Support:
        """Whether there is a port."""
        if not any(map(_files_of, find_ports(self._folder))):
            return Support(False, f"there is no {self.source}: no InfiniBand or RoCE adapter with its driver")
        return Support(True)

    def _collect(self, time_ns: int) -> Collected:
        """A counter that a port doesn't have is absent, one that can't be read is missing."""
        if self._scanned_ns is None or not 0 <= time_ns - self._scanned_ns < _RESCAN_NS:
            self._scan()
            self._scanned_ns = time_ns
        values: dict[str, float] = {}
        missing: dict[str, str] = {}
        for port_file, file in self._files:
            try:
                value = port_file.parse(file.read())
            except (CollectError, ValueError) as error:
                value = math.nan
                missing[port_file.metric] = str(error)
            values[port_file.metric] = value
        if len(missing) == len(values):
            raise CollectError(next(iter(missing.values()), f"there is no port left in {self.source}"))
        values |= self._totals(values)
        observation = Observation(HOST, time_ns, tuple(values), list(values.values()), missing)
        return Collected([observation], self._ports.take_notices())

    def _totals(self, values: Mapping[str, float]) -> dict[str, float]:
        """Sums over the ports, and the share of them that is up."""
        files = [file for file, _ in self._files]
        totals = self._sums.add((file.total, file.metric, values[file.metric]) for file in files if file.is_counter)
        up = [values[file.metric] for file in files if file.total == UP.metric(None)]
        bandwidth = [values[file.metric] for file in files if file.total == BANDWIDTH.metric(None)]
        if up:
            totals[UP.metric(None)] = sum(up) / len(up)
        if bandwidth:
            totals[BANDWIDTH.metric(None)] = sum(bandwidth)
        return totals

    def _scan(self) -> None:
        """Bring the files up to date with the ports that there are; those that stay remain open."""
        before = {port_file.path: (port_file, file) for port_file, file in self._files}
        self._files = []
        ports = self._ports.first(find_ports(self._folder))
        for found in chain.from_iterable(map(_files_of, ports)):
            entry = before.pop(found.path, None) or _opened(found)
            if entry is not None:
                self._files.append(entry)
        for _, file in before.values():
            file.close()

    def _close_files(self) -> None:
        for _, file in self._files:
            file.close()


def _opened(found: PortFile) -> tuple[PortFile, KernelFile] | None:
    """None where the port only has the file and no number for it: `N/A (no PMA)`, as some drivers say."""
    file = KernelFile(found.path, head_bytes=SMALL_FILE_BYTES)
    try:
        found.parse(file.read())
    except (CollectError, ValueError):
        file.close()
        return None
    return found, file


def find_ports(folder: Path) -> list[Path]:
    """The folders of all ports, `mlx5_2` before `mlx5_10`."""
    return sorted(folder.glob("*/ports/[0-9]*"), key=_place)


def _place(port: Path) -> list[tuple[str, int]]:
    return [(text, int(digits or 0)) for text, digits in _NUMBERED.findall(f"{port.parents[1].name}:{port.name}")]


def _files_of(port: Path) -> list[PortFile]:
    """The files of one port that are known here."""

    def file(name: str, metric: PortCounter, parse: Callable[[bytes], float], is_counter: bool = True) -> PortFile:
        own = metric.metric(f"{port.parents[1].name}:{port.name}")
        return PortFile(port / name, own, metric.metric(None), parse, is_counter)

    files = [file("state", UP, _is_active, False), file("rate", BANDWIDTH, _bytes_per_second, False)]
    files += [file(name, counter, _scaled(counter.scale)) for name, counter in COUNTERS.items()]
    return [found for found in files if found.path.exists()]


def _scaled(scale: float) -> Callable[[bytes], float]:
    return lambda content: int(content) * scale


def _is_active(content: bytes) -> float:
    return 1.0 if content.startswith(_ACTIVE) else 0.0


def _bytes_per_second(content: bytes) -> float:
    """`200 Gb/sec (4X HDR)`."""
    rate = _RATE.match(content)
    if rate is None:
        raise ValueError(f"no rate in {content[:80]!r}")
    return float(rate[1]) * _BYTES_PER_GIGABIT
