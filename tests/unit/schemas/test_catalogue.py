"""The metric catalogue: names, units, ranges, and what DCGM's names and sentinels become."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.schemas.catalogue import METRICS, MetricKind, canonical_name, find, metric_id, metric_name
from pulsetrain.schemas.sentinels import sentinel_mask

TEXT = st.text(max_size=12)


def test_an_id_is_the_name_and_its_attributes_in_alphabetical_order() -> None:
    assert metric_id("system.cpu.utilization") == "system.cpu.utilization"
    attributes = {"system.device": "sda", "disk.io.direction": "read"}
    assert metric_id("system.disk.io", **attributes) == "system.disk.io{disk.io.direction=read,system.device=sda}"


def test_characters_of_the_syntax_are_percent_encoded() -> None:
    assert metric_id("a{b", **{"k=1": "x,y}", "z": "50%"}) == "a%7Bb{k%3D1=x%2Cy%7D,z=50%25}"


@given(TEXT, st.dictionaries(TEXT, TEXT, max_size=3), TEXT, st.dictionaries(TEXT, TEXT, max_size=3))
def test_different_metrics_have_different_ids(
    name: str, attributes: dict[str, str], other: str, others: dict[str, str]
) -> None:
    same = (name, attributes) == (other, others)
    assert (metric_id(name, **attributes) == metric_id(other, **others)) == same


@given(TEXT, st.dictionaries(TEXT, TEXT, max_size=3))
def test_the_name_is_found_in_every_id(name: str, attributes: dict[str, str]) -> None:
    assert metric_name(metric_id(name, **attributes)) == metric_id(name)


def test_metrics_are_found_whatever_their_attributes() -> None:
    metric = find("system.disk.io{disk.io.direction=read,system.device=sda}")
    assert metric is not None
    assert (metric.name, metric.unit, metric.kind) == ("system.disk.io", "By", MetricKind.COUNTER)
    assert find("system.disk.ioo") is None
    assert find("") is None


def test_every_name_stands_once_in_the_catalogue_and_every_range_holds_something() -> None:
    names = [metric.name for metric in METRICS]
    assert len(names) == len(set(names))
    for metric in METRICS:
        assert metric.valid_min < metric.valid_max
        assert metric.unit
        assert metric.description.endswith(".")
        assert metric_id(metric.name) == metric.name


@pytest.mark.parametrize(
    ("source", "value", "metric", "canonical"),
    [
        ("DCGM_FI_DEV_GPU_UTIL", 37, "hw.gpu.utilization{hw.gpu.task=general}", 0.37),
        ("DCGM_FI_DEV_FB_USED", 15109, "hw.gpu.memory.usage{hw.gpu.memory.state=used}", 15_842_934_784),
        ("DCGM_FI_DEV_SM_CLOCK", 300, "hw.gpu.clock.frequency{hw.gpu.clock.domain=sm}", 3e8),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 128_996_013, "hw.energy{hw.type=gpu}", 128_996.013),
        ("DCGM_FI_DEV_POWER_USAGE", 8.969, "hw.power{hw.type=gpu}", 8.969),
        ("DCGM_FI_PROF_SM_ACTIVE", 0.5, "hw.gpu.sm.activity", 0.5),
    ],
)
def test_a_dcgm_name_has_a_canonical_name_and_unit(source: str, value: float, metric: str, canonical: float) -> None:
    name = canonical_name(source)
    assert name is not None
    assert name.metric == metric
    assert value * name.scale == pytest.approx(canonical)
    assert find(name.metric) is not None


def test_a_name_that_is_not_in_the_table_has_no_canonical_name() -> None:
    assert canonical_name("DCGM_FI_DEV_VGPU_LICENSE_STATUS") is None


@pytest.mark.parametrize("percent", [4294967295.0, 1543.0, -1.0, 100.5])
def test_a_percentage_outside_0_to_100_is_outside_the_valid_range(percent: float) -> None:
    name = canonical_name("DCGM_FI_DEV_GPU_UTIL")
    assert name is not None
    metric = find(name.metric)
    assert metric is not None
    assert not metric.valid_min <= percent * name.scale <= metric.valid_max


def test_every_sentinel_of_dcgm_is_recognised_as_the_double_it_arrives_as() -> None:
    int64 = [float(0x7FFFFFFFFFFFFFF0 + n) for n in range(4)]
    int32 = [float(0x7FFFFFF0 + n) for n in range(4)]
    double = [140737488355328.0 + n for n in range(4)]
    assert sentinel_mask(np.array(int64 + int32 + double)).all()
    # As they were seen: DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL, DCGM_FI_PROF_SM_ACTIVE and an int32 field.
    assert sentinel_mask(np.array([float("9223372036854775794"), 140737488355328.0, 2147483634.0])).all()


def test_numbers_beside_the_sentinels_are_values() -> None:
    values = [0.0, -1.0, 100.0, 2147483631.0, 2147483636.0, 140737488355327.0, 140737488355332.0, 9.2e18, np.nan]
    assert not sentinel_mask(np.array(values)).any()


def test_a_sentinel_is_recognised_before_scaling_and_no_longer_after_it() -> None:
    # A share of 0..1 shown as a percentage: 140737488355328 x 100 = 1.407e16.
    raw = np.array([[140737488355328.0, 0.5]])
    assert sentinel_mask(raw).tolist() == [[True, False]]
    assert not sentinel_mask(raw * 100).any()


def test_a_zero_from_an_older_dcgm_stays_a_value() -> None:
    assert not sentinel_mask(np.zeros(3)).any()
