"""The runner's notes as metrics."""

import math

import pytest

from pulsetrain.agents.collectors.health import HealthCollector
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.schemas.catalogue import metric_id


def test_every_collector_that_is_known_has_its_slowest_answer_its_failures_and_its_state() -> None:
    stats = RunStats()
    stats.health("cpu").took(0.002)
    stats.health("cpu").took(0.001)
    stats.health("cpu").succeeded()
    for _ in range(3):
        stats.health("nvml").failed()
    collector = HealthCollector(stats)
    assert collector.is_supported().supported

    def values() -> dict[str, float]:
        return dict(zip(collector.metrics(), collector.decode([collector.read()])[0], strict=True))

    def name(what: str, of: str) -> str:
        return metric_id(f"pulsetrain.agent.collector.{what}", **{"agent.collector": of})

    first = values()
    assert first[name("duration", "cpu")] == pytest.approx(0.002)
    assert (first[name("failures", "cpu")], first[name("up", "cpu")]) == (0.0, 1.0)
    assert math.isnan(first[name("duration", "nvml")])
    assert (first[name("failures", "nvml")], first[name("up", "nvml")]) == (3.0, 0.0)
    assert math.isnan(values()[name("duration", "cpu")])
    assert name("up", "collector_health") in first


def test_a_source_that_is_not_there_is_neither_up_nor_down() -> None:
    stats = RunStats()
    stats.health("infiniband")
    collector = HealthCollector(stats)
    collector.is_supported()
    duration, failures, up = collector.decode([collector.read()])[0][:3]
    assert math.isnan(duration)
    assert failures == 0.0
    assert math.isnan(up)
