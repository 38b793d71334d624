"""The collector as the agent sees it."""

import subprocess
import sys

import pytest

from pulsetrain.agents.collector_list import background_collectors
from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.scrape import ScrapeTarget
from pulsetrain.agents.collectors.scrape.collector import ScrapeCollector
from pulsetrain.agents.errors import CollectError
from pulsetrain.agents.settings import AgentSettings
from pulsetrain.schemas import catalogue
from tests.unit.agents.collectors.scrape.texts import NOW_NS, SECOND, TextSource, by_entity, collector, values

TARGET = ScrapeTarget(name="t", url="http://127.0.0.1:9400/metrics")


def test_a_target_that_is_down_fails_and_is_up_again_by_itself() -> None:
    scraped = collector("node_load1 1\n", CollectError("connection refused"), "node_load1 2\n")
    scraped.collect(NOW_NS)
    with pytest.raises(CollectError, match="connection refused"):
        scraped.collect(NOW_NS + SECOND)
    found = by_entity(scraped.collect(NOW_NS + 2 * SECOND))
    assert values(found["node_exporter:t"]) == {"system.cpu.load_average.1m": 2.0}


@pytest.mark.parametrize("text", ["", "# HELP a b\n", "<html><body>Log in</body></html>\n"])
def test_an_answer_without_a_sample_is_a_failure(text: str) -> None:
    with pytest.raises(CollectError, match="no sample that can be understood"):
        collector(text).collect(NOW_NS)


def test_series_that_vanish_are_no_longer_sent() -> None:
    scraped = collector("node_load1 1\nnode_load5 2\n", "node_load5 3\n")
    scraped.collect(NOW_NS)
    found = by_entity(scraped.collect(NOW_NS + SECOND))
    assert values(found["node_exporter:t"]) == {"system.cpu.load_average.5m": 3.0}


def test_everything_has_the_time_of_the_tick() -> None:
    collected = collector("node_load1 1 1700000000000\n").collect(NOW_NS)
    assert {observation.time_ns for observation in collected.observations} == {NOW_NS}


KEPT = """\
# TYPE queue_length gauge
queue_length{queue="a"} 5
# TYPE jobs_total counter
jobs_total{name="x"} 7
# TYPE latency_seconds histogram
latency_seconds_bucket{le="1"} 3
latency_seconds_bucket{le="+Inf"} 4
latency_seconds_sum 2.5
latency_seconds_count 4
# TYPE size_bytes summary
size_bytes{quantile="0.5"} 10
size_bytes_sum 100
size_bytes_count 9
untyped_total 3
other 1
"""


def test_kept_names_travel_as_they_are_counters_as_counters_and_no_buckets_or_quantiles() -> None:
    keep = ["queue_length", "jobs_total", "latency_seconds", "size_bytes", "untyped_total"]
    collected = collector(KEPT, keep=keep).collect(NOW_NS)
    assert values(by_entity(collected)["exporter:t"]) == {
        "exporter.gauge{exporter.label.queue=a,exporter.metric=queue_length}": 5.0,
        "exporter.counter{exporter.label.name=x,exporter.metric=jobs_total}": 7.0,
        "exporter.counter{exporter.metric=latency_seconds_sum}": 2.5,
        "exporter.counter{exporter.metric=latency_seconds_count}": 4.0,
        "exporter.counter{exporter.metric=size_bytes_sum}": 100.0,
        "exporter.counter{exporter.metric=size_bytes_count}": 9.0,
        "exporter.counter{exporter.metric=untyped_total}": 3.0,
    }


def test_openmetrics_names_of_counters_are_the_same_metric_and_times_of_creation_are_left_out() -> None:
    text = (
        "# TYPE node_vmstat_pgfault counter\nnode_vmstat_pgfault_total 5\nnode_vmstat_pgfault_created 1.5\n"
        "# TYPE jobs counter\njobs_total 7\njobs_created 1700000000.5\n# EOF\n"
    )
    found = by_entity(collector(text, keep=["jobs"], is_openmetrics=True).collect(NOW_NS))
    assert values(found["node_exporter:t"]) == {"system.paging.faults": 5.0}
    assert values(found["exporter:t"]) == {"exporter.counter{exporter.metric=jobs_total}": 7.0}


def test_an_openmetrics_text_that_is_cut_off_is_partial() -> None:
    found = by_entity(collector("node_load1 1\n", is_openmetrics=True).collect(NOW_NS))
    assert values(found["host"])["pulsetrain.agent.scrape.partial{agent.scrape.target=t}"] == 1.0
    assert values(found["node_exporter:t"]) == {"system.cpu.load_average.1m": 1.0}


def test_names_that_are_too_long_for_a_metric_are_left_out() -> None:
    text = f'kept{{x="{"y" * 600}"}} 1\nnode_load1 1\n'
    assert set(by_entity(collector(text, keep=["kept"]).collect(NOW_NS))) == {"node_exporter:t", "host"}


def test_what_the_collector_can_have_is_in_the_catalogue() -> None:
    assert all(catalogue.find(name) for name in collector("").metric_names)


def test_it_is_asked_on_its_own_interval_and_has_a_moment_more_than_the_scrape() -> None:
    target = ScrapeTarget(name="gpus", url="http://127.0.0.1:9400/metrics", interval_ms=5000, timeout_seconds=2.0)
    scraped = ScrapeCollector(target)
    assert (scraped.name, scraped.source) == ("scrape_gpus", "http://127.0.0.1:9400/metrics")
    assert (scraped.interval_ms, scraped.deadline_seconds) == (5000, 3.0)
    assert scraped.is_supported().supported


def test_without_the_parser_the_agent_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("prometheus_client", "pulsetrain.agents.collectors.scrape.line_parser"):
        monkeypatch.setitem(sys.modules, module, None)
    support = ScrapeCollector(TARGET, TextSource("")).is_supported()
    assert not support.supported
    assert "pulsetrain[agent]" in support.reason


def test_closing_closes_the_source() -> None:
    source = TextSource("")
    ScrapeCollector(TARGET, source).close()
    assert source.is_closed


def test_each_target_has_a_collector_of_its_own() -> None:
    targets = (TARGET, ScrapeTarget(name="u", url="http://127.0.0.1:9100/metrics"))
    names = [entry.collector.name for entry in background_collectors(Roots(), AgentSettings(node="n", scrape=targets))]
    assert [name for name in names if name.startswith("scrape_")] == ["scrape_t", "scrape_u"]


def test_of_gpus_and_containers_the_agents_own_collectors_come_first_by_name() -> None:
    target = ScrapeTarget(name="0", url="http://127.0.0.1:9400/metrics")
    names = [
        entry.collector.name for entry in background_collectors(Roots(), AgentSettings(node="n", scrape=(target,)))
    ]
    shared = {"containers", "nvml", "nvml_health", "scrape_0"}
    assert [name for name in sorted(names) if name in shared] == ["containers", "nvml", "nvml_health", "scrape_0"]


def test_an_agent_without_targets_loads_neither_parser_nor_http_client() -> None:
    script = """
import sys
import pulsetrain.agents.agent
from pulsetrain.agents.collector_list import background_collectors
from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.settings import AgentSettings
background_collectors(Roots(), AgentSettings(node="n"))
print([name for name in ("prometheus_client", "http.client") if name in sys.modules])
"""
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert loaded.stdout.strip() == "[]"
