"""Which files of a control group hold which metrics, in both versions."""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.devices import physical_disks
from pulsetrain.agents.collectors.fields import Field, Split, split_flat
from pulsetrain.agents.collectors.kernel_file import read_once
from pulsetrain.agents.collectors.pressure import split_pressure
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas.catalogue import metric_id

_MICROSECOND = 1e-6
_NANOSECOND = 1e-9
_VALUE = b"value"
_IO_COLUMNS = (b"rbytes", b"wbytes", b"rios", b"wios")


@dataclass(frozen=True, slots=True)
class GroupFile:
    """One file of a group: its controller, its name, and how its text becomes metrics."""

    controller: str
    name: str
    split: Split
    fields: Sequence[Field]


def group_files(version: int, disks: Collection[bytes], clock_ticks: int | None = None) -> list[GroupFile]:
    """The files to be read.

    Args:
        version: of the control groups.
        disks: `major:minor` of the disks that count; all where it is empty.
        clock_ticks: the kernel's ticks a second for user space; this machine's by default.
    """
    if version == 2:
        return _version_2(disks)
    return _version_1(disks, 1 / (clock_ticks or os.sysconf("SC_CLK_TCK")))


def physical_disk_numbers(roots: Roots) -> set[bytes]:
    """`major:minor` of the whole disks that are hardware; what lies on them would count the same bytes again."""
    numbers = set()
    for disk in physical_disks(roots):
        with suppress(CollectError):
            numbers.add(read_once(roots.sys / "block" / disk / "dev").strip())
    return numbers


def split_single(content: bytes) -> tuple[Sequence[bytes], list[bytes]]:
    """A file that holds one number."""
    return (_VALUE,), [content.strip()]


def split_io_stat(disks: Collection[bytes]) -> Split:
    """Sums over the disks of `8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0`."""

    def split(content: bytes) -> tuple[Sequence[bytes], list[bytes]]:
        sums = dict.fromkeys(_IO_COLUMNS, 0)
        for line in content.splitlines():
            device, *pairs = line.split()
            if disks and device not in disks:
                continue
            for pair in pairs:
                key, _, number = pair.partition(b"=")
                if key in sums and number.isdigit():
                    sums[key] += int(number)
        return _IO_COLUMNS, [b"%d" % number for number in sums.values()]

    return split


def split_blkio(disks: Collection[bytes]) -> Split:
    """Sums over the disks of `8:0 Read 1459200` and `8:0 Write 314773504`; the last line is `Total 316232704`."""

    def split(content: bytes) -> tuple[Sequence[bytes], list[bytes]]:
        sums = {b"Read": 0, b"Write": 0}
        for line in content.splitlines():
            words = line.split()
            if len(words) == 3 and words[1] in sums and words[2].isdigit() and (not disks or words[0] in disks):
                sums[words[1]] += int(words[2])
        return tuple(sums), [b"%d" % number for number in sums.values()]

    return split


def _version_2(disks: Collection[bytes]) -> list[GroupFile]:
    return [
        GroupFile(
            "cpu",
            "cpu.stat",
            split_flat,
            [
                Field("container.cpu.time", (b"usage_usec",), _MICROSECOND),
                *_by("container.cpu.time", "cpu.mode", {"user": b"user_usec", "system": b"system_usec"}, _MICROSECOND),
                *_throttling(b"throttled_usec", _MICROSECOND),
            ],
        ),
        GroupFile("memory", "memory.current", split_single, [Field("container.memory.usage", (_VALUE,))]),
        GroupFile("memory", "memory.stat", split_flat, _memory_stat(b"anon", b"file", prefix=b"")),
        GroupFile(
            "memory",
            "memory.events",
            split_flat,
            _by(
                "container.memory.events",
                "container.memory.event",
                {"high": b"high", "max": b"max", "oom": b"oom", "oom_kill": b"oom_kill"},
            ),
        ),
        GroupFile("pids", "pids.current", split_single, [Field("container.task.count", (_VALUE,))]),
        GroupFile(
            "blkio",
            "io.stat",
            split_io_stat(disks),
            [
                *_by("container.disk.io", "disk.io.direction", {"read": b"rbytes", "write": b"wbytes"}),
                *_by("container.disk.operations", "disk.io.direction", {"read": b"rios", "write": b"wios"}),
            ],
        ),
        *(
            GroupFile(resource, f"{resource}.pressure", split_pressure, _pressure(resource))
            for resource in ("cpu", "memory")
        ),
        GroupFile("blkio", "io.pressure", split_pressure, _pressure("io")),
    ]


