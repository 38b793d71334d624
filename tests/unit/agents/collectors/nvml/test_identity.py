"""Who a GPU is."""

import pytest

from pulsetrain.agents.collectors.nvml.identity import identify, pci_address, text
from pulsetrain.agents.collectors.nvml.library import Nvml
from tests.unit.agents.collectors.nvml.fake_pynvml import NOT_SUPPORTED, Fail, FakeGpu, FakePynvml


@pytest.mark.parametrize("value", [b"NVIDIA H100", "NVIDIA H100", b"NVIDIA H100\0\0rest", " NVIDIA H100 "])
def test_bytes_and_text_give_the_same_name(value: bytes | str) -> None:
    assert text(value) == "NVIDIA H100"


def test_bytes_that_are_no_text_are_still_a_name() -> None:
    assert text(b"GPU\xff") == "GPU\ufffd"


@pytest.mark.parametrize("bus_id", ["00000000:3B:00.0", "0000:3b:00", "3b:00.0", "0000:3B:00.0"])
def test_every_spelling_of_a_pci_address_is_the_same_address(bus_id: str) -> None:
    assert pci_address(bus_id) == (0, 0x3B, 0)


@pytest.mark.parametrize("bus_id", ["", "gpu0", "0000:3b", "0000:zz:00"])
def test_what_is_no_address_gives_none(bus_id: str) -> None:
    assert pci_address(bus_id) is None


def test_a_gpu_is_the_same_whether_its_driver_speaks_bytes_or_text() -> None:
    plain, raw = FakeGpu("GPU-a"), FakeGpu("GPU-a")
    raw.uuid = b"GPU-a"
    raw.answers["nvmlDeviceGetName"] = b"NVIDIA H100 80GB HBM3"
    modules = [FakePynvml(plain), FakePynvml(raw)]
    for module in modules:
        module.nvmlInit()

    first, second = (identify(Nvml(module), 0) for module in modules)

    assert (first.entity, first.labels) == (second.entity, second.labels)
    assert first.entity == "gpu:GPU-a"
    assert first.labels["hw.model"] == "NVIDIA H100 80GB HBM3"


def test_what_the_driver_does_not_tell_is_no_label() -> None:
    gpu = FakeGpu("GPU-a")
    gpu.answers["nvmlDeviceGetSerial"] = Fail(NOT_SUPPORTED)
    module = FakePynvml(gpu)
    module.nvmlInit()

    assert "hw.serial_number" not in identify(Nvml(module), 0).labels
