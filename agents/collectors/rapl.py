"""Energy of processor packages and memory, from RAPL (Documentation/power/powercap/powercap.rst of Linux).

What is published is energy, a counter: its rate is the power. Each zone's counter has a range of its own, so wraps are
taken out here, where the range is known.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pulsetrain.agents.collectors.base import HOST, Notice, Roots, Support
from pulsetrain.agents.collectors.bounded import first_of, ignore
from pulsetrain.agents.collectors.energy import MICROJOULES, EnergySum
from pulsetrain.agents.collectors.kernel_file import KernelFile, read_once
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas.catalogue import metric_id, metric_name

_BOOT_ID = "sys/kernel/random/boot_id"
_MAX_ZONES = 64
_MOST_WATTS = 500.0
"""What a zone is taken to draw at most where it doesn't say: as much as the largest packages are rated for."""

_TOTAL = metric_id("hw.energy", **{"hw.type": "cpu"})
_PACKAGE = "package"
_TYPES = {"dram": "memory", "psys": "enclosure"}
"""OpenTelemetry's hw.type of a zone; any other zone is part of a CPU."""

_HOW_TO_ALLOW = "run the agent as root, or let its group read energy_uj (a udev rule)"

Reading = tuple[float, list[bytes | None]]
"""When, in seconds of a clock that is never set, and each zone's energy_uj; None where it could not be read."""


@dataclass(frozen=True, slots=True)
class Zone:
    """A part of the machine whose energy is counted: `package`, `dram` ...; `index` is that of its package."""

    name: str
    index: str
    folder: Path

    @property
    def metric(self) -> str:
        """The zone's metric id."""
        attributes = {"hw.type": _TYPES.get(self.name, "cpu"), "hw.name": self.name}
        return metric_id("hw.energy", **attributes, **({"hw.id": self.index} if self.index else {}))


class RaplCollector:
    """All zones of the machine that may be read, and the sum of its packages. Of very many zones the first ones.

    Args:
        roots: where the kernel's file systems are.
        monotonic: seconds that only grow.
        tell: takes the notice that there are more zones than are read.
    """

    metric_names = (metric_name(_TOTAL),)

    def __init__(
        self,
        roots: Roots,
        monotonic: Callable[[], float] = time.monotonic,
        tell: Callable[[Notice], None] = ignore,
    ) -> None:
        self.name = "rapl"
        self.entity = HOST
        self._folder = roots.sys / "class/powercap"
        self.source = str(self._folder / "intel-rapl:*/energy_uj")
        self._boot_id_path = roots.proc / _BOOT_ID
        self._monotonic = monotonic
        self._tell = tell
        self._files: list[KernelFile] = []
        self._sums: list[EnergySum] = []
        self._packages: list[int] = []
        self._metrics: tuple[str, ...] = ()

    def is_supported(self) -> Support:
        """Look for zones; those that may not be read are left out."""
        self.close()
        zones, failures = [], []
        for zone in first_of(find_zones(self._folder), self.name, "RAPL zones", _MAX_ZONES, self._tell):
            file = KernelFile(zone.folder / "energy_uj")
            try:
                int(file.read())
                self._sums.append(EnergySum(_range_of(zone), _most_watts(zone), self._boot_id))
            except (CollectError, ValueError) as error:
                failures.append(str(error))
                file.close()
                continue
            self._files.append(file)
            zones.append(zone)
        self._packages = [place for place, zone in enumerate(zones) if zone.name == _PACKAGE]
        self._metrics = (*(zone.metric for zone in zones), *([_TOTAL] if self._packages else []))
        if zones:
            return Support(True)
        if any("Permission denied" in failure for failure in failures):
            return Support(False, f"permission denied: {self.source} may not be read; {_HOW_TO_ALLOW}")
        return Support(False, failures[0] if failures else f"there is no {self.source}: no RAPL on this machine")

    def metrics(self) -> tuple[str, ...]:
        """Each zone, then all packages together."""
        return self._metrics

    def read(self) -> Reading:
        """The zones' counters as they are written."""
        contents: list[bytes | None] = []
        failure = None
        for file in self._files:
            try:
                contents.append(file.read())
            except CollectError as error:
                failure = error
                contents.append(None)
        if failure is not None and not any(contents):
            raise failure
        return self._monotonic(), contents

    def decode(self, readings: Sequence[Reading]) -> Sequence[Sequence[float]]:
        """Joules; NaN for a zone that said nothing, or whose growth is not known."""
        return [self._values(*reading) for reading in readings]

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()
        self._files, self._sums = [], []

    def _values(self, seconds: float, contents: Sequence[bytes | None]) -> Sequence[float]:
        joules = [
            energy.add(seconds, int(content)) if content is not None and content.strip().isdigit() else math.nan
            for energy, content in zip(self._sums, contents, strict=True)
        ]
        return [*joules, sum(joules[place] for place in self._packages)] if self._packages else joules

    def _boot_id(self) -> str:
        try:
            return read_once(self._boot_id_path).decode(errors="replace")
        except CollectError:
            return ""


def find_zones(folder: Path) -> list[Zone]:
    """The zones of `intel-rapl`, which AMD's processors have too, by their folder's numbers; parts come last.

    `package-15` is `package` with the index 15; a part of it, as `dram` in `intel-rapl:15:0`, has the index of its
    package. `intel-rapl-mmio` counts the same packages once more and is left out. Zones that would have the same
    metric, as `psys` of two packages, have their folder's name for an index.
    """
    zones: list[Zone] = []
    indices: dict[str, str] = {}
    for path in sorted(folder.glob("intel-rapl:*"), key=_place):
        try:
            name, _, index = read_once(path / "name").decode(errors="replace").strip().partition("-")
        except CollectError:
            continue
        indices[path.name] = index or indices.get(path.name.rpartition(":")[0], "")
        zones.append(Zone(name, indices[path.name], path))
    metrics = Counter(zone.metric for zone in zones)
    return [zone if metrics[zone.metric] == 1 else replace(zone, index=zone.folder.name) for zone in zones]


def _place(path: Path) -> tuple[int, list[int]]:
    numbers = [int(number) for number in path.name.split(":")[1:] if number.isdigit()]
    return len(numbers), numbers


def _range_of(zone: Zone) -> int:
    """Microjoules. Raises ValueError where the zone doesn't say it, CollectError where it can't be read."""
    return int(read_once(zone.folder / "max_energy_range_uj"))


def _most_watts(zone: Zone) -> float:
    """The largest of the powers that the zone's constraints allow."""
    watts = []
    for path in zone.folder.glob("constraint_*_max_power_uw"):
        try:
            watts.append(int(read_once(path)) / MICROJOULES)
        except (CollectError, ValueError):
            continue
    return max(watts, default=0.0) or _MOST_WATTS
