"""What becomes of values that are none, old, repeated or parts of a sum."""

import math

import pytest

from tests.unit.agents.collectors.scrape.texts import NOW_NS, SECOND, about_scrape, by_entity, collector, values

UUID = "GPU-20c56d28-0da5-6d26-a36a-e7af1ce2586e"
GPU = f"gpu:{UUID}"
UTILIZATION = "hw.gpu.utilization{hw.gpu.task=general}"
POD_PATH = "/kubepods.slice/kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice"
CONTAINER_PATH = f"{POD_PATH}/cri-containerd-{'ab' * 32}.scope"
CONTAINER = "container:" + "ab" * 6


def dcgm(name: str, value: object, extra: str = "") -> str:
    return f'{name}{{gpu="0",UUID="{UUID}"{extra}}} {value}\n'


@pytest.mark.parametrize(
    ("name", "value", "metric"),
    [
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "9223372036854775794", "hw.energy{hw.type=gpu}"),
        ("DCGM_FI_PROF_SM_ACTIVE", "140737488355328", "hw.gpu.sm.activity"),
        ("DCGM_FI_PROF_SM_ACTIVE", "140737488355331.000000", "hw.gpu.sm.activity"),
        ("DCGM_FI_DEV_MEMORY_TEMP", "2147483634", "hw.temperature{hw.sensor_location=memory,hw.type=gpu}"),
        ("DCGM_FI_DEV_GPU_UTIL", "2147483632", UTILIZATION),
        ("DCGM_FI_DEV_FB_USED", "9.223372036854776e+18", "hw.gpu.memory.usage{hw.gpu.memory.state=used}"),
    ],
)
def test_a_number_that_stands_for_no_value_is_missing_with_the_reason(name: str, value: str, metric: str) -> None:
    gpu = by_entity(collector(dcgm(name, value)).collect(NOW_NS))[GPU]
    assert math.isnan(values(gpu)[metric])
    assert gpu.missing == {metric: "DCGM has no value: blank, not found, not supported or no permission"}


def test_a_kept_name_of_dcgm_has_the_same_numbers_for_no_value() -> None:
    name = "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"
    scraped = collector(f"# TYPE {name} counter\n{dcgm(name, 9223372036854775794)}", keep=[name])
    gpu = by_entity(scraped.collect(NOW_NS))[GPU]
    assert all(math.isnan(value) for value in gpu.values)
    assert gpu.metrics == (f"exporter.counter{{exporter.metric={name}}}",)


def test_a_zero_and_a_value_beside_the_sentinels_are_values() -> None:
    text = dcgm("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", 0) + dcgm("DCGM_FI_DEV_FB_USED", 2_147_483_631)
    gpu = by_entity(collector(text).collect(NOW_NS))[GPU]
    assert list(gpu.values) == [0.0, 2_147_483_631 * 1024.0 * 1024.0]
    assert gpu.missing == {}


def test_numbers_like_sentinels_are_values_where_they_are_not_dcgms() -> None:
    found = by_entity(collector("node_memory_MemTotal_bytes 140737488355328\n").collect(NOW_NS))
    assert values(found["node_exporter:t"]) == {"system.memory.limit": 2.0**47}


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "1e400"])
def test_what_is_not_finite_is_missing(value: str) -> None:
    gpu = by_entity(collector(dcgm("DCGM_FI_DEV_POWER_USAGE", value)).collect(NOW_NS))[GPU]
    assert math.isnan(gpu.values[0])
    assert gpu.missing == {"hw.power{hw.type=gpu}": "the exporter's value is not finite"}


def usage(value: float, seconds_ago: float | None, path: str = CONTAINER_PATH, cpu: str = "total") -> str:
    time = "" if seconds_ago is None else f" {round((NOW_NS / SECOND - seconds_ago) * 1000)}"
    return f'container_cpu_usage_seconds_total{{id="{path}",cpu="{cpu}"}} {value}{time}\n'


def test_a_value_older_than_five_minutes_is_missing_and_one_younger_is_not() -> None:
    old = by_entity(collector(usage(5, 301)).collect(NOW_NS))[CONTAINER]
    assert math.isnan(old.values[0])
    assert old.missing == {"container.cpu.time": "the exporter's value is older than 300 s"}
    assert list(by_entity(collector(usage(5, 299)).collect(NOW_NS))[CONTAINER].values) == [5.0]


