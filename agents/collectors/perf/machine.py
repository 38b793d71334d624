"""What kind of processor this is, and which counters the kernel has for it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_MAX_CPUINFO_BYTES = 65536
_UNIT_NUMBER = re.compile(r"_[0-9]+$")
_PMU_FOLDER = "bus/event_source/devices"


@dataclass(frozen=True, slots=True)
class Machine:
    """The processor and its performance monitoring units.

    `vendor`, `family` and `model` as in /proc/cpuinfo; empty and 0 on architectures that say otherwise. `pmus`: the
    names of the events that the kernel lists for each unit.
    """

    vendor: str = ""
    family: int = 0
    model: int = 0
    pmus: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def has_pmu(self, kind: str) -> bool:
        """Whether there is a unit of this name, with a number behind it or not."""
        return any(unit_kind(name) == kind for name in self.pmus)

    def events_of(self, kind: str) -> frozenset[str]:
        """Names of the events of all units of this name."""
        return frozenset().union(*(events for name, events in self.pmus.items() if unit_kind(name) == kind))


def unit_kind(name: str) -> str:
    """The name of a unit without its number: `uncore_imc` of `uncore_imc_3`."""
    return _UNIT_NUMBER.sub("", name)


def read_machine(proc: Path, sys: Path) -> Machine:
    """The machine as the kernel shows it; what can't be read is left out."""
    vendor, family, model = _identity(proc / "cpuinfo")
    return Machine(vendor, family, model, _pmus(sys / _PMU_FOLDER))


def _identity(path: Path) -> tuple[str, int, int]:
    values: dict[str, str] = {}
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_CPUINFO_BYTES).decode("utf-8", "replace")
    except OSError:
        text = ""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        values.setdefault(key.strip(), value.strip())
    return values.get("vendor_id", ""), _number(values.get("cpu family")), _number(values.get("model"))


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 6 else 0


def _pmus(folder: Path) -> dict[str, frozenset[str]]:
    try:
        return {path.name: _names(path / "events") for path in sorted(folder.iterdir())}
    except OSError:
        return {}


def _names(folder: Path) -> frozenset[str]:
    try:
        return frozenset(path.name for path in folder.iterdir())
    except OSError:
        return frozenset()
