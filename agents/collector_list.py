"""Which collectors there are, and how each is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pulsetrain.agents.attribution.attribution import Attribution
from pulsetrain.agents.collectors.base import Collector, Notice, Roots
from pulsetrain.agents.collectors.bounded import ignore
from pulsetrain.agents.collectors.cgroup import ControlGroupCollector
from pulsetrain.agents.collectors.clock import ClockCollector
from pulsetrain.agents.collectors.cpu import cpu_collector
from pulsetrain.agents.collectors.cpuidle import IdleStateCollector
from pulsetrain.agents.collectors.disk import disk_collector
from pulsetrain.agents.collectors.frequency import frequency_collector
from pulsetrain.agents.collectors.health import HealthCollector
from pulsetrain.agents.collectors.hwmon import HwmonCollector
from pulsetrain.agents.collectors.infiniband import InfinibandCollector
from pulsetrain.agents.collectors.load import load_collector
from pulsetrain.agents.collectors.memory import memory_collector
from pulsetrain.agents.collectors.network import network_collector
from pulsetrain.agents.collectors.numa import numa_collectors
from pulsetrain.agents.collectors.own_cost import OwnCostCollector
from pulsetrain.agents.collectors.paging import paging_collector
from pulsetrain.agents.collectors.pressure import pressure_collectors
from pulsetrain.agents.collectors.protocols import protocol_collectors
from pulsetrain.agents.collectors.rapl import RaplCollector
from pulsetrain.agents.collectors.scheduled import Importance, InBackground, Scheduled
from pulsetrain.agents.collectors.scrape import ScrapeTarget
from pulsetrain.agents.collectors.softnet import softnet_collector
from pulsetrain.agents.collectors.thermal_throttle import ThermalThrottleCollector
from pulsetrain.agents.collectors.training.collector import TrainingCollector
from pulsetrain.agents.collectors.unmade import UnmadeCollector
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.settings import AgentSettings

_PROTOCOLS_MS = 1000
"""The kernel adds these up over all CPUs at each reading; read more seldom, short failures of connections are lost."""

_HEALTH_MS = 10_000


def scheduled_collectors(
    roots: Roots, stats: RunStats, slow_interval_ms: int, tell: Callable[[Notice], None] = ignore
) -> list[Scheduled]:
    """Every collector that is read at ticks, supported on this machine or not.

    Args:
        roots: where the kernel's file systems are.
        stats: what the agent says about itself.
        slow_interval_ms: how often what changes slowly or costs much to read is read.
        tell: takes what they have to tell of what they find.
    """

    def at_ticks(*collectors: Collector[Any]) -> list[Scheduled]:
        return [Scheduled(collector) for collector in collectors]

    def seldom(importance: Importance, *collectors: Collector[Any]) -> list[Scheduled]:
        return [Scheduled(collector, slow_interval_ms, importance) for collector in collectors]

    return _each(
        Scheduled,
        {
            "cpu": lambda: at_ticks(cpu_collector(roots)),
            "pressure": lambda: at_ticks(*pressure_collectors(roots)),
            "memory": lambda: at_ticks(memory_collector(roots)),
            "paging": lambda: at_ticks(paging_collector(roots)),
            "disk": lambda: at_ticks(disk_collector(roots, tell)),
            "network": lambda: at_ticks(network_collector(roots, tell)),
            "protocols": lambda: [
                Scheduled(collector, _PROTOCOLS_MS, Importance.NORMAL) for collector in protocol_collectors(roots)
            ],
            "rapl": lambda: [Scheduled(RaplCollector(roots, tell=tell), importance=Importance.NORMAL)],
            "softnet": lambda: seldom(Importance.NORMAL, softnet_collector(roots)),
            "numa": lambda: seldom(Importance.NORMAL, *numa_collectors(roots, tell)),
            "thermal_throttle": lambda: seldom(Importance.LOW, ThermalThrottleCollector(roots)),
            "cpuidle": lambda: seldom(Importance.LOW, IdleStateCollector(roots)),
            "clock": lambda: seldom(Importance.LOW, ClockCollector()),
            "load": lambda: seldom(Importance.LOW, load_collector(roots)),
            "frequency": lambda: seldom(Importance.LOW, frequency_collector(roots)),
            "agent": lambda: seldom(Importance.LOW, OwnCostCollector(roots, stats)),
            "collector_health": lambda: [Scheduled(HealthCollector(stats), _HEALTH_MS, Importance.LOW)],
        },
    )


@dataclass(frozen=True, slots=True)
class BackgroundSource:
    """Background collectors that are made together.

    `depends_on`: what they are made of, compared to find out whether they would become the same again.
    """

    depends_on: tuple[object, ...]
    make: Callable[[], list[InBackground]]

    def made(self, name: str) -> list[InBackground]:
        """The collectors; if they can't be made, one that says why."""
        return _each(InBackground, {name: self.make})


