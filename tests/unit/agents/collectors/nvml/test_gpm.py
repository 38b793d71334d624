"""Performance counters between two samples, which are given back."""

import math

import pynvml
import pytest

from tests.unit.agents.collectors.nvml.fake_pynvml import NOT_SUPPORTED, UNKNOWN, Fail, FakeGpu, FakePynvml
from tests.unit.agents.collectors.nvml.reading_of import everything_slow, first, reader_of

_SM, _TENSOR = "hw.gpu.sm.activity", "hw.gpu.tensor.activity"
_RATE = "hw.gpu.io.rate{hw.gpu.link=nvlink,network.io.direction=receive}"
_PCIE = "hw.gpu.io.rate{hw.gpu.link=pcie,network.io.direction=transmit}"


def _hopper() -> FakeGpu:
    gpu = FakeGpu("GPU-a")
    gpu.has_gpm = True
    return gpu


def test_the_first_reading_has_nothing_to_compare_with() -> None:
    reading = first(reader_of(FakePynvml(_hopper())).read())

    assert math.isnan(reading.values[_SM])
    assert reading.missing[_SM] == "first_reading"


def test_percent_become_shares_and_mebibytes_bytes() -> None:
    gpu = _hopper()
    gpu.gpm = lambda metric: {
        pynvml.NVML_GPM_METRIC_SM_UTIL: 87.5,
        pynvml.NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC: 3.0,
    }.get(metric, 0.0)
    reader = reader_of(FakePynvml(gpu))
    reader.read()

    values = first(reader.read()).values

    assert values[_SM] == pytest.approx(0.875)
    assert values[_RATE] == 3 * 1024 * 1024


def test_a_counter_that_fails_costs_only_itself() -> None:
    gpu = _hopper()
    gpu.gpm = lambda metric: Fail(NOT_SUPPORTED) if metric == pynvml.NVML_GPM_METRIC_ANY_TENSOR_UTIL else 50.0
    reader = reader_of(FakePynvml(gpu))
    reader.read()

    reading = first(reader.read())

    assert reading.missing[_TENSOR] == "not_supported"
    assert reading.values[_SM] == 0.5


def test_two_samples_are_kept_however_long_and_both_are_freed() -> None:
    module = FakePynvml(_hopper())
    reader = reader_of(module)
    for _ in range(20):
        reader.read()
        assert len(module.open_samples) == 2

    reader.close()

    assert module.open_samples == set()


def test_a_device_without_counters_opens_no_sample() -> None:
    module = FakePynvml(FakeGpu("GPU-a"))

    reading = first(reader_of(module).read())

    assert reading.missing[_SM] == "not_supported"
    assert module.open_samples == set()


def test_after_a_failed_sample_the_next_is_not_compared_with_an_old_one() -> None:
    gpu = _hopper()
    module = FakePynvml(gpu)
    reader = reader_of(module)
    reader.read()
    sample_get = module.nvmlGpmSampleGet
    reader._nvml.__dict__["nvmlGpmSampleGet"] = lambda *arguments: (_ for _ in ()).throw(pynvml.NVMLError(UNKNOWN))
    failed = first(reader.read())
    reader._nvml.__dict__["nvmlGpmSampleGet"] = sample_get

    assert failed.missing[_SM] == "unknown"
    assert first(reader.read()).missing[_SM] == "first_reading"
    assert first(reader.read()).values[_SM] == 0.5


def test_counters_that_are_kept_for_root_cost_no_pcie_rate() -> None:
    gpu = _hopper()
    module = FakePynvml(gpu)
    vars(module)["nvmlGpmSampleGet"] = _refuses

    fast = first(reader_of(module).read())
    slow = first(reader_of(module, everything_slow()).read())

    assert fast.missing[_SM] == "no_permission"
    assert _PCIE not in fast.values
    assert slow.values[_PCIE] == 1.5e6
    assert len(module.open_samples) == 2


def _refuses(*arguments: object) -> None:
    raise pynvml.NVMLError(pynvml.NVML_ERROR_NO_PERMISSION)
