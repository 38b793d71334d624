"""Disk operations, bytes and times, from /proc/diskstats (Documentation/admin-guide/iostats.rst of Linux)."""

import math
from collections.abc import Callable, Sequence

from pulsetrain.agents.collectors.base import Notice, Roots
from pulsetrain.agents.collectors.bounded import ignore
from pulsetrain.agents.collectors.devices import physical_disks, with_own_metrics
from pulsetrain.agents.collectors.file_collector import FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.collectors.numbers import to_floats
from pulsetrain.schemas.catalogue import metric_id

_NAME_COLUMN = 2
_FIRST_COLUMN = 3
_FEWEST_COLUMNS = 14
"""Kernels before 4.18 have 14 columns, later ones 18 (discards) and 20 (flushes); vendors' kernels have had more."""

_SECTOR_BYTES = 512.0
_MILLISECOND = 1e-3

# One entry a column from the fourth on: metric, direction, scale.
_COLUMNS: tuple[tuple[str, str, float], ...] = (
    ("system.disk.operations", "read", 1.0),
    ("system.disk.merged", "read", 1.0),
    ("system.disk.io", "read", _SECTOR_BYTES),
    ("system.disk.operation_time", "read", _MILLISECOND),
    ("system.disk.operations", "write", 1.0),
    ("system.disk.merged", "write", 1.0),
    ("system.disk.io", "write", _SECTOR_BYTES),
    ("system.disk.operation_time", "write", _MILLISECOND),
    ("system.disk.pending_operations", "", 1.0),
    ("system.disk.io_time", "", _MILLISECOND),
    ("system.disk.weighted_io_time", "", _MILLISECOND),
    ("system.disk.operations", "discard", 1.0),
    ("system.disk.merged", "discard", 1.0),
    ("system.disk.io", "discard", _SECTOR_BYTES),
    ("system.disk.operation_time", "discard", _MILLISECOND),
    ("system.disk.operations", "flush", 1.0),
    ("system.disk.operation_time", "flush", _MILLISECOND),
)
_LAST_COLUMN = _FIRST_COLUMN + len(_COLUMNS)


def disk_collector(roots: Roots, tell: Callable[[Notice], None] = ignore) -> FileCollector:
    """The collector of /proc/diskstats, for the disks that the machine has now."""
    return FileCollector("disk", KernelFile(roots.proc / "diskstats"), DiskReader(physical_disks(roots), tell))


class DiskReader:
    """Sums over the given whole disks, and each of the first of them.

    A line that is too short to be understood is skipped and counted; columns beyond the known ones are ignored.

    Args:
        disks: names of the whole disks.
        tell: takes the notice that there are more of them than have metrics of their own.
    """

    metric_names = tuple(dict.fromkeys(name for name, _, _ in _COLUMNS))

    def __init__(self, disks: Sequence[str], tell: Callable[[Notice], None] = ignore) -> None:
        self._disks = {disk.encode() for disk in disks}
        self._summed: list[bytes] = []
        self._own_metrics: Sequence[bytes] = []
        self._tell = tell
        self._columns = 0
        self._skipped_lines = 0

    def layout(self, content: bytes) -> tuple[str, ...]:
        """The columns that this kernel has: for all disks, then for each."""
        disks, _ = parse_diskstats(content, self._disks)
        self._summed = sorted(disks)
        self._own_metrics = with_own_metrics(self._summed, "disk", "disks", self._tell)
        self._columns = max((len(columns) for columns in disks.values()), default=0)
        if not self._columns:
            return ()
        names = [_metric(*column[:2]) for column in _COLUMNS[: self._columns]]
        for disk in self._own_metrics:
            names += [_metric(*column[:2], disk.decode(errors="replace")) for column in _COLUMNS[: self._columns]]
        return (*names, metric_id("pulsetrain.agent.lines.skipped", **{"agent.collector": "disk"}))

    def values(self, contents: Sequence[bytes]) -> list[list[float]]:
        """Counters as they are; those of a disk that is gone are NaN, and so are the sums while it is."""
        return [self._of(content) for content in contents]

    def _of(self, content: bytes) -> list[float]:
        disks, skipped = parse_diskstats(content, self._disks)
        self._skipped_lines += skipped
        width = self._columns
        absent = [math.nan] * width
        rows = [[*disks.get(disk, ()), *absent][:width] for disk in self._summed]
        values = [sum(column) for column in zip(*rows, strict=True)]
        for disk in self._own_metrics:
            values += [*disks.get(disk, ()), *absent][:width]
        values.append(self._skipped_lines)
        return values


def parse_diskstats(content: bytes, wanted: set[bytes]) -> tuple[dict[bytes, list[float]], int]:
    """Scaled columns of the wanted disks by name, and how many lines were not understood."""
    disks: dict[bytes, list[float]] = {}
    skipped = 0
    for line in content.split(b"\n"):
        words = line.split()
        if not words:
            continue
        if len(words) < _FEWEST_COLUMNS:
            skipped += 1
        elif words[_NAME_COLUMN] in wanted:
            try:
                numbers = to_floats(words[_FIRST_COLUMN:_LAST_COLUMN])
                disks[words[_NAME_COLUMN]] = [
                    number * scale for number, (_, _, scale) in zip(numbers, _COLUMNS, strict=False)
                ]
            except ValueError:
                skipped += 1
    return disks, skipped


def _metric(name: str, direction: str, disk: str = "") -> str:
    attributes = {"disk.io.direction": direction} if direction else {}
    return metric_id(name, **attributes, **({"system.device": disk} if disk else {}))
