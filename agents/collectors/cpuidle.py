"""Time in the CPUs' idle states, from cpuidle (Documentation/admin-guide/pm/cpuidle.rst of Linux).

A large machine has more than a thousand of these files; so a few CPUs are asked, and what is published is the mean.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pulsetrain.agents.collectors.background_files import SMALL_FILE_BYTES
from pulsetrain.agents.collectors.base import HOST, Roots, Support
from pulsetrain.agents.collectors.kernel_file import KernelFile, read_once
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas.catalogue import metric_id

_ASKED_CPUS = 16
_MAX_STATES = 16
_MICROSECOND = 1e-6

RESIDENCY, ENTRIES = "system.linux.cpu.idle.residency", "system.linux.cpu.idle.entries"

Counts = tuple[float, float]
"""Microseconds in a state, and entries into it."""

Reading = Sequence[Sequence[tuple[bytes, bytes]]]
"""By CPU and state, both as they are written; of a CPU that is offline nothing."""


@dataclass(frozen=True, slots=True)
class _State:
    """One idle state of one CPU."""

    name: str
    time: KernelFile
    usage: KernelFile


class IdleStateCollector:
    """Mean residency and entries of each idle state over a few CPUs, evenly spread over the machine.

    The mean is summed from growth, so a CPU that goes offline or comes back does not make it jump.
    """

    metric_names = (RESIDENCY, ENTRIES)

    def __init__(self, roots: Roots) -> None:
        self.name = "cpuidle"
        self.entity = HOST
        self._folder = roots.sys / "devices/system/cpu"
        self.source = str(self._folder / "cpu*/cpuidle/state*")
        self._cpus: list[list[_State]] = []
        self._before: Sequence[Mapping[str, Counts]] = []
        self._sums: dict[str, Counts] = {}

    def is_supported(self) -> Support:
        """Whether the CPUs have idle states that the kernel manages."""
        self.close()
        folders = sorted(self._folder.glob("cpu[0-9]*/cpuidle"), key=lambda path: int(path.parent.name[len("cpu") :]))
        self._cpus = [_states(folder) for folder in evenly_spread(folders, _ASKED_CPUS)]
        self._before = self._counts(self.read())
        self._sums = {name: (0.0, 0.0) for cpu in self._before for name in cpu}
        if not self._sums:
            return Support(False, f"there is no {self.source}: the kernel manages no idle states here")
        return Support(True)

    def metrics(self) -> tuple[str, ...]:
        """Residency and entries of each state."""
        return tuple(
            metric_id(name, **{"linux.cpu.idle.state": state}) for state in self._sums for name in (RESIDENCY, ENTRIES)
        )

    def read(self) -> Reading:
        """The files as they are written."""
        return [_contents(cpu) for cpu in self._cpus]

    def decode(self, readings: Sequence[Reading]) -> list[list[float]]:
        """Seconds and entries."""
        counted = [self._counts(reading) for reading in readings]
        if not all(map(any, counted)):
            raise CollectError(f"{self.source} can't be read any more")
        return [self._grown(now) for now in counted]

    def close(self) -> None:
        """Close the files."""
        for cpu in self._cpus:
            for state in cpu:
                state.time.close()
                state.usage.close()

    def _counts(self, reading: Reading) -> list[dict[str, Counts]]:
        return [counts(cpu, contents) for cpu, contents in zip(self._cpus, reading, strict=True)]

    def _grown(self, now: Sequence[Mapping[str, Counts]]) -> list[float]:
        for name, growth in mean_growth(self._before, now).items():
            time, entries = self._sums[name]
            self._sums[name] = (time + growth[0] * _MICROSECOND, entries + growth[1])
        self._before = now
        return [value for sums in self._sums.values() for value in sums]


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


def counts(states: Sequence[_State], contents: Sequence[tuple[bytes, bytes]]) -> dict[str, Counts]:
    """The counts of one CPU's states by name; empty while it is offline."""
    try:
        return {state.name: (int(time), int(usage)) for state, (time, usage) in zip(states, contents, strict=False)}
    except ValueError:
        return {}


def _contents(states: Sequence[_State]) -> Sequence[tuple[bytes, bytes]]:
    """Of each state of one CPU `time` and `usage`; nothing while it is offline."""
    try:
        return [(state.time.read(), state.usage.read()) for state in states]
    except CollectError:
        return ()


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
