"""Every field has its own value or its own reason."""

import math

import pynvml
import pytest

from pulsetrain.agents.collectors.nvml.gpu_reader import FAST_METRICS, SLOW_METRICS
from pulsetrain.agents.collectors.nvml.reading import GpuLostError
from pulsetrain.schemas.catalogue import find
from tests.unit.agents.collectors.nvml.fake_pynvml import (
    GPU_IS_LOST,
    MIB,
    NOT_SUPPORTED,
    UNKNOWN,
    Fail,
    FakeGpu,
    FakePynvml,
)
from tests.unit.agents.collectors.nvml.reading_of import all_of, everything_slow, first, reader_of


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("hw.gpu.utilization{hw.gpu.task=general}", 0.87),
        ("hw.gpu.memory.controller.utilization", 0.45),
        ("hw.gpu.utilization{hw.gpu.task=decoder}", 0.03),
        ("hw.gpu.memory.usage{hw.gpu.memory.state=used}", 73000 * MIB),
        ("hw.gpu.memory.usage{hw.gpu.memory.state=free}", 8008 * MIB),
        ("hw.gpu.memory.usage{hw.gpu.memory.state=reserved}", 551 * MIB),
        ("hw.gpu.memory.limit", 81559 * MIB),
        ("hw.gpu.bar1.usage{hw.gpu.memory.state=used}", MIB),
        ("hw.gpu.bar1.limit", 131072 * MIB),
        ("hw.power{hw.type=gpu}", 612.345),
        ("hw.power.limit{hw.type=gpu}", 700.0),
        ("hw.energy{hw.type=gpu}", 123456.789),
        ("hw.temperature{hw.type=gpu}", 61.0),
        ("hw.temperature{hw.sensor_location=memory,hw.type=gpu}", 72.0),
        ("hw.temperature.limit{hw.limit_type=high.critical,hw.type=gpu}", 92.0),
        ("hw.temperature.limit{hw.limit_type=high.degraded,hw.type=gpu}", 89.0),
        ("hw.temperature.limit{hw.limit_type=max,hw.type=gpu}", 87.0),
        ("hw.temperature.limit{hw.limit_type=max,hw.sensor_location=memory,hw.type=gpu}", 95.0),
        ("hw.temperature.margin{hw.type=gpu}", 26.0),
        ("hw.gpu.clock.frequency{hw.gpu.clock.domain=sm}", 1.98e9),
        ("hw.gpu.clock.frequency{hw.gpu.clock.domain=memory}", 2.619e9),
        ("hw.gpu.clock.frequency{hw.gpu.clock.domain=video}", 1.545e9),
        ("hw.gpu.clock.frequency.limit{hw.gpu.clock.domain=video}", 1.965e9),
        ("hw.gpu.clock.event{hw.gpu.clock.event.reason=sw_power_cap}", 1.0),
        ("hw.gpu.clock.event{hw.gpu.clock.event.reason=hw_slowdown}", 0.0),
        ("hw.errors{error.type=ecc_corrected,hw.gpu.ecc.counter=volatile,hw.type=gpu}", 2.0),
        ("hw.errors{error.type=ecc_uncorrected,hw.gpu.ecc.counter=volatile,hw.type=gpu}", 0.0),
        ("hw.errors{error.type=ecc_corrected,hw.gpu.ecc.counter=aggregate,hw.type=gpu}", 7.0),
        ("hw.errors{error.type=ecc_uncorrected,hw.gpu.ecc.counter=aggregate,hw.type=gpu}", 1.0),
        ("hw.gpu.memory.remapped_rows{error.type=ecc_corrected}", 1.0),
        ("hw.gpu.memory.remapped_rows.failed", 0.0),
        ("hw.gpu.pcie.generation", 5.0),
        ("hw.gpu.pcie.lanes.limit", 16.0),
        ("hw.errors{error.type=pcie_replay,hw.type=gpu}", 0.0),
        ("hw.gpu.io.rate{hw.gpu.link=pcie,network.io.direction=transmit}", 1.5e6),
        ("hw.gpu.io.rate{hw.gpu.link=pcie,network.io.direction=receive}", 2.5e6),
    ],
)
def test_a_value_arrives_in_the_catalogues_unit(metric: str, value: float) -> None:
    assert all_of(FakeGpu("GPU-a")).values[metric] == pytest.approx(value, rel=1e-12)


