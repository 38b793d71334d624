"""Values and times on a CUDA device: whatever would wait for the device fails in this fake."""

import sys
import types

import numpy as np
import pytest

from pulsetrain.agents.hook import TrainingProbe
from tests.unit.agents.hook.fakes import (
    NS,
    Clock,
    FakeDevice,
    FakeScaler,
    FakeTensor,
    Recorder,
    SubclassedTensor,
    fake_torch,
)


class Loop:
    """A probe in a process with the fake, one step a second."""

    def __init__(self) -> None:
        self.monotonic = Clock(NS)
        self.sent = Recorder()
        self.probe = TrainingProbe("llm", 0, outlet=self.sent, monotonic_ns=self.monotonic)

    def step(self, **values: object) -> None:
        self.monotonic.now_ns += NS
        self.probe.step(**values)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> FakeDevice:
    device = FakeDevice()
    monkeypatch.setitem(sys.modules, "torch", fake_torch(device, retries=7))
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    return device


def on_device(value: float, index: int = 0) -> FakeTensor:
    return FakeTensor(value, "cuda", index)


def test_a_tensor_on_the_device_is_read_steps_later_and_the_step_does_not_wait_for_it(device: FakeDevice) -> None:
    loop = Loop()
    loop.step(loss=on_device(0.5), grad_norm=on_device(2.0))
    loop.step(loss=1.0)
    assert [step[1] for step in loop.sent.steps] == [1, 2]
    assert loop.sent.values == []
    device.catch_up()
    loop.step(loss=on_device(0.25))
    assert [step[1] for step in loop.sent.steps] == [1, 2, 3]
    assert loop.sent.values == [[1, None, 0.5, 2.0, None, 0], [2, None, 1.0, None, None, 0]]


def test_what_has_not_arrived_at_the_end_is_missing_and_not_waited_for(device: FakeDevice) -> None:
    loop = Loop()
    loop.step(loss=on_device(0.5), grad_norm=3.0)
    loop.probe.close()
    assert loop.sent.values == [[1, None, None, 3.0, None, 0]]


def test_a_device_that_never_answers_costs_values_and_no_more(device: FakeDevice) -> None:
    loop = Loop()
    for _ in range(1000):
        with loop.probe.all_reduce():
            pass
        loop.step(loss=on_device(0.5))
    loop.probe.close()
    assert len(loop.sent.steps) == 1000
    assert loop.sent.values == []


def test_an_all_reduce_on_the_device_is_timed_by_events(device: FakeDevice) -> None:
    loop = Loop()
    loop.step()
    for _ in range(2):
        with loop.probe.all_reduce():
            device.catch_up()
            device.now_ms += 1.5
        device.catch_up()
    loop.step()
    loop.probe.close()
    assert loop.sent.values == [[2, 3_000_000, None, None, None, 0]]


def test_all_reduces_that_begin_and_never_end_use_nothing_up(device: FakeDevice) -> None:
    loop = Loop()
    loop.step()
    for _ in range(5000):
        loop.probe.all_reduce().begin()
        device.catch_up()
    with loop.probe.all_reduce():
        device.catch_up()
        device.now_ms += 1.5
    device.catch_up()
    loop.step()
    loop.probe.close()
    assert loop.probe.errors == 0
    assert loop.sent.values == [[2, 1_500_000, None, None, None, 0]]


def test_a_scaler_is_read_without_its_getter_and_has_no_scale_before_its_first_step(device: FakeDevice) -> None:
    loop = Loop()
    loop.step(scale=FakeScaler(None))
    loop.step(scale=FakeScaler(on_device(1024.0)))
    device.catch_up()
    loop.step()
    assert loop.sent.values == [[2, None, None, None, 1024.0, 0]]
    assert loop.sent.messages[-1]["errors"] == 0


def test_older_versions_of_pytorch_have_their_scaler_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = fake_torch()
    torch.cuda.amp, torch.amp = torch.amp, types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "torch", torch)
    sent = Recorder()
    with TrainingProbe("llm", 0, outlet=sent) as probe:
        probe.step(loss=np.float32(0.5), scale=FakeScaler(FakeTensor(1024.0)))
    assert sent.values == [[1, None, 0.5, None, 1024.0, 0]]


def test_tensors_that_are_spread_over_ranks_or_elsewhere_are_refused(device: FakeDevice) -> None:
    loop = Loop()
    loop.step(loss=SubclassedTensor(1.0))
    loop.step(loss=FakeTensor(1.0, "xla"))
    loop.step(loss=on_device(1.0, index=1))
    loop.step(loss=FakeTensor(1.0))
    loop.probe.close()
    assert loop.sent.losses == {4: 1.0}
    assert loop.sent.messages[-1]["errors"] == 3


def test_a_broken_device_costs_values_and_is_counted(device: FakeDevice) -> None:
    loop = Loop()
    device.is_broken = True
    for _ in range(10):
        loop.step(loss=on_device(1.0), grad_norm=2.0)
    loop.probe.close()
    assert len(loop.sent.steps) == 10
    assert loop.sent.values == [[number, None, None, 2.0, None, 0] for number in range(1, 11)]
    assert loop.sent.messages[-1]["errors"] == 10


def test_nothing_is_asked_of_the_device_while_a_graph_is_captured(device: FakeDevice) -> None:
    loop = Loop()
    loop.step(loss=on_device(1.0))
    device.is_capturing = True
    with loop.probe.all_reduce():
        loop.step(loss=on_device(2.0))
    device.is_capturing = False
    device.catch_up()
    loop.step(loss=3.0)
    assert loop.sent.losses == {1: 1.0, 2: 3.0}
    assert loop.sent.messages[-1]["errors"] == 0


def test_a_probe_that_opens_while_a_graph_is_captured_pins_its_memory_later(device: FakeDevice) -> None:
    loop = Loop()
    device.is_capturing = True
    loop.step(loss=on_device(1.0))
    device.is_capturing = False
    loop.step(loss=on_device(2.0))
    device.catch_up()
    loop.probe.close()
    assert loop.sent.losses == {2: 2.0}
    assert loop.sent.messages[-1]["errors"] == 1


def test_allocator_retries_travel_with_each_datagram(device: FakeDevice) -> None:
    loop = Loop()
    loop.step()
    loop.probe.close()
    assert loop.sent.messages[0]["retries"] == 7


def test_without_cuda_a_tensor_is_read_at_once_and_there_are_no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", fake_torch())
    loop = Loop()
    loop.step(loss=FakeTensor(0.75))
    loop.probe.close()
    assert loop.sent.losses == {1: 0.75}
    assert loop.sent.messages[0]["retries"] is None


def test_a_device_whose_memory_cannot_be_pinned_costs_values_and_no_more(
    device: FakeDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(sys.modules["torch"], "empty", fail)
    loop = Loop()
    for _ in range(2):
        loop.step(loss=on_device(1.0), grad_norm=2.0)
    loop.probe.close()
    assert loop.sent.values == [[number, None, None, 2.0, None, 0] for number in (1, 2)]
    assert loop.sent.messages[-1]["errors"] == 3


def test_a_torch_that_is_half_imported_costs_an_error_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    monkeypatch.setitem(sys.modules, "torch.distributed", types.ModuleType("torch.distributed"))
    loop = Loop()
    loop.step(loss=1.0)
    loop.probe.close()
    assert loop.sent.losses == {1: 1.0}
    assert loop.sent.messages[0]["errors"] > 0
