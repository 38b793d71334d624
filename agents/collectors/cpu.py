"""CPU time by mode, context switches, interrupts and run queue, from /proc/stat (proc_stat(5)).

The kernel counts time in ticks of its clock since boot. Some of those counters can go backwards (iowait always could,
steal on virtual machines does), so a share is computed from increments that are never negative.
"""

import math
from collections.abc import Sequence

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.file_collector import FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.collectors.numbers import to_floats
from pulsetrain.schemas.catalogue import metric_id

Times = Sequence[float]
"""user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice, in ticks since boot."""

_TIMES = 10
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


class StatReader:
    """Shares since the previous content, and the counters as they are."""

    def __init__(self) -> None:
        self._cpus: list[bytes] = []
        self._times: dict[bytes, Times] = {}

    def layout(self, content: bytes) -> tuple[str, ...]:
        """Modes of all CPUs, busy share of all and of each CPU, counts."""
        self._times, _, _ = parse_stat(content)
        self._cpus = [name for name in self._times if name != b"cpu"][:_MAX_LOGICAL_CPUS]
        numbers = [name.removeprefix(b"cpu").decode() for name in self._cpus]
        return (
            *(metric_id("system.cpu.utilization", **{"cpu.mode": mode}) for mode in _MODES),
            "system.cpu.utilization",
            *(metric_id("system.cpu.utilization", **{"cpu.logical_number": number}) for number in numbers),
            *_COUNTS.values(),
            *(metric_id("system.linux.softirqs", **{"linux.softirq.type": kind}) for kind in _SOFTIRQS),
        )

    def values(self, content: bytes) -> list[float]:
        """Shares are NaN in the first content and where no time has passed."""
        times, counts, softirqs = parse_stat(content)
        previous, self._times = self._times, times
        passed = increments(previous.get(b"cpu"), times.get(b"cpu"))
        return [
            *mode_shares(passed),
            busy_share(passed),
            *(busy_share(increments(previous.get(cpu), times.get(cpu))) for cpu in self._cpus),
            *(counts.get(key, math.nan) for key in _COUNTS),
            *softirqs,
        ]


def parse_stat(content: bytes) -> tuple[dict[bytes, Times], dict[bytes, float], list[float]]:
    """CPU times by `cpu`, `cpu0` ...; counts by the first word of their line; softirqs by type.

    Raises:
        ValueError: there is no line of all CPUs, or a word where a number belongs.
    """
    times: dict[bytes, Times] = {}
    counts: dict[bytes, float] = {}
    softirqs = [math.nan] * len(_SOFTIRQS)
    for line in content.split(b"\n"):
        key, _, rest = line.partition(b" ")
        if key.startswith(b"cpu"):
            numbers = to_floats(rest.split()[:_TIMES])
            # Kernels before 2.6.33 have fewer columns; what they don't count has not passed.
            times[key] = numbers + [0.0] * (_TIMES - len(numbers))
        elif key == b"softirq":
            total, *by_type = to_floats(rest.split())
            counts[key] = total
            softirqs[: len(by_type)] = by_type[: len(softirqs)]
        elif key in _COUNTS:
            counts[key] = to_floats([rest.partition(b" ")[0]])[0]
    if b"cpu" not in times:
        raise ValueError("no line of all CPUs")
    return times, counts, softirqs


def increments(previous: Times | None, current: Times | None) -> Times | None:
    """Ticks that passed by counter; 0 for a counter that went backwards; None without two readings."""
    if previous is None or current is None:
        return None
    return [now - then if now > then else 0.0 for now, then in zip(current, previous, strict=True)]


def mode_shares(passed: Times | None) -> Sequence[float]:
    """Share of each of `_MODES`; together 1. user and nice contain the guests' time, which is taken out of them."""
    total = _total(passed)
    if passed is None or total == 0:
        return (math.nan,) * len(_MODES)
    guest, guest_nice = min(passed[_GUEST], passed[_USER]), min(passed[_GUEST_NICE], passed[_NICE])
    ticks = (
        passed[_USER] - guest,
        passed[_NICE] - guest_nice,
        *passed[_SYSTEM : _STEAL + 1],
        guest + guest_nice,
    )
    return [tick / total for tick in ticks]


def busy_share(passed: Times | None) -> float:
    """Share of time that was neither idle nor iowait."""
    total = _total(passed)
    if passed is None or total == 0:
        return math.nan
    return 1.0 - (passed[_IDLE] + passed[_IOWAIT]) / total


def _total(passed: Times | None) -> float:
    return 0.0 if passed is None else sum(passed[: _STEAL + 1])
