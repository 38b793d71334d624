"""One module a source of raw samples; this is the list of them."""

from typing import Any

from pulsetrain.agents.collectors.base import Collector, Roots
from pulsetrain.agents.collectors.cpu import cpu_collector
from pulsetrain.agents.collectors.disk import disk_collector
from pulsetrain.agents.collectors.frequency import frequency_collector
from pulsetrain.agents.collectors.load import load_collector
from pulsetrain.agents.collectors.memory import memory_collector
from pulsetrain.agents.collectors.network import network_collector
from pulsetrain.agents.collectors.own_cost import OwnCostCollector
from pulsetrain.agents.collectors.paging import paging_collector
from pulsetrain.agents.collectors.pressure import pressure_collectors
from pulsetrain.agents.collectors.protocols import protocol_collectors
from pulsetrain.agents.run_stats import RunStats


def all_collectors(roots: Roots, stats: RunStats) -> list[Collector[Any]]:
    """Every collector there is, supported on this machine or not."""
    return [
        cpu_collector(roots),
        load_collector(roots),
        frequency_collector(roots),
        *pressure_collectors(roots),
        memory_collector(roots),
        paging_collector(roots),
        disk_collector(roots),
        network_collector(roots),
        *protocol_collectors(roots),
        OwnCostCollector(roots, stats),
    ]