def background_sources(roots: Roots, settings: AgentSettings) -> dict[str, BackgroundSource]:
    """Everything with threads of its own that is configured; it says itself whether it is there."""
    attribution = Attribution(roots.proc, settings.attribution)
    owners = (roots, settings.attribution)
    slow_ms = settings.slow_interval_ms
    sources = {
        "containers": BackgroundSource(
            (*owners, slow_ms),
            lambda: [InBackground(ControlGroupCollector(roots, attribution.labels_of_cgroup, slow_ms))],
        ),
        "infiniband": BackgroundSource((roots, slow_ms), lambda: [InBackground(InfinibandCollector(roots, slow_ms))]),
        "hwmon": BackgroundSource((roots,), lambda: [InBackground(HwmonCollector(roots), Importance.LOW)]),
        **{f"scrape_{target.name}": _scrape_source(target) for target in settings.scrape},
    }
    if settings.perf.enabled != "off":
        sources["perf"] = BackgroundSource(
            (roots, settings.perf, settings.perf.interval_ms or slow_ms), lambda: _perf_collectors(roots, settings)
        )
    if settings.hook.enabled != "off":
        sources["training"] = BackgroundSource(
            (*owners, settings.hook), lambda: _training_collectors(settings, attribution)
        )
    if settings.nvml.enabled != "off":
        sources["nvml"] = BackgroundSource((*owners, settings.nvml), lambda: _nvml_collectors(settings, attribution))
    return sources


def background_collectors(roots: Roots, settings: AgentSettings) -> list[InBackground]:
    """Every collector with a thread of its own."""
    return [entry for name, source in background_sources(roots, settings).items() for entry in source.made(name)]


EntryT = TypeVar("EntryT", Scheduled, InBackground)


def _each(
    register: Callable[[UnmadeCollector], EntryT], makers: Mapping[str, Callable[[], list[EntryT]]]
) -> list[EntryT]:
    """What all makers make; in place of what one fails to make stands a collector that says why."""
    entries: list[EntryT] = []
    for name, make in makers.items():
        try:
            entries += make()
        except Exception as error:  # a fault in one collector must not end the others
            entries.append(register(UnmadeCollector(name, error)))
    return entries


def _perf_collectors(roots: Roots, settings: AgentSettings) -> list[InBackground]:
    # Child processes, which only agents that count have to hold.
    from pulsetrain.agents.collectors.perf.collector import perf_collector

    return [InBackground(perf_collector(settings.perf, roots, settings.slow_interval_ms))]


def _training_collectors(settings: AgentSettings, attribution: Attribution) -> list[InBackground]:
    return [InBackground(TrainingCollector(settings.hook, attribution.labels_of_pid), Importance.HIGH)]


def _nvml_collectors(settings: AgentSettings, attribution: Attribution) -> list[InBackground]:
    # A megabyte that nodes whose GPUs are not asked need not hold.
    from pulsetrain.agents.collectors.nvml.collectors import nvml_collectors

    fast, health = nvml_collectors(settings.nvml, attribution.labels_of_pid, attribution.labels_of_device)
    return [InBackground(fast, Importance.HIGH), InBackground(health)]


def _scrape_source(target: ScrapeTarget) -> BackgroundSource:
    def make() -> list[InBackground]:
        # An HTTP client, which only agents with a target have to hold.
        from pulsetrain.agents.collectors.scrape.collector import ScrapeCollector

        return [InBackground(ScrapeCollector(target))]

    return BackgroundSource((target,), make)
