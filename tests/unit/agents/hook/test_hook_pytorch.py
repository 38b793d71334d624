"""Timing of the all-reduces of a DistributedDataParallel, with stand-ins for it and its futures."""

import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from pulsetrain.agents.hook import TrainingProbe
from pulsetrain.agents.hook.cuda import Timing, union_ns
from pulsetrain.agents.hook.pytorch import time_all_reduces
from tests.unit.agents.hook.fakes import NS, Clock, Recorder


class Future:
    """Is done when the test says so."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[Any], Any]] = []

    def then(self, callback: Callable[[Any], Any]) -> "Future":
        self.callbacks.append(callback)
        return self

    def value(self) -> list[str]:
        return ["the averaged bucket"]

    def finish(self) -> list[Any]:
        return [callback(self) for callback in self.callbacks]


class Buffer:
    """A bucket's gradients; remembers by what they were multiplied."""

    def __init__(self) -> None:
        self.factor = 1.0

    def mul_(self, factor: float) -> None:
        self.factor *= factor


class Model:
    """Takes a hook, once."""

    def __init__(self) -> None:
        self.process_group = types.SimpleNamespace(size=lambda: 4)
        self.hook: Any = None

    def register_comm_hook(self, state: object, hook: Any) -> None:
        if self.hook is not None:
            raise RuntimeError("register_comm_hook can only be called once")
        self.hook = hook


@pytest.fixture
def futures(monkeypatch: pytest.MonkeyPatch) -> list[Future]:
    """Those of all all-reduces, in order."""
    futures: list[Future] = []

    def all_reduce(buffer: Buffer, group: object, async_op: bool) -> Any:
        assert async_op
        futures.append(Future())
        return types.SimpleNamespace(get_future=lambda: futures[-1])

    monkeypatch.setitem(
        sys.modules, "torch.distributed", types.SimpleNamespace(all_reduce=all_reduce, is_available=lambda: False)
    )
    return futures


def test_the_time_of_a_step_is_that_in_which_an_all_reduce_was_under_way(futures: list[Future]) -> None:
    # bucket 0  |---------|
    # bucket 1       |---------|
    # bucket 2                      |----|
    # seconds   0    1    2    3    4    5     under way: 3 + 1
    clock, sent, model = Clock(0), Recorder(), Model()
    with TrainingProbe("llm", 0, outlet=sent, monotonic_ns=clock) as probe:
        time_all_reduces(probe, model)
        buffers = [Buffer(), Buffer(), Buffer()]
        events: list[Callable[[], object]] = [
            lambda: model.hook(None, types.SimpleNamespace(buffer=lambda: buffers[0])),
            lambda: model.hook(None, types.SimpleNamespace(buffer=lambda: buffers[1])),
            lambda: futures[0].finish(),
            lambda: futures[1].finish(),
            lambda: model.hook(None, types.SimpleNamespace(buffer=lambda: buffers[2])),
            lambda: futures[2].finish(),
        ]
        for second, event in enumerate(events):
            clock.now_ns = second * NS
            event()
        probe.step()
    assert sent.values[0][1] == 4 * NS
    assert [buffer.factor for buffer in buffers] == [0.25, 0.25, 0.25]


def test_a_step_gets_back_what_the_all_reduce_gave(futures: list[Future]) -> None:
    model = Model()
    with TrainingProbe("llm", 0, outlet=Recorder()) as probe:
        time_all_reduces(probe, model)
        model.hook(None, types.SimpleNamespace(buffer=Buffer))
    assert futures[0].finish() == ["the averaged bucket"]


def test_a_model_that_has_a_hook_already_keeps_it(futures: list[Future]) -> None:
    model = Model()
    model.hook = hook = object()
    probe = TrainingProbe("llm", 0, outlet=Recorder())
    time_all_reduces(probe, model)
    time_all_reduces(probe, object())
    assert model.hook is hook
    assert probe.errors == 2


def test_timings_on_the_device_that_overlap_count_once() -> None:
    def event(at_ms: float) -> Any:
        return types.SimpleNamespace(at_ms=at_ms, elapsed_time=lambda end: end.at_ms - at_ms)

    spans = [(0.0, 2.0), (1.0, 3.0), (1.5, 2.5), (4.0, 5.0)]
    assert union_ns([Timing(event(start), event(end)) for start, end in spans]) == 4_000_000