def test_every_metric_is_in_the_catalogue_and_its_values_are_valid() -> None:
    reading = all_of(FakeGpu("GPU-a"))

    for metric, value in reading.values.items():
        entry = find(metric)
        assert entry is not None, metric
        assert math.isnan(value) or entry.valid_min <= value <= entry.valid_max, metric
    assert set(reading.values) == {*FAST_METRICS, *SLOW_METRICS}
    assert {metric for metric, value in reading.values.items() if math.isnan(value)} == set(reading.missing)


@pytest.mark.parametrize(
    ("calls", "absent"),
    [
        (["nvmlDeviceGetMemoryInfo"], "hw.gpu.memory.limit"),
        (["nvmlDeviceGetUtilizationRates"], "hw.gpu.utilization{hw.gpu.task=general}"),
        (
            ["nvmlDeviceGetTotalEccErrors"],
            "hw.errors{error.type=ecc_uncorrected,hw.gpu.ecc.counter=volatile,hw.type=gpu}",
        ),
        (["nvmlDeviceGetRemappedRows"], "hw.gpu.memory.remapped_rows.pending"),
    ],
    ids=["unified memory", "parent of MIG devices", "ECC off", "consumer card"],
)
def test_a_field_that_is_not_supported_is_absent_with_its_reason_and_the_others_go_on(
    calls: list[str], absent: str
) -> None:
    whole, gpu = all_of(FakeGpu("GPU-a")), FakeGpu("GPU-a")
    gpu.answers.update(dict.fromkeys(calls, Fail(NOT_SUPPORTED)))

    reading = all_of(gpu)

    assert math.isnan(reading.values[absent])
    assert reading.missing[absent] == "not_supported"
    lost = set(reading.missing) - set(whole.missing)
    assert absent in lost
    assert len(lost) <= 4
    assert set(reading.values) == set(whole.values)


def test_what_is_not_supported_is_asked_again_only_after_minutes() -> None:
    gpu, now = FakeGpu("GPU-a"), [0.0]
    gpu.answers["nvmlDeviceGetUtilizationRates"] = Fail(NOT_SUPPORTED)
    module = FakePynvml(gpu)
    reader = reader_of(module, now=now)
    for _ in range(10):
        assert math.isnan(first(reader.read()).values["hw.gpu.memory.controller.utilization"])
        now.append(now[-1] + 1.0)
    asked = module.calls["nvmlDeviceGetUtilizationRates"]
    gpu.answers["nvmlDeviceGetUtilizationRates"] = FakeGpu("GPU-b").answers["nvmlDeviceGetUtilizationRates"]
    now.append(301.0)

    reading = first(reader.read())

    assert asked == 1
    assert reading.values["hw.gpu.memory.controller.utilization"] == pytest.approx(0.45)


def test_another_failure_is_asked_again_at_the_next_reading() -> None:
    gpu = FakeGpu("GPU-a")
    gpu.answers["nvmlDeviceGetPowerUsage"] = Fail(UNKNOWN)
    reader = reader_of(FakePynvml(gpu))

    failed = first(reader.read())
    gpu.answers["nvmlDeviceGetPowerUsage"] = 100_000

    assert failed.missing["hw.power{hw.type=gpu}"] == "unknown"
    assert failed.failures == {UNKNOWN: "unknown"}
    assert first(reader.read()).values["hw.power{hw.type=gpu}"] == 100.0