def _version_1(disks: Collection[bytes], tick_seconds: float) -> list[GroupFile]:
    def blkio(name: str, metric: str) -> GroupFile:
        directions = {"read": b"Read", "write": b"Write"}
        return GroupFile("blkio", name, split_blkio(disks), _by(metric, "disk.io.direction", directions))

    return [
        GroupFile("cpuacct", "cpuacct.usage", split_single, [Field("container.cpu.time", (_VALUE,), _NANOSECOND)]),
        GroupFile(
            "cpuacct",
            "cpuacct.stat",
            split_flat,
            _by("container.cpu.time", "cpu.mode", {"user": b"user", "system": b"system"}, tick_seconds),
        ),
        GroupFile("cpu", "cpu.stat", split_flat, _throttling(b"throttled_time", _NANOSECOND)),
        GroupFile("memory", "memory.usage_in_bytes", split_single, [Field("container.memory.usage", (_VALUE,))]),
        GroupFile("memory", "memory.stat", split_flat, _memory_stat(b"rss", b"cache", prefix=b"total_")),
        GroupFile(
            "memory",
            "memory.failcnt",
            split_single,
            _by("container.memory.events", "container.memory.event", {"max": _VALUE}),
        ),
        GroupFile(
            "memory",
            "memory.oom_control",
            split_flat,
            _by("container.memory.events", "container.memory.event", {"oom_kill": b"oom_kill"}),
        ),
        GroupFile("pids", "pids.current", split_single, [Field("container.task.count", (_VALUE,))]),
        blkio("blkio.throttle.io_service_bytes", "container.disk.io"),
        blkio("blkio.throttle.io_serviced", "container.disk.operations"),
    ]


INACTIVE_FILE = metric_id("container.memory.cache", **{"linux.memory.lru": "inactive_file"})
"""Page cache that has not been needed lately."""


def _memory_stat(anonymous: bytes, cache: bytes, prefix: bytes) -> list[Field]:
    return [
        Field("container.memory.rss", (prefix + anonymous,)),
        Field("container.memory.cache", (prefix + cache,)),
        Field(INACTIVE_FILE, (prefix + b"inactive_file",)),
        Field("container.memory.paging.faults", (prefix + b"pgfault",)),
        *_by("container.memory.paging.faults", "system.paging.fault.type", {"major": prefix + b"pgmajfault"}),
    ]


def _throttling(time: bytes, scale: float) -> list[Field]:
    return [
        Field("container.cpu.periods", (b"nr_periods",)),
        Field("container.cpu.throttled.periods", (b"nr_throttled",)),
        Field("container.cpu.throttled.time", (time,), scale),
    ]


def _pressure(resource: str) -> list[Field]:
    return [
        Field(
            metric_id(
                "container.pressure.stall_time",
                **{"linux.pressure.resource": resource, "linux.pressure.stall": stall},
            ),
            (f"{stall} total".encode(),),
            _MICROSECOND,
        )
        for stall in ("some", "full")
    ]


def _by(name: str, attribute: str, keys: Mapping[str, bytes], scale: float = 1.0) -> list[Field]:
    return [Field(metric_id(name, **{attribute: value}), (key,), scale) for value, key in keys.items()]
