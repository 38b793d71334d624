"""Which events are counted on which processor, and what their counts mean.

Generic events are those of PERF_TYPE_HARDWARE. Their caches differ: the kernel counts the last level on Intel
(0x4f2e, 0x412e in arch/x86/events/intel/core.c), L2 on AMD since family 17h (0xff60, 0x0964 in
arch/x86/events/amd/core.c) and L1 data on Arm (L1D_CACHE in drivers/perf/arm_pmuv3.c).

Context switches and page faults are not among them: /proc has both at every tick.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from pulsetrain.agents.collectors.perf.machine import unit_kind
from pulsetrain.schemas.catalogue import metric_id

_MODIFIERS = re.compile(r":[ukhIGHpPSDWeb]+$")


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    `argument`: what perf is asked for. `name`: what it is called in the output, without unit and modifiers.
    `hardware`: whether it is known to need a processor's counter. `metric`, `attributes`: of which metric its rate is
    a part; empty where it only serves a ratio. `factor`: how many of the metric's units one count is. `pmu`: who
    counts it, where its name in the output doesn't say so. `unit`: in what perf has to give it, anything if empty.
    """

    argument: str
    name: str
    hardware: bool = True
    metric: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    factor: float = 1.0
    pmu: str = ""
    unit: str = ""

    def id_with(self, *more: tuple[str, str]) -> str:
        """The id of the metric, with more attributes."""
        return _metric_id(self.metric, (*self.attributes, *more))


@dataclass(frozen=True, slots=True)
class Ratio:
    """A metric that is the count of one event over that of another."""

    metric: str
    numerator: str
    denominator: str


@dataclass(frozen=True, slots=True)
class EventSet:
    """What is counted here, and what is computed from it."""

    events: tuple[Event, ...]
    ratios: tuple[Ratio, ...] = ()

    def without(self, names: Iterable[str]) -> "EventSet":
        """The set without some events and all that needs them."""
        gone = frozenset(names)
        kept = tuple(event for event in self.events if event.name not in gone)
        return EventSet(kept, tuple(ratio for ratio in self.ratios if not {ratio.numerator, ratio.denominator} & gone))

    def metrics(self) -> tuple[str, ...]:
        """Ids of the metrics of the whole node, each once."""
        rates = (event.id_with() for event in self.events if event.metric)
        return tuple(dict.fromkeys((*rates, *(ratio.metric for ratio in self.ratios))))


MEMORY_RATE = "system.memory.io.rate"
_STALL_SHARE = "system.cpu.stall.share"
_REFERENCE_RATE = "system.cpu.cache.reference.rate"
_MISS_RATE = "system.cpu.cache.miss.rate"
_MISS_RATIO = "system.cpu.cache.miss.ratio"
_MIGRATION_RATE = "system.linux.cpu_migration.rate"
_LEVEL = "cpu.cache.level"


def generic_events(cache_level: str | None) -> EventSet:
    """What every processor with counters has, and what Linux counts itself.

    Args:
        cache_level: which cache the generic cache events count here (`l3`); None where it is not known, and they are
            left out.
    """
    events = [
        Event("cycles", "cycles", metric="system.cpu.cycle.rate"),
        Event("instructions", "instructions", metric="system.cpu.instruction.rate"),
        Event("branches", "branches", metric="system.cpu.branch.rate"),
        Event("branch-misses", "branch-misses", metric="system.cpu.branch_miss.rate"),
        Event("stalled-cycles-frontend", "stalled-cycles-frontend"),
        Event("stalled-cycles-backend", "stalled-cycles-backend"),
        *software_events().events,
    ]
    ratios = [
        Ratio("system.cpu.instructions_per_cycle", "instructions", "cycles"),
        Ratio("system.cpu.branch_miss.ratio", "branch-misses", "branches"),
        stall("frontend", "stalled-cycles-frontend"),
        stall("backend", "stalled-cycles-backend"),
    ]
    if cache_level is None:
        return EventSet(tuple(events), tuple(ratios))
    return joined(
        EventSet(tuple(events), tuple(ratios)),
        cache(cache_level, ("cache-references", "cache-references"), ("cache-misses", "cache-misses")),
    )


def software_events() -> EventSet:
    """What Linux counts itself, and nowhere else."""
    return EventSet((Event("cpu-migrations", "cpu-migrations", hardware=False, metric=_MIGRATION_RATE),))


def cache(level: str, reference: tuple[str, str], miss: tuple[str, str], pmu: str = "") -> EventSet:
    """Accesses to a cache, misses, and their ratio; each event as (argument, name)."""
    attributes = ((_LEVEL, level),)
    return EventSet(
        (
            Event(*reference, metric=_REFERENCE_RATE, attributes=attributes, pmu=pmu),
            Event(*miss, metric=_MISS_RATE, attributes=attributes, pmu=pmu),
        ),
        (Ratio(metric_id(_MISS_RATIO, **dict(attributes)), miss[1], reference[1]),),
    )


def stall(cause: str, name: str) -> Ratio:
    """The share of cycles that an event counts."""
    return Ratio(metric_id(_STALL_SHARE, **{"cpu.stall": cause}), name, "cycles")


def joined(*sets: EventSet) -> EventSet:
    """All of them as one; of events with the same name the first."""
    events: dict[str, Event] = {}
    for event in (event for each in sets for event in each.events):
        events.setdefault(event.name, event)
    return EventSet(tuple(events.values()), tuple(ratio for each in sets for ratio in each.ratios))


@lru_cache(maxsize=4096)
def _metric_id(name: str, attributes: tuple[tuple[str, str], ...]) -> str:
    return metric_id(name, **dict(attributes))


@lru_cache(maxsize=4096)
def split_name(printed: str) -> tuple[str, str]:
    """Unit and name of an event as perf prints it.

    `cycles:u` is (``, `cycles`), `cpu_core/cycles/` is (`cpu_core`, `cycles`), and all units of one kind are one:
    `uncore_imc_3/cas_count_read/` is (`uncore_imc`, `cas_count_read`).
    """
    unit, slash, rest = printed.partition("/")
    if not slash:
        return "", _MODIFIERS.sub("", printed)
    return unit_kind(unit), rest.rpartition("/")[0] or rest