def test_the_order_of_metrics_is_the_same_whatever_is_missing() -> None:
    gpu = FakeGpu("GPU-a")
    reader, whole = reader_of(FakePynvml(gpu)), reader_of(FakePynvml(FakeGpu("GPU-b")))

    orders = [list(first(reader.read()).values)]
    gpu.answers["nvmlDeviceGetPowerUsage"] = Fail(UNKNOWN)
    gpu.fields[pynvml.NVML_FI_DEV_MEMORY_TEMP] = Fail(UNKNOWN)
    orders.append(list(first(reader.read()).values))

    assert orders[0] == orders[1] == list(first(whole.read()).values)


def test_a_lost_gpu_is_asked_nothing_more() -> None:
    gpu = FakeGpu("GPU-a")
    module = FakePynvml(gpu)
    reader = reader_of(module)
    gpu.failure = GPU_IS_LOST

    with pytest.raises(GpuLostError):
        reader.read()

    assert module.calls["nvmlDeviceGetPowerUsage"] == 0


@pytest.mark.parametrize("filler", [2**32 - 1, 2**64 - 1])
def test_what_drivers_fill_in_for_no_value_is_no_value(filler: int) -> None:
    gpu = FakeGpu("GPU-a")
    gpu.answers["nvmlDeviceGetPowerUsage"] = filler

    reading = all_of(gpu)

    assert math.isnan(reading.values["hw.power{hw.type=gpu}"])
    assert reading.missing["hw.power{hw.type=gpu}"] == "no_value"


def test_a_driver_without_reserved_memory_still_tells_the_rest() -> None:
    gpu = FakeGpu("GPU-a")
    newer = gpu.answers["nvmlDeviceGetMemoryInfo"]
    gpu.answers["nvmlDeviceGetMemoryInfo"] = lambda version=None: Fail(13) if version else newer()

    reading = all_of(gpu)

    assert reading.values["hw.gpu.memory.usage{hw.gpu.memory.state=used}"] == 73000 * MIB
    assert reading.missing["hw.gpu.memory.usage{hw.gpu.memory.state=reserved}"] == "no_value"


def test_a_driver_that_still_says_throttle_is_understood() -> None:
    gpu = FakeGpu("GPU-a")
    gpu.answers["nvmlDeviceGetCurrentClocksEventReasons"] = Fail(13)
    gpu.answers["nvmlDeviceGetCurrentClocksThrottleReasons"] = 0x48

    values = all_of(gpu).values

    reasons = {
        reason: values[f"hw.gpu.clock.event{{hw.gpu.clock.event.reason={reason}}}"]
        for reason in ("sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "gpu_idle")
    }
    assert reasons == {"sw_power_cap": 0.0, "hw_slowdown": 1.0, "hw_thermal_slowdown": 1.0, "gpu_idle": 0.0}


def test_time_of_lowered_clocks_arrives_in_seconds() -> None:
    gpu = FakeGpu("GPU-a")
    gpu.fields[pynvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP] = 2_500_000_000

    values = all_of(gpu).values

    assert values["hw.gpu.clock.event.time{hw.gpu.clock.event.reason=sw_power_cap}"] == pytest.approx(2.5)


def test_a_driver_without_field_values_costs_only_those() -> None:
    gpu = FakeGpu("GPU-a")
    module = FakePynvml(gpu)
    vars(module)["nvmlDeviceGetFieldValues"] = module.absent_call

    reading = first(reader_of(module).read())

    assert reading.missing["hw.temperature{hw.sensor_location=memory,hw.type=gpu}"] == "function_not_found"
    assert reading.values["hw.temperature{hw.type=gpu}"] == 61.0


def test_slow_pcie_calls_are_not_made_where_performance_counters_tell_the_rates() -> None:
    gpu = FakeGpu("GPU-a")
    gpu.has_gpm = True
    module = FakePynvml(gpu)

    reader_of(module, everything_slow()).read()

    assert module.calls["nvmlDeviceGetPcieThroughput"] == 0
