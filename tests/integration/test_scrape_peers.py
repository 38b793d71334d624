"""Scrapes of real programs: Prometheus' node_exporter, and prometheus_client's own server."""

import math
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from pulsetrain.agents.collectors.base import Observation
from pulsetrain.agents.collectors.scrape import ScrapeTarget
from pulsetrain.agents.collectors.scrape.collector import ScrapeCollector
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas import catalogue
from tests.debian_programs import debian_program

NODE_EXPORTER = "prometheus-node-exporter"
START_SECONDS = 60.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def scraped(collector: ScrapeCollector) -> dict[str, Observation]:
    return {observation.entity: observation for observation in collector.collect(time.time_ns()).observations}


def values(observation: Observation) -> dict[str, float]:
    return dict(zip(observation.metrics, observation.values, strict=True))


@pytest.fixture(scope="module")
def node_exporter() -> Iterator[str]:
    """The address of a node_exporter of this machine."""
    program = debian_program(NODE_EXPORTER, package=NODE_EXPORTER)
    port = free_port()
    address = f"127.0.0.1:{port}"
    child = subprocess.Popen(
        [program, f"--web.listen-address={address}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield f"http://{address}/metrics"
    finally:
        child.terminate()
        child.wait(timeout=30)


def wait_for(collector: ScrapeCollector) -> dict[str, Observation]:
    """The first scrape that succeeds."""
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            return scraped(collector)
        except CollectError as error:
            if time.monotonic() > end:
                pytest.fail(f"{collector.source} did not answer within {START_SECONDS:g} s: {error}")
            time.sleep(0.1)


def test_node_exporter_says_of_this_machine_what_the_kernel_says(node_exporter: str) -> None:
    collector = ScrapeCollector(ScrapeTarget(name="node", url=node_exporter, timeout_seconds=60.0))
    assert collector.is_supported().supported
    wait_for(collector)
    found = scraped(collector)
    read = values(found["node_exporter:node"])
    meminfo = Path("/proc/meminfo").read_text()
    total_kib = int(meminfo.split("MemTotal:")[1].split()[0])
    assert read["system.memory.limit"] == total_kib * 1024
    assert math.isfinite(read["system.cpu.load_average.1m"])
    assert sum(read[f"system.cpu.time{{cpu.mode={mode}}}"] for mode in ("user", "system", "idle")) > 0
    assert len(read) > 60
    for metric, value in read.items():
        entry = catalogue.find(metric)
        assert entry is not None, metric
        assert math.isnan(value) or entry.valid_min <= value <= entry.valid_max, metric
    about = values(found["host"])
    assert about["pulsetrain.agent.scrape.partial{agent.scrape.target=node}"] == 0
    assert about["pulsetrain.agent.scrape.lines.bad{agent.scrape.target=node}"] == 0
    assert about["pulsetrain.agent.scrape.samples.duplicate{agent.scrape.target=node}"] == 0
    # Counters do not fall from one scrape to the next.
    later = values(scraped(collector)["node_exporter:node"])
    for metric in read:
        entry = catalogue.find(metric)
        if entry is not None and entry.kind == catalogue.MetricKind.COUNTER:
            assert later[metric] >= read[metric], metric


def test_prometheus_clients_server_is_read_in_openmetrics_and_compressed() -> None:
    registry = CollectorRegistry()
    Gauge("queue_length", "Waiting.", ["queue"], registry=registry).labels('a "b"\n').set(5)
    jobs = Counter("jobs", "Done.", registry=registry)
    latency = Histogram("latency_seconds", "Time.", registry=registry)
    server, thread = start_http_server(0, "127.0.0.1", registry)
    try:
        url = f"http://127.0.0.1:{server.server_port}/metrics"
        collector = ScrapeCollector(
            ScrapeTarget(name="app", url=url, timeout_seconds=60.0, keep=("queue_length", "jobs", "latency_seconds"))
        )
        jobs.inc(3)
        jobs.inc(4, exemplar={"trace_id": "abc"})
        latency.observe(0.25)
        latency.observe(2.0)
        for _ in range(2):
            assert values(scraped(collector)["exporter:app"]) == {
                'exporter.gauge{exporter.label.queue=a%20"b"%0A,exporter.metric=queue_length}': 5.0,
                "exporter.counter{exporter.metric=jobs_total}": 7.0,
                "exporter.counter{exporter.metric=latency_seconds_count}": 2.0,
                "exporter.counter{exporter.metric=latency_seconds_sum}": 2.25,
            }
    finally:
        server.shutdown()
        server.server_close()
        thread.join(30)
    with pytest.raises(CollectError):
        collector.collect(time.time_ns())
