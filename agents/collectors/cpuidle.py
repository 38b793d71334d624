"""Time in the CPUs' idle states, from cpuidle (Documentation/admin-guide/pm/cpuidle.rst of Linux).

A large machine has more than a thousand of these files; so a few CPUs are asked, and what is published is the mean.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pulsetrain.agents.collectors.background_files import SMALL_FILE_BYTES, BackgroundFiles
from pulsetrain.agents.collectors.base import HOST, Collected, Observation, Roots, Support
from pulsetrain.agents.collectors.kernel_file import KernelFile, read_once
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas.catalogue import metric_id

_ASKED_CPUS = 16
_MAX_STATES = 16
_MICROSECOND = 1e-6

RESIDENCY, ENTRIES = "system.linux.cpu.idle.residency", "system.linux.cpu.idle.entries"

Counts = tuple[float, float]
"""Microseconds in a state, and entries into it."""


@dataclass(frozen=True, slots=True)
class _State:
    """One idle state of one CPU."""

    name: str
    time: KernelFile
    usage: KernelFile


class IdleStateCollector(BackgroundFiles):
    """Mean residency and entries of each idle state over a few CPUs, evenly spread over the machine.

    The mean is summed from growth, so a CPU that goes offline or comes back does not make it jump.
    """

    name = "cpuidle"
    interval_ms = 1000
    deadline_seconds = 1.0
    metric_names = (RESIDENCY, ENTRIES)

    def __init__(self, roots: Roots) -> None:
        super().__init__()
        self._folder = roots.sys / "devices/system/cpu"
        self.source = str(self._folder / "cpu*/cpuidle/state*")
        self._cpus: list[list[_State]] = []
        self._before: Sequence[Mapping[str, Counts]] = []
        self._sums: dict[str, tuple[float, float]] = {}

    def is_supported(self) -> Support:
        """Whether the CPUs have idle states that the kernel manages."""
        self._close_files()
        folders = sorted(self._folder.glob("cpu[0-9]*/cpuidle"), key=lambda path: int(path.parent.name[len("cpu") :]))
        self._cpus = [_states(folder) for folder in evenly_spread(folders, _ASKED_CPUS)]
        self._before = [read_states(cpu) for cpu in self._cpus]
        self._sums = {name: (0.0, 0.0) for cpu in self._before for name in cpu}
        if not self._sums:
            return Support(False, f"there is no {self.source}: the kernel manages no idle states here")
        return Support(True)

    def _collect(self, time_ns: int) -> Collected:
        now = [read_states(cpu) for cpu in self._cpus]
        if not any(now):
            raise CollectError(f"{self.source} can't be read any more")
        for name, growth in mean_growth(self._before, now).items():
            time, entries = self._sums[name]
            self._sums[name] = (time + growth[0] * _MICROSECOND, entries + growth[1])
        self._before = now
        values: dict[str, float] = {}
        for name, (time, entries) in self._sums.items():
            values[metric_id(RESIDENCY, **{"linux.cpu.idle.state": name})] = time
            values[metric_id(ENTRIES, **{"linux.cpu.idle.state": name})] = entries
        return Collected([Observation(HOST, time_ns, tuple(values), list(values.values()))])

    def _close_files(self) -> None:
        for cpu in self._cpus:
            for state in cpu:
                state.time.close()
                state.usage.close()


def evenly_spread(paths: Sequence[Path], most: int) -> Sequence[Path]:
    """At most so many of the paths, at equal distances."""
    return paths[:: max(1, -(-len(paths) // most))]


def mean_growth(before: Sequence[Mapping[str, Counts]], now: Sequence[Mapping[str, Counts]]) -> dict[str, Counts]:
    """By state, the mean growth over those CPUs that said something both times and whose counters did not fall."""
    growths: dict[str, list[Counts]] = {}
    for was, counts in zip(before, now, strict=True):
        for name, (time, entries) in counts.items():
            if name in was and time >= was[name][0] and entries >= was[name][1]:
                growths.setdefault(name, []).append((time - was[name][0], entries - was[name][1]))
    return {
        name: (sum(time for time, _ in found) / len(found), sum(entries for _, entries in found) / len(found))
        for name, found in growths.items()
    }


def read_states(states: Sequence[_State]) -> dict[str, Counts]:
    """The counts of one CPU's states by name; empty while it is offline."""
    try:
        return {state.name: (int(state.time.read()), int(state.usage.read())) for state in states}
    except (CollectError, ValueError):
        return {}


def _states(folder: Path) -> list[_State]:
    states = []
    for path in sorted(folder.glob("state[0-9]*"), key=lambda path: int(path.name[len("state") :]))[:_MAX_STATES]:
        try:
            name = read_once(path / "name").decode(errors="replace").strip()
        except CollectError:
            continue
        time, usage = (KernelFile(path / file, head_bytes=SMALL_FILE_BYTES) for file in ("time", "usage"))
        states.append(_State(name, time, usage))
    return states
