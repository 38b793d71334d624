"""An agent's socket, clocks and a PyTorch that tests move by hand."""

import json
import types
from collections.abc import Callable
from typing import Any

NS = 1_000_000_000


class Clock:
    """Nanoseconds that only the test moves."""

    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


class Recorder:
    """Takes every message, or none."""

    def __init__(self, listens: bool = True) -> None:
        self.listens = listens
        self.messages: list[dict[str, Any]] = []
        self.is_closed = False

    def is_open(self, now_ns: int) -> bool:
        return self.listens

    def send(self, message: bytes) -> bool:
        self.messages.append(json.loads(message, parse_constant=_refuse))
        return True

    def close(self) -> None:
        self.is_closed = True

    @property
    def steps(self) -> list[list[Any]]:
        """Each step: end, number, duration, wait for data."""
        return [step for message in self.messages for step in message["steps"]]

    @property
    def values(self) -> list[list[Any]]:
        """Values of each step that has any: its number, all-reduce, loss, gradient norm, loss scale, flags."""
        return [values for message in self.messages for values in message["values"]]

    @property
    def losses(self) -> dict[int, Any]:
        """The loss of each step that has values."""
        return {values[0]: values[2] for values in self.values}


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


class FakeTensor:
    """One number on a device; on a CUDA device only `FakeDevice.catch_up` brings it to the host."""

    def __init__(self, value: float, place: str = "cpu", index: int = 0) -> None:
        self.value = value
        self.device = types.SimpleNamespace(type=place, index=index)
        self.is_cpu, self.is_cuda = place == "cpu", place == "cuda"

    def item(self) -> float:
        if self.device.type != "cpu":
            raise AssertionError("item() would wait for the device")
        return self.value

    def detach(self) -> "FakeTensor":
        return self

    def reshape(self, shape: tuple[int, ...]) -> "FakeTensor":
        return self


class SubclassedTensor(FakeTensor):
    """As a tensor that is spread over ranks is one."""


class FakeScaler:
    """Its getter waits for the device."""

    def __init__(self, scale: FakeTensor | None) -> None:
        self._scale = scale

    def get_scale(self) -> float:
        raise AssertionError("get_scale() would wait for the device")


class FakeDevice:
    """What is asked of the device happens when the test lets it, in order."""

    def __init__(self) -> None:
        self.work: list[Callable[[], None]] = []
        self.now_ms = 0.0
        self.is_capturing = False
        self.is_broken = False

    def catch_up(self) -> None:
        """Do all that was asked for."""
        for one in self.work:
            one()
        self.work.clear()


class _Cells:
    """One row of pinned memory."""

    def __init__(self, device: FakeDevice) -> None:
        self._device = device
        self._values = [0.0, 0.0, 0.0]

    def __getitem__(self, position: int) -> Any:
        def copy_(tensor: FakeTensor, non_blocking: bool) -> None:
            assert non_blocking
            self._device.work.append(lambda: self._values.__setitem__(position, tensor.value))

        return types.SimpleNamespace(copy_=copy_)

    def tolist(self) -> list[float]:
        return list(self._values)


class _Event:
    def __init__(self, device: FakeDevice) -> None:
        self._device = device
        self._is_done = True
        self._at_ms = 0.0

    def record(self, stream: object) -> None:
        self._is_done = False
        self._device.work.append(self._happen)

    def _happen(self) -> None:
        self._is_done = True
        self._at_ms = self._device.now_ms

    def query(self) -> bool:
        if self._device.is_capturing:
            raise AssertionError("a query breaks the capture of a graph")
        if self._device.is_broken:
            raise RuntimeError("CUDA error: unspecified launch failure")
        return self._is_done

    def elapsed_time(self, end: "_Event") -> float:
        return end._at_ms - self._at_ms


def fake_torch(device: FakeDevice | None = None, retries: int = 0) -> Any:
    """The part of `torch` that the hook may touch; with a device, CUDA is initialised."""

    def empty(shape: tuple[int, int], dtype: object, pin_memory: bool) -> Any:
        assert device is not None
        assert pin_memory
        return types.SimpleNamespace(unbind=lambda: [_Cells(device) for _ in range(shape[0])])

    cuda = types.SimpleNamespace(
        is_initialized=lambda: device is not None,
        current_device=lambda: 0,
        current_stream=lambda index: f"stream of {index}",
        is_current_stream_capturing=lambda: device is not None and device.is_capturing,
        memory_stats_as_nested_dict=lambda: {"num_alloc_retries": retries},
        Event=lambda enable_timing=False: _Event(device) if device is not None else None,
    )
    return types.SimpleNamespace(
        Tensor=FakeTensor,
        nn=types.SimpleNamespace(Parameter=type("Parameter", (FakeTensor,), {})),
        amp=types.SimpleNamespace(GradScaler=FakeScaler),
        cuda=cuda,
        empty=empty,
        float32="float32",
    )
