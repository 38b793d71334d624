"""One module a source of raw samples; these are the lists of them."""

from typing import TYPE_CHECKING, Any

from pulsetrain.agents.collectors.base import Collector, Roots
from pulsetrain.agents.collectors.cpu import cpu_collector
from pulsetrain.agents.collectors.disk import disk_collector
from pulsetrain.agents.collectors.frequency import frequency_collector
from pulsetrain.agents.collectors.health import HealthCollector
from pulsetrain.agents.collectors.load import load_collector
from pulsetrain.agents.collectors.memory import memory_collector
from pulsetrain.agents.collectors.network import network_collector
from pulsetrain.agents.collectors.own_cost import OwnCostCollector
from pulsetrain.agents.collectors.paging import paging_collector
from pulsetrain.agents.collectors.pressure import pressure_collectors
from pulsetrain.agents.collectors.protocols import protocol_collectors
from pulsetrain.agents.collectors.scheduled import Importance, InBackground, Scheduled
from pulsetrain.agents.run_stats import RunStats

if TYPE_CHECKING:
    # Settings of collectors are defined beside them, so the agent's settings import this package.
    from pulsetrain.agents.settings import AgentSettings

_SLOW_MS = 1000
"""For what changes slowly or costs much to read."""

_HEALTH_MS = 10_000


def scheduled_collectors(roots: Roots, stats: RunStats) -> list[Scheduled]:
    """Every collector that is read at ticks, supported on this machine or not."""
    return [
        Scheduled(cpu_collector(roots)),
        *(Scheduled(collector) for collector in pressure_collectors(roots)),
        Scheduled(memory_collector(roots)),
        Scheduled(paging_collector(roots)),
        Scheduled(disk_collector(roots)),
        Scheduled(network_collector(roots)),
        *(Scheduled(collector) for collector in protocol_collectors(roots)),
        Scheduled(load_collector(roots), _SLOW_MS, Importance.LOW),
        Scheduled(frequency_collector(roots), _SLOW_MS, Importance.LOW),
        Scheduled(OwnCostCollector(roots, stats), _SLOW_MS, Importance.LOW),
        Scheduled(HealthCollector(stats), _HEALTH_MS, Importance.LOW),
    ]


def background_collectors(roots: Roots, settings: "AgentSettings") -> list[InBackground]:
    """Every collector with a thread of its own that is configured; it says itself whether its source is there."""
    return []


def all_collectors(roots: Roots, stats: RunStats) -> list[Collector[Any]]:
    """The collectors of `scheduled_collectors`."""
    return [entry.collector for entry in scheduled_collectors(roots, stats)]
