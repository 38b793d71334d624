"""Expositions of real exporters, the whole way; the right values were worked out by hand from the texts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.schemas import catalogue
from pulsetrain.schemas.catalogue.exporters import SOURCE_NAMES
from pulsetrain.schemas.sample_block import SampleBlock, decode_sample_block, encode_sample_block
from tests.unit.agents.collectors.scrape.texts import (
    NOW_NS,
    RECORDED,
    SECOND,
    about_scrape,
    by_entity,
    collector,
    values,
)

CADVISOR_NS = 1_395_066_363 * SECOND
"""The time that stands in the text."""

NAMES = ("dcgm_exporter_t4", "cadvisor", "triton_t4", "node_exporter")


def recorded(name: str) -> bytes:
    return (RECORDED / f"{name}.prom").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_every_scraped_metric_is_in_the_catalogue_and_within_its_range(name: str) -> None:
    observations = collector(recorded(name)).collect(CADVISOR_NS).observations
    assert len(observations) >= 2
    for observation in observations:
        assert len(set(observation.metrics)) == len(observation.metrics)
        for metric, value in values(observation).items():
            entry = catalogue.find(metric)
            assert entry is not None, metric
            assert entry.valid_min <= value <= entry.valid_max, metric


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_a_real_text_is_bad_or_comes_twice(name: str) -> None:
    said = about_scrape(collector(recorded(name)).collect(CADVISOR_NS))
    samples = sum(bool(line) and not line.startswith(b"#") for line in recorded(name).split(b"\n"))
    assert said["samples"] + said["samples.unmapped"] == samples
    assert (said["partial"], said["lines.bad"], said["samples.duplicate"], said["samples.over_limit"]) == (0, 0, 0, 0)


@pytest.mark.parametrize("name", NAMES)
def test_a_second_scrape_that_remembers_the_first_says_the_same(name: str) -> None:
    # Times of the exporter itself would tell that nothing is new.
    text = b"\n".join(line.removesuffix(b" 1395066363000") for line in recorded(name).split(b"\n"))
    scraped = collector(text)
    first, second = scraped.collect(NOW_NS), scraped.collect(NOW_NS + SECOND)
    assert [(one.entity, one.metrics, one.values) for one in first.observations] == [
        (one.entity, one.metrics, one.values) for one in second.observations
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_observation_fits_a_block_that_a_reader_takes(name: str) -> None:
    for observation in (
        collector(recorded(name), keep=("nv_inference_request_summary_us",)).collect(NOW_NS).observations
    ):
        block = SampleBlock(
            node="n",
            session="s",
            boot_id="",
            collector="scrape_t",
            entity=f"n/{observation.entity}",
            sequence=0,
            sent_until_ns=None,
            interval_ns=15 * SECOND,
            ticks_ns=np.array([observation.time_ns]),
            metrics=observation.metrics,
            values=np.array([observation.values]),
            labels=observation.labels,
            missing=observation.missing,
        )
        decoded = decode_sample_block(encode_sample_block(block))
        assert decoded.metrics == observation.metrics
        assert np.array_equal(decoded.values[0], np.array(observation.values), equal_nan=True)


LINES = [line for name in NAMES for line in recorded(name).split(b"\n") if line and not line.startswith(b"#")]


@given(
    st.lists(st.sampled_from(LINES), min_size=1, max_size=20),
    st.lists(st.tuples(st.sampled_from(LINES), st.integers(0, 300), st.binary(max_size=3)), max_size=10),
    st.booleans(),
)
def test_torn_lines_of_real_texts_cost_nothing_but_themselves(
    whole: list[bytes], torn: list[tuple[bytes, int, bytes]], is_openmetrics: bool
) -> None:
    broken = [line[:place] + bytes_there + line[place + 1 :] for line, place, bytes_there in torn]
    lines = [*whole, *(line.replace(b"\n", b"") for line in broken)]
    scraped = collector(b"\n".join(lines), is_openmetrics=is_openmetrics)
    alone = by_entity(collector(b"\n".join(whole), is_openmetrics=is_openmetrics).collect(NOW_NS))
    found = by_entity(scraped.collect(NOW_NS))
    said = about_scrape(scraped.collect(NOW_NS + SECOND))
    assert said["samples"] + said["samples.unmapped"] <= len(lines)
    for entity, observation in alone.items():
        if entity == "host":
            continue
        for metric, value in values(observation).items():
            # A torn line may add to a sum, or, with another time, make it old.
            if math.isfinite(value) and not is_part_of_sum(metric):
                assert values(found[entity])[metric] == value


def is_part_of_sum(metric: str) -> bool:
    name = catalogue.metric_name(metric)
    return any(mapped.is_sum and mapped.name == name for names in SOURCE_NAMES.values() for mapped in names)


def test_dcgm_exporter_tells_of_a_gpu_by_its_uuid() -> None:
    found = by_entity(collector(recorded("dcgm_exporter_t4")).collect(NOW_NS))
    assert set(found) == {
        "gpu:GPU-20c56d28-0da5-6d26-a36a-e7af1ce2586e",
        "gpu:GPU-9ef1b6d0-3643-5dd7-b823-c0ec20dcf2d5",
        "host",
    }
    gpu = found["gpu:GPU-20c56d28-0da5-6d26-a36a-e7af1ce2586e"]
    assert gpu.labels == {"hw.model": "Tesla T4", "hw.gpu.index": "0"}
    assert values(gpu) == pytest.approx(
        {
            "hw.gpu.clock.frequency{hw.gpu.clock.domain=sm}": 300e6,
            "hw.gpu.clock.frequency{hw.gpu.clock.domain=memory}": 405e6,
            "hw.temperature{hw.type=gpu}": 25.0,
            "hw.power{hw.type=gpu}": 8.969,
            "hw.energy{hw.type=gpu}": 128_996.013,  # 128996013 mJ
            "hw.errors{error.type=pcie_replay,hw.type=gpu}": 0.0,
            "hw.gpu.utilization{hw.gpu.task=general}": 0.0,
            "hw.gpu.memory.controller.utilization": 0.0,
            "hw.gpu.utilization{hw.gpu.task=encoder}": 0.0,
            "hw.gpu.utilization{hw.gpu.task=decoder}": 0.0,
            "hw.gpu.memory.usage{hw.gpu.memory.state=free}": 15_842_934_784,  # 15109 MiB
            "hw.gpu.memory.usage{hw.gpu.memory.state=used}": 0.0,
        }
    )
    other = values(found["gpu:GPU-9ef1b6d0-3643-5dd7-b823-c0ec20dcf2d5"])
    assert other["hw.temperature.limit{hw.limit_type=high.degraded,hw.type=gpu}"] == 93.0
    assert other["hw.gpu.memory.limit"] == 15_842_934_784


def test_cadvisor_tells_of_a_container_and_its_parts_are_summed() -> None:
    found = by_entity(collector(recorded("cadvisor")).collect(CADVISOR_NS))
    assert set(found) == {"container:testcontaine", "host"}
    container = found["container:testcontaine"]
    assert container.labels == {"image": "test", "name": "testcontaineralias"}
    read = values(container)
    assert read["container.cpu.time"] == pytest.approx(2e-9 + 3e-9 + 4e-9 + 5e-9)
    assert read["container.cpu.time{cpu.mode=user}"] == pytest.approx(6e-9)
    assert read["container.cpu.throttled.time"] == pytest.approx(1.724314)
    assert (read["container.cpu.throttled.periods"], read["container.cpu.periods"]) == (18, 723)
    assert (read["container.memory.usage"], read["container.memory.working_set"]) == (8, 9)
    # Of the container itself (scope), not of what lies below it.
    assert read["container.memory.paging.faults"] == 10
    assert read["container.memory.paging.faults{system.paging.fault.type=major}"] == 11
    assert read["container.filesystem.usage"] == 23 + 38
    assert read["container.disk.operations{disk.io.direction=read}"] == 24 + 39
    assert read["container.network.io{network.io.direction=receive}"] == 14
    assert read["container.network.packets.dropped{network.io.direction=transmit}"] == 21
    assert read["container.pressure.stall_time{linux.pressure.resource=io,linux.pressure.stall=some}"] == 0.0022


def test_triton_tells_of_models_of_a_gpu_and_of_itself() -> None:
    found = by_entity(collector(recorded("triton_t4")).collect(NOW_NS))
    assert len([entity for entity in found if entity.startswith("model:")]) == 8
    model = found["model:densenet_onnx:1"]
    assert model.labels == {"model": "densenet_onnx", "model_version": "1"}
    read = values(model)
    assert read["inference.requests{inference.outcome=success}"] == 3
    assert read["inference.request.time"] == pytest.approx(1.327965)  # 1327965 us
    assert read["inference.queue.time"] == pytest.approx(145e-6)
    assert read["inference.compute.time{inference.phase=infer}"] == pytest.approx(1.326831)
    gpu = values(found["gpu:GPU-951eeeeb-d284-d263-688e-d98a5306389b"])
    assert gpu["hw.gpu.memory.usage{hw.gpu.memory.state=used}"] == 266_338_304
    assert (gpu["hw.power{hw.type=gpu}"], gpu["hw.power.limit{hw.type=gpu}"]) == (32.09, 70)
    assert values(found["triton:t"])["system.memory.limit"] == 33_164_935_168


def test_node_exporter_tells_of_its_machine_apart_from_the_agents_own_host() -> None:
    found = by_entity(collector(recorded("node_exporter")).collect(NOW_NS))
    assert set(found) == {"node_exporter:t", "host"}
    read = values(found["node_exporter:t"])
    idle = (10870.69, 11107.87, 11123.21, 11132.3, 11403.21, 11362.7, 11397.21, 11392.82)
    assert read["system.cpu.time{cpu.mode=idle}"] == pytest.approx(sum(idle))
    assert read["system.cpu.load_average.1m"] == 0.21
    assert read["system.memory.limit"] == 3_831_959_552
    # The disk itself, neither its partitions nor what device-mapper puts on top.
    assert read["system.disk.io{disk.io.direction=read,system.device=sda}"] == 513_713_216_512
    devices = {metric.rpartition("system.device=")[2] for metric in read if metric.startswith("system.disk.io_time")}
    assert devices == {"mmcblk0}", "nvme0n1}", "sda}", "sdb}", "sdc}", "vda}"}
    # 1e6 sectors and so on are the exporter's; pages come in KiB.
    assert read["system.linux.paging.io{disk.io.direction=read}"] == 7_344_136 * 1024
    assert read["system.network.tcp.retransmits"] == 227
    assert read["hw.energy{hw.id=0,hw.name=package,hw.type=cpu}"] == 240_422.366267
    assert read["hw.network.io{hw.type=network,network.io.direction=receive}"] == 18_527_668
    assert read["system.linux.network.softnet.events{linux.softnet.event=squeezed}"] == 0 + 10 + 85 + 51


def test_an_exposition_of_ten_years_ago_is_stale_and_all_of_it_missing() -> None:
    found = by_entity(collector(recorded("cadvisor")).collect(NOW_NS))
    container = found["container:testcontaine"]
    assert all(math.isnan(value) for value in container.values)
    assert set(container.missing.values()) == {"the exporter's value is older than 300 s"}
