"""Processes on a GPU, and for whom they work."""

import math
from collections.abc import Mapping
from types import SimpleNamespace

from pulsetrain.agents.collectors.nvml.gpu_reader import slow_parts
from pulsetrain.agents.collectors.nvml.reading import Reading
from tests.unit.agents.collectors.nvml.fake_pynvml import MIB, NOT_SUPPORTED, Fail, FakeGpu, FakePynvml
from tests.unit.agents.collectors.nvml.reading_of import first, reader_of

_COUNT, _MEMORY = "hw.gpu.process.count", "hw.gpu.process.memory.usage"
_CONTAINER = "4f8c1d2e3b5a" + "0" * 52
_LABELS: dict[int, Mapping[str, str]] = {
    11: {"job": "llm", "pod": "llm-0", "rank": "0", "container_id": _CONTAINER},
    12: {"job": "llm", "pod": "llm-0", "rank": "1", "container_id": _CONTAINER},
    13: {},
}


def _process(pid: int, mebibytes: int | None) -> SimpleNamespace:
    return SimpleNamespace(pid=pid, usedGpuMemory=None if mebibytes is None else mebibytes * MIB)


def _read(gpu: FakeGpu, device_labels: Mapping[str, str] | None = None) -> Reading:
    parts = slow_parts(lambda pid: _LABELS.get(pid, {}), lambda uuid: device_labels or {})
    return first(reader_of(FakePynvml(gpu), parts).read())


def test_processes_are_counted_in_all_and_for_each_owner() -> None:
    gpu = FakeGpu("GPU-a")
    gpu.answers["nvmlDeviceGetComputeRunningProcesses"] = [_process(11, 100), _process(12, 200), _process(13, 50)]

    values = _read(gpu).values

    owner = "{container.id=4f8c1d2e3b5a,job=llm}"
    assert values[_COUNT] == 3
    assert values[_MEMORY] == 350 * MIB
    assert values[_COUNT + owner] == 2
    assert values[_MEMORY + owner] == 300 * MIB


def test_a_process_that_computes_and_draws_counts_once() -> None:
    gpu = FakeGpu("GPU-a")
    gpu.answers["nvmlDeviceGetComputeRunningProcesses"] = [_process(11, 100)]
    gpu.answers["nvmlDeviceGetGraphicsRunningProcesses"] = [_process(11, 100), _process(13, 5)]

    values = _read(gpu).values

    assert (values[_COUNT], values[_MEMORY]) == (2, 105 * MIB)


def test_memory_that_the_driver_does_not_tell_is_missing_and_not_less() -> None:
    gpu = FakeGpu("GPU-a")
    gpu.answers["nvmlDeviceGetComputeRunningProcesses"] = [_process(11, None), _process(13, 50)]

    reading = _read(gpu)

    assert reading.values[_COUNT] == 2
    assert math.isnan(reading.values[_MEMORY])
    assert reading.missing[_MEMORY] == "no_value"


def test_the_gpu_has_the_labels_that_all_its_processes_share() -> None:
    gpu = FakeGpu("GPU-a")
    gpu.answers["nvmlDeviceGetComputeRunningProcesses"] = [_process(11, 100), _process(12, 200)]

    owners = _read(gpu).owners

    assert owners == {"job": "llm", "pod": "llm-0", "container_id": _CONTAINER}


def test_processes_of_different_owners_give_no_label() -> None:
    gpu = FakeGpu("GPU-a")
    gpu.answers["nvmlDeviceGetComputeRunningProcesses"] = [_process(11, 100), _process(13, 50)]

    assert _read(gpu).owners == {}


def test_whom_the_device_was_given_to_is_known_before_a_process_runs() -> None:
    assert _read(FakeGpu("GPU-a"), {"pod": "llm-0"}).owners == {"pod": "llm-0"}


def test_processes_that_may_not_be_listed_are_missing() -> None:
    gpu = FakeGpu("GPU-a")
    gpu.answers["nvmlDeviceGetComputeRunningProcesses"] = Fail(NOT_SUPPORTED)

    reading = _read(gpu)

    assert reading.missing[_COUNT] == reading.missing[_MEMORY] == "not_supported"


def test_many_owners_are_bounded_and_all_processes_still_count() -> None:
    gpu = FakeGpu("GPU-a")
    gpu.answers["nvmlDeviceGetComputeRunningProcesses"] = [_process(pid, 1) for pid in range(500)]
    parts = slow_parts(lambda pid: {"container_id": f"{pid:064x}"[::-1]}, lambda uuid: {})

    values = first(reader_of(FakePynvml(gpu), parts).read()).values

    assert values[_COUNT] == 500
    assert len([metric for metric in values if metric.startswith(_COUNT)]) <= 33
