"""The list of background collectors, whatever this machine has."""

from pathlib import Path

from pulsetrain.agents.collector_list import background_collectors
from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.settings import AgentSettings
from pulsetrain.schemas import catalogue


def test_every_background_collector_has_a_name_of_its_own_and_metrics_of_the_catalogue(tmp_path: Path) -> None:
    collectors = [entry.collector for entry in background_collectors(Roots(tmp_path, tmp_path), AgentSettings())]
    names = [collector.name for collector in collectors]
    assert len(names) == len(set(names))
    assert {"containers", "infiniband", "hwmon"} <= set(names)
    for collector in collectors:
        assert collector.interval_ms > 0
        assert collector.deadline_seconds > 0
        assert collector.source
        for metric in collector.metric_names:
            assert catalogue.find(metric) is not None, metric


def test_what_reads_the_kernels_files_is_not_supported_where_there_are_none(tmp_path: Path) -> None:
    for entry in background_collectors(Roots(tmp_path, tmp_path), AgentSettings()):
        if entry.collector.name in {"containers", "infiniband", "hwmon"}:
            support = entry.collector.is_supported()
            assert not support.supported
            assert str(tmp_path) in support.reason
            entry.collector.close()
