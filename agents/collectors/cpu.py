"""CPU time by mode, context switches, interrupts and run queue, from /proc/stat (proc_stat(5)).

The kernel counts time in ticks of its clock since boot. Some of those counters can go backwards (iowait always could,
steal on virtual machines does), so a share is computed from increments that are never negative.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.file_collector import FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.collectors.numbers import to_floats
from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.schemas.catalogue import metric_id

_TIMES = 10
"""Columns: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice, in ticks since boot."""

_USER, _NICE, _SYSTEM, _IDLE, _IOWAIT, _IRQ, _SOFTIRQ, _STEAL, _GUEST, _GUEST_NICE = range(_TIMES)
_MODES = ("user", "nice", "system", "idle", "iowait", "interrupt", "softirq", "steal", "guest")
_MAX_LOGICAL_CPUS = 4096
_COUNTS = {
    b"ctxt": "system.linux.context_switches",
    b"intr": "system.linux.interrupts",
    b"processes": "system.process.created",
    b"procs_running": metric_id("system.process.count", **{"process.state": "running"}),
    b"procs_blocked": metric_id("system.process.count", **{"process.state": "blocked"}),
    b"softirq": "system.linux.softirqs",
}
_SOFTIRQS = ("hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu")


def cpu_collector(roots: Roots) -> FileCollector:
    """The collector of /proc/stat."""
    return FileCollector("cpu", KernelFile(roots.proc / "stat"), StatReader())


_TABLE = msgspec.json.Decoder(list[float])
_COMMAS = bytes.maketrans(b" \n", b",,")


class CpuTimes(NamedTuple):
    """`logical_numbers` (CPUs,), -1 for all of them; `ticks` (CPUs, 10)."""

    logical_numbers: FloatArray
    ticks: FloatArray


class StatReader:
    """Shares since the previous content, and the counters as they are."""

    def __init__(self) -> None:
        self._logical_numbers = np.empty(0)
        self._ticks = np.empty((0, _TIMES))

    def layout(self, content: bytes) -> tuple[str, ...]:
        """Modes of all CPUs, busy share of all and of each CPU, counts."""
        logical_numbers, ticks = parse_cpu_times(content)
        self._logical_numbers = logical_numbers[: 1 + _MAX_LOGICAL_CPUS]
        self._ticks = ticks[: 1 + _MAX_LOGICAL_CPUS]
        numbers = [f"{number:.0f}" for number in self._logical_numbers[1:]]
        return (
            *(metric_id("system.cpu.utilization", **{"cpu.mode": mode}) for mode in _MODES),
            "system.cpu.utilization",
            *(metric_id("system.cpu.utilization", **{"cpu.logical_number": number}) for number in numbers),
            *_COUNTS.values(),
            *(metric_id("system.linux.softirqs", **{"linux.softirq.type": kind}) for kind in _SOFTIRQS),
        )

    def values(self, contents: Sequence[bytes]) -> list[list[float]]:
        """Shares are NaN in the first content and where no time has passed."""
        counted = [parse_counts(content) for content in contents]
        ticks = np.array([self._ticks, *[self._of_known_cpus(parse_cpu_times(content)) for content in contents]])
        self._ticks = ticks[-1]
        passed = increments(ticks[:-1], ticks[1:])
        return [
            [*mode_shares(modes), *busy, *counts]
            for modes, busy, counts in zip(passed[:, 0].tolist(), busy_shares(passed).tolist(), counted, strict=True)
        ]

    def _of_known_cpus(self, times: CpuTimes) -> FloatArray:
        """The rows of the CPUs that there were at first; NaN for one that is offline."""
        if times.logical_numbers.tobytes() == self._logical_numbers.tobytes():
            return times.ticks
        ticks = np.full((len(self._logical_numbers), _TIMES), np.nan)
        _, known, found = np.intersect1d(self._logical_numbers, times.logical_numbers, return_indices=True)
        ticks[known] = times.ticks[found]
        return ticks


def parse_cpu_times(content: bytes) -> CpuTimes:
    """The lines `cpu`, `cpu0` ..., with which the content begins.

    Raises:
        ValueError: there is no line of all CPUs, the lines differ in length, or a word stands where a number belongs.
    """
    if not content.startswith(b"cpu "):
        raise ValueError("no line of all CPUs")
    lines = content[: content.find(b"\n", content.rfind(b"\ncpu") + 1)]
    # As one JSON array, since a machine has up to 4096 of these lines: `-1 4705 ...`, `0 1393280 ...`.
    table = (b"-1 " + lines[len(b"cpu ") :].lstrip()).translate(_COMMAS, b"cpu")
    try:
        numbers = np.array(_TABLE.decode(b"[" + table + b"]"))
        numbers = numbers.reshape(lines.count(b"\n") + 1, -1)
    except (msgspec.DecodeError, ValueError) as error:
        raise ValueError(f"no table of CPU times: {error}") from error
    ticks = numbers[:, 1 : 1 + _TIMES]
    if ticks.shape[1] < _TIMES:
        # Kernels before 2.6.33 have fewer columns; what they don't count has not passed.
        ticks = np.pad(ticks, ((0, 0), (0, _TIMES - ticks.shape[1])))
    return CpuTimes(numbers[:, 0], ticks)


def parse_counts(content: bytes) -> list[float]:
    """The counts of `_COUNTS`, then the softirqs by type; NaN for what is not there.

    Raises:
        ValueError: a word stands where a number belongs.
    """
    keys: list[bytes] = []
    words: list[bytes] = []
    by_type: list[bytes] = []
    for line in content[content.rfind(b"\ncpu") + 1 :].split(b"\n"):
        key, _, rest = line.partition(b" ")
        if key == b"softirq":
            by_type = rest.split()[1 : 1 + len(_SOFTIRQS)]
        if key in _COUNTS:
            keys.append(key)
            words.append(rest.partition(b" ")[0])
    numbers = to_floats(words + by_type)
    softirqs = numbers[len(words) :] + [math.nan] * (len(_SOFTIRQS) - len(by_type))
    counts = dict(zip(keys, numbers, strict=False))
    return [counts.get(key, math.nan) for key in _COUNTS] + softirqs


def increments(previous: FloatArray, current: FloatArray) -> FloatArray:
    """Ticks that passed, (..., CPUs, 10); 0 for a counter that went backwards, NaN without two readings."""
    return np.maximum(current - previous, 0.0)


def mode_shares(passed: Sequence[float]) -> Sequence[float]:
    """Share of each of `_MODES`; together 1. user and nice contain the guests' time, which is taken out of them."""
    total = sum(passed[: _STEAL + 1])
    if not total > 0:
        return (math.nan,) * len(_MODES)
    guest, guest_nice = min(passed[_GUEST], passed[_USER]), min(passed[_GUEST_NICE], passed[_NICE])
    ticks = (
        passed[_USER] - guest,
        passed[_NICE] - guest_nice,
        *passed[_SYSTEM : _STEAL + 1],
        guest + guest_nice,
    )
    return [tick / total for tick in ticks]


def busy_shares(passed: FloatArray) -> FloatArray:
    """Share of time that was neither idle nor iowait, (..., CPUs); NaN where none has passed."""
    total = passed[..., : _STEAL + 1].sum(axis=-1)
    total[total == 0] = np.nan
    busy: FloatArray = 1.0 - (passed[..., _IDLE] + passed[..., _IOWAIT]) / total
    return busy
