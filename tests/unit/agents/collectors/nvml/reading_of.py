"""Reads a fake GPU with some of the readers."""

from collections.abc import Sequence

from pulsetrain.agents.collectors.nvml.gpu_reader import EntityReading, GpuReader, PartsOf, fast_parts, slow_parts
from pulsetrain.agents.collectors.nvml.identity import identify
from pulsetrain.agents.collectors.nvml.library import Nvml
from pulsetrain.agents.collectors.nvml.reading import Reading
from tests.unit.agents.collectors.nvml.fake_pynvml import FakeGpu, FakePynvml


def reader_of(module: FakePynvml, parts_of: PartsOf = fast_parts, now: Sequence[float] = (0.0,)) -> GpuReader:
    """Reads the first GPU; `now` is a list whose last entry is the time in seconds."""
    nvml = Nvml(module)
    if not module.initialised:
        module.nvmlInit()
    return GpuReader(nvml, identify(nvml, 0), parts_of, lambda: now[-1])


def everything_slow() -> PartsOf:
    """The slow readers, where nobody works for anybody."""
    return slow_parts(lambda pid: {}, lambda uuid: {})


def all_of(gpu: FakeGpu) -> Reading:
    """Everything of a GPU, in one reading."""
    module = FakePynvml(gpu)
    both = Reading()
    for parts_of in (fast_parts, everything_slow()):
        reading = first(reader_of(module, parts_of).read())
        both.values |= reading.values
        both.missing |= reading.missing
        both.failures |= reading.failures
    return both


def first(readings: list[EntityReading]) -> Reading:
    """What the GPU itself said."""
    return readings[0].reading
