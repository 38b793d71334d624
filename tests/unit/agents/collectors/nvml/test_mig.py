"""MIG devices are entities of their own, known by GPU, GPU instance and compute instance."""

import math
from types import SimpleNamespace

import pynvml
import pytest

from pulsetrain.agents.collectors.nvml.reading import GpuLostError
from tests.unit.agents.collectors.nvml.fake_pynvml import (
    GPU_IS_LOST,
    MIB,
    NOT_SUPPORTED,
    UNKNOWN,
    Fail,
    FakeGpu,
    FakePynvml,
)
from tests.unit.agents.collectors.nvml.reading_of import everything_slow, reader_of


def _part(uuid: str, gpu_instance: int, compute_instance: int, used: int) -> FakeGpu:
    part = FakeGpu(uuid)
    part.mig_ids = (gpu_instance, compute_instance)
    part.answers["nvmlDeviceGetName"] = "NVIDIA H100 80GB HBM3 MIG 3g.40gb"
    part.answers["nvmlDeviceGetMemoryInfo"] = lambda version=None: SimpleNamespace(
        total=40320 * MIB, reserved=0, free=(40320 - used) * MIB, used=used * MIB
    )
    return part


def _cut_gpu() -> FakeGpu:
    gpu = FakeGpu("GPU-a")
    gpu.has_gpm = True
    gpu.answers["nvmlDeviceGetMigMode"] = [1, 1]
    gpu.answers["nvmlDeviceGetUtilizationRates"] = Fail(NOT_SUPPORTED)
    gpu.mig = {0: _part("MIG-x", 1, 0, 100), 3: _part("MIG-y", 2, 0, 200)}
    return gpu


def test_each_mig_device_is_an_entity_and_the_parent_keeps_what_it_can_tell() -> None:
    gpu, mig_x, mig_y = reader_of(FakePynvml(_cut_gpu())).read()

    assert [read.entity for read in (gpu, mig_x, mig_y)] == ["gpu:GPU-a", "gpu:GPU-a:gi1:ci0", "gpu:GPU-a:gi2:ci0"]
    assert mig_y.reading.values["hw.gpu.memory.usage{hw.gpu.memory.state=used}"] == 200 * MIB
    assert mig_x.labels["hw.gpu.mig_uuid"] == "MIG-x"
    assert mig_x.labels["hw.model"] == "NVIDIA H100 80GB HBM3 MIG 3g.40gb"
    assert gpu.reading.missing["hw.gpu.utilization{hw.gpu.task=general}"] == "not_supported"
    assert gpu.reading.values["hw.power{hw.type=gpu}"] == 612.345


def test_performance_counters_of_a_mig_device_are_those_of_its_instance() -> None:
    gpu = _cut_gpu()
    gpu.mig[3].gpm = lambda metric: 25.0
    reader = reader_of(FakePynvml(gpu))
    reader.read()

    _, mig_x, mig_y = reader.read()

    assert (mig_x.reading.values["hw.gpu.sm.activity"], mig_y.reading.values["hw.gpu.sm.activity"]) == (0.5, 0.25)


def test_a_mig_device_that_is_gone_is_no_entity_any_more_and_gives_its_samples_back() -> None:
    gpu, now = _cut_gpu(), [0.0]
    module = FakePynvml(gpu)
    reader = reader_of(module, now=now)
    reader.read()
    samples = len(module.open_samples)
    del gpu.mig[0]
    now.append(31.0)

    entities = [read.entity for read in reader.read()]

    assert entities == ["gpu:GPU-a", "gpu:GPU-a:gi2:ci0"]
    assert (samples, len(module.open_samples)) == (6, 4)


@pytest.mark.parametrize("code", [GPU_IS_LOST, UNKNOWN])
def test_a_list_that_fails_forgets_no_mig_device_and_keeps_its_samples(code: int) -> None:
    gpu, now = _cut_gpu(), [0.0]
    module = FakePynvml(gpu)
    reader = reader_of(module, now=now)
    before = [read.entity for read in reader.read()]
    gpu.answers["nvmlDeviceGetMigMode"] = Fail(code)
    now.append(31.0)
    if code == GPU_IS_LOST:
        with pytest.raises(GpuLostError):
            reader.read()
    else:
        assert [read.entity for read in reader.read()] == before
    gpu.answers["nvmlDeviceGetMigMode"] = [1, 1]

    assert [read.entity for read in reader.read()] == before
    assert len(module.open_samples) == 6


def test_the_same_instance_made_anew_keeps_its_entity() -> None:
    gpu, now = _cut_gpu(), [0.0]
    reader = reader_of(FakePynvml(gpu), now=now)
    reader.read()
    gpu.mig[0] = _part("MIG-z", 1, 0, 300)
    now.append(31.0)

    _, mig_y, mig_z = sorted(reader.read(), key=lambda read: read.labels.get("hw.gpu.mig_uuid", ""))

    assert mig_z.entity == "gpu:GPU-a:gi1:ci0"
    assert mig_z.reading.values["hw.gpu.memory.usage{hw.gpu.memory.state=used}"] == 300 * MIB
    assert mig_y.entity == "gpu:GPU-a:gi2:ci0"


def test_processes_are_counted_for_each_mig_device() -> None:
    gpu = _cut_gpu()
    gpu.mig[0].answers["nvmlDeviceGetComputeRunningProcesses"] = [SimpleNamespace(pid=11, usedGpuMemory=MIB)]

    _, mig_x, mig_y = reader_of(FakePynvml(gpu), everything_slow()).read()

    assert (mig_x.reading.values["hw.gpu.process.count"], mig_y.reading.values["hw.gpu.process.count"]) == (1, 0)


def test_a_gpu_that_can_not_be_cut_has_no_parts() -> None:
    gpu = FakeGpu("GPU-a")
    gpu.answers["nvmlDeviceGetMigMode"] = Fail(NOT_SUPPORTED)

    assert len(reader_of(FakePynvml(gpu)).read()) == 1


def test_a_part_that_vanishes_while_it_is_asked_costs_only_itself() -> None:
    gpu = _cut_gpu()
    reader = reader_of(FakePynvml(gpu))
    reader.read()
    gpu.mig[0].failure = pynvml.NVML_ERROR_INVALID_ARGUMENT

    _, mig_x, mig_y = reader.read()

    assert all(math.isnan(value) for value in list(mig_x.reading.values.values())[:4])
    assert mig_y.reading.has_values
    assert GPU_IS_LOST not in mig_x.reading.failures