def test_a_value_that_the_exporter_has_not_read_anew_is_missing_instead_of_a_standstill() -> None:
    scraped = collector(usage(5, 9), usage(5, 9), usage(8, 1))
    read = [by_entity(scraped.collect(NOW_NS + step * SECOND))[CONTAINER] for step in range(3)]
    assert [observation.values[0] for observation in read] == pytest.approx([5.0, math.nan, 8.0], nan_ok=True)
    assert read[1].missing == {"container.cpu.time": "the exporter has not read anew since the previous scrape"}


def test_a_value_without_a_time_of_its_own_may_stand_still() -> None:
    scraped = collector(usage(5, None))
    assert [by_entity(scraped.collect(NOW_NS + step * SECOND))[CONTAINER].values[0] for step in range(3)] == [5, 5, 5]


def test_parts_are_summed_and_a_sum_that_lost_a_part_is_missing_once() -> None:
    whole = usage(5, None, cpu="cpu00") + usage(7, None, cpu="cpu01")
    torn = usage(5, None, cpu="cpu00") + "container_cpu_usage_seconds_total{ 7\n"
    scraped = collector(whole, torn, whole)
    read = [by_entity(scraped.collect(NOW_NS + step * SECOND))[CONTAINER] for step in range(3)]
    assert [observation.values[0] for observation in read] == pytest.approx([12.0, math.nan, 12.0], nan_ok=True)
    assert read[1].missing == {"container.cpu.time": "a part of the sum is missing"}


def test_a_sum_of_fewer_parts_is_believed_the_second_time() -> None:
    both, one = usage(5, None, cpu="cpu00") + usage(7, None, cpu="cpu01"), usage(6, None, cpu="cpu00")
    scraped = collector(both, one)
    read = [by_entity(scraped.collect(NOW_NS + step * SECOND))[CONTAINER].values[0] for step in range(3)]
    assert read == pytest.approx([12.0, math.nan, 6.0], nan_ok=True)


def test_two_kinds_of_nvlink_checksum_errors_are_one_metric() -> None:
    text = dcgm("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", 2) + dcgm(
        "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", 3
    )
    gpu = by_entity(collector(text).collect(NOW_NS))[GPU]
    assert values(gpu) == {"hw.errors{error.type=nvlink_crc,hw.type=gpu}": 5.0}


def test_a_shared_gpu_that_comes_once_a_pod_counts_once() -> None:
    text = dcgm("DCGM_FI_DEV_GPU_UTIL", 50, ',pod="a"') + dcgm("DCGM_FI_DEV_GPU_UTIL", 50, ',pod="b"')
    collected = collector(text).collect(NOW_NS)
    assert values(by_entity(collected)[GPU]) == {UTILIZATION: 0.5}
    assert about_scrape(collected)["samples.duplicate"] == 1


def test_bad_lines_are_counted_over_all_scrapes_and_the_scrape_is_partial() -> None:
    good = "node_load1 1\nnode_load5 2\n"
    scraped = collector(good, "node_load1 1\nnode_load15 N/A\nnode_load5 2\n", "node_load1 N/A\nnode_load5 2\n", good)
    said = [about_scrape(scraped.collect(NOW_NS + step * SECOND)) for step in range(4)]
    assert [(one["lines.bad"], one["partial"], one["samples"]) for one in said] == [
        (0, 0, 2), (1, 1, 2), (2, 1, 1), (2, 0, 2)
    ]  # fmt: skip


def test_unnamed_series_are_left_out_and_counted() -> None:
    collected = collector("node_load1 1\nsomething_else 5\n").collect(NOW_NS)
    assert values(by_entity(collected)["node_exporter:t"]) == {"system.cpu.load_average.1m": 1.0}
    assert about_scrape(collected)["samples.unmapped"] == 1


def test_labels_of_the_target_are_added_to_what_is_scraped() -> None:
    found = by_entity(collector(dcgm("DCGM_FI_DEV_GPU_UTIL", 1), rack="r7").collect(NOW_NS))
    assert found[GPU].labels == {"hw.gpu.index": "0", "rack": "r7"}
    assert found["host"].labels == {}
