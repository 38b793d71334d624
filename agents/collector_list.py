"""Which collectors there are, and how each is read."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pulsetrain.agents.attribution.attribution import Attribution
from pulsetrain.agents.collectors.base import Collector, Roots
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
from pulsetrain.agents.collectors.softnet import softnet_collector
from pulsetrain.agents.collectors.thermal_throttle import ThermalThrottleCollector
from pulsetrain.agents.collectors.training.collector import TrainingCollector
from pulsetrain.agents.collectors.unmade import UnmadeCollector
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.settings import AgentSettings

_SLOW_MS = 1000
"""For what changes slowly or costs much to read."""

_HEALTH_MS = 10_000


def scheduled_collectors(roots: Roots, stats: RunStats) -> list[Scheduled]:
    """Every collector that is read at ticks, supported on this machine or not."""

    def at_ticks(*collectors: Collector[Any]) -> list[Scheduled]:
        return [Scheduled(collector) for collector in collectors]

    def seldom(importance: Importance, *collectors: Collector[Any]) -> list[Scheduled]:
        return [Scheduled(collector, _SLOW_MS, importance) for collector in collectors]

    return _each(
        Scheduled,
        {
            "cpu": lambda: at_ticks(cpu_collector(roots)),
            "pressure": lambda: at_ticks(*pressure_collectors(roots)),
            "memory": lambda: at_ticks(memory_collector(roots)),
            "paging": lambda: at_ticks(paging_collector(roots)),
            "disk": lambda: at_ticks(disk_collector(roots)),
            "network": lambda: at_ticks(network_collector(roots)),
            # The kernel adds these up over all CPUs at each reading.
            "protocols": lambda: seldom(Importance.NORMAL, *protocol_collectors(roots)),
            "rapl": lambda: [Scheduled(RaplCollector(roots), importance=Importance.NORMAL)],
            "softnet": lambda: seldom(Importance.NORMAL, softnet_collector(roots)),
            "numa": lambda: seldom(Importance.NORMAL, *numa_collectors(roots)),
            "thermal_throttle": lambda: seldom(Importance.LOW, ThermalThrottleCollector(roots)),
            "clock": lambda: seldom(Importance.LOW, ClockCollector()),
            "load": lambda: seldom(Importance.LOW, load_collector(roots)),
            "frequency": lambda: seldom(Importance.LOW, frequency_collector(roots)),
            "agent": lambda: seldom(Importance.LOW, OwnCostCollector(roots, stats)),
            "collector_health": lambda: [Scheduled(HealthCollector(stats), _HEALTH_MS, Importance.LOW)],
        },
    )


def background_collectors(roots: Roots, settings: AgentSettings) -> list[InBackground]:
    """Every collector with a thread of its own that is configured; it says itself whether its source is there."""
    attribution = Attribution(roots.proc, settings.attribution)
    return _each(
        InBackground,
        {
            "containers": lambda: [InBackground(ControlGroupCollector(roots, attribution.labels_of_cgroup))],
            "infiniband": lambda: [InBackground(InfinibandCollector(roots))],
            "cpuidle": lambda: [InBackground(IdleStateCollector(roots), Importance.LOW)],
            "hwmon": lambda: [InBackground(HwmonCollector(roots), Importance.LOW)],
            "scrape": lambda: _scrape_collectors(settings),
            "perf": lambda: _perf_collectors(roots, settings),
            "training": lambda: _training_collectors(settings, attribution.labels_of_pid),
            "nvml": lambda: _nvml_collectors(settings, attribution),
        },
    )


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
    if settings.perf.enabled == "off":
        return []
    # Child processes, which only agents that count have to hold.
    from pulsetrain.agents.collectors.perf.collector import perf_collector

    return [InBackground(perf_collector(settings.perf, roots))]


def _training_collectors(
    settings: AgentSettings, labels_of_pid: Callable[[int], Mapping[str, str]]
) -> list[InBackground]:
    if settings.hook.enabled == "off":
        return []
    return [InBackground(TrainingCollector(settings.hook, labels_of_pid), Importance.HIGH)]


def _nvml_collectors(settings: AgentSettings, attribution: Attribution) -> list[InBackground]:
    if settings.nvml.enabled == "off":
        return []
    # A megabyte that nodes whose GPUs are not asked need not hold.
    from pulsetrain.agents.collectors.nvml.collectors import nvml_collectors

    fast, health = nvml_collectors(settings.nvml, attribution.labels_of_pid, attribution.labels_of_device)
    return [InBackground(fast, Importance.HIGH), InBackground(health)]


def _scrape_collectors(settings: AgentSettings) -> list[InBackground]:
    if not settings.scrape:
        return []
    # An HTTP client, which only agents with a target have to hold.
    from pulsetrain.agents.collectors.scrape.collector import ScrapeCollector

    return [InBackground(ScrapeCollector(target)) for target in settings.scrape]
