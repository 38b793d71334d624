"""How often and how long heat made the CPUs slower, which Intel's processors count.

thermal_throttle in Documentation/ABI/testing/sysfs-devices-system-cpu of Linux.
"""

from collections.abc import Sequence
from pathlib import Path

from pulsetrain.agents.collectors.base import HOST, Roots, Support
from pulsetrain.agents.collectors.kernel_file import KernelFile, read_once
from pulsetrain.agents.errors import CollectError

_MILLISECOND = 1e-3
_FILES = {
    "package_throttle_count": ("system.linux.cpu.throttles", 1.0),
    "package_throttle_total_time_ms": ("system.linux.cpu.throttled_time", _MILLISECOND),
}
"""Older kernels have only the first."""


class ThermalThrottleCollector:
    """Sums over the processor packages, each asked at one of its CPUs."""

    metric_names = tuple(name for name, _ in _FILES.values())

    def __init__(self, roots: Roots) -> None:
        self.name = "thermal_throttle"
        self.entity = HOST
        self._folder = roots.sys / "devices/system/cpu"
        self.source = str(self._folder / "cpu*/thermal_throttle/package_throttle_*")
        self._packages: list[tuple[KernelFile, ...]] = []
        self._columns: list[tuple[str, float]] = []

    def is_supported(self) -> Support:
        """Whether the packages count."""
        self.close()
        folders = find_packages(self._folder)
        names = [name for name in _FILES if folders and all((folder / name).exists() for folder in folders)]
        self._packages = [tuple(KernelFile(folder / name) for name in names) for folder in folders]
        self._columns = [_FILES[name] for name in names]
        if not names:
            return Support(False, f"there is no {self.source}")
        try:
            self.decode([self.read()])
        except CollectError as error:
            return Support(False, str(error))
        return Support(True)

    def metrics(self) -> tuple[str, ...]:
        """Metric ids in the order of the values."""
        return tuple(metric for metric, _ in self._columns)

    def read(self) -> list[list[bytes]]:
        """By package, the counters as they are written."""
        return [[file.read() for file in files] for files in self._packages]

    def decode(self, readings: Sequence[list[list[bytes]]]) -> Sequence[Sequence[float]]:
        """Their sums."""
        try:
            return [self._sums(reading) for reading in readings]
        except ValueError as error:
            raise CollectError(f"{self.source} holds something unexpected: {error}") from error

    def close(self) -> None:
        """Close the files."""
        for files in self._packages:
            for file in files:
                file.close()

    def _sums(self, reading: list[list[bytes]]) -> list[float]:
        columns = [[int(content) for content in contents] for contents in zip(*reading, strict=True)]
        return [sum(column) * scale for column, (_, scale) in zip(columns, self._columns, strict=True)]


def find_packages(folder: Path) -> list[Path]:
    """The folder of counters of the first CPU of each package."""
    packages: dict[bytes, Path] = {}
    for cpu in sorted(folder.glob("cpu[0-9]*"), key=lambda path: int(path.name.removeprefix("cpu"))):
        counters = cpu / "thermal_throttle"
        if not (counters / "package_throttle_count").exists():
            continue
        try:
            packages.setdefault(read_once(cpu / "topology/physical_package_id").strip(), counters)
        except CollectError:
            continue
    return list(packages.values())
