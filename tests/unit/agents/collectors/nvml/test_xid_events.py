"""Xids as NVML brings them."""

import time
from collections.abc import Iterator

import pytest

from pulsetrain.agents.collectors.nvml.driver import Driver
from pulsetrain.agents.collectors.nvml.library import Nvml
from pulsetrain.agents.collectors.nvml.xid_events import XidEvents
from tests.unit.agents.collectors.nvml.fake_pynvml import (
    GPU_IS_LOST,
    NOT_SUPPORTED,
    UNKNOWN,
    WAIT_SECONDS,
    Fail,
    FakeGpu,
    FakePynvml,
)


class _Watch:
    def __init__(self, lost: bool = False) -> None:
        self.module = FakePynvml(FakeGpu("GPU-a", 1), FakeGpu("GPU-b", 2))
        self.now = 0.0
        self.driver = Driver(lambda: Nvml(self.module), lambda: self.now)
        self.driver.refreshed(WAIT_SECONDS)
        self.module.gpus[1].failure = GPU_IS_LOST if lost else None
        self.events = XidEvents(self.driver)
        self.events.start()

    def take(self, count: int) -> list[tuple[str, int]]:
        taken: list[tuple[str, int]] = []
        until = time.monotonic() + WAIT_SECONDS
        while len(taken) < count and time.monotonic() < until:
            taken += self.events.take()
            time.sleep(0.001)
        return taken

    def until_watched(self, uuid: str) -> None:
        until = time.monotonic() + WAIT_SECONDS
        while uuid not in dict(self.module.watched):
            assert time.monotonic() < until, f"{uuid} was never watched"
            time.sleep(0.001)

    def close(self) -> None:
        self.events.close()
        self.driver.close()


@pytest.fixture
def watch() -> Iterator[_Watch]:
    made = _Watch()
    yield made
    made.close()


def test_events_come_with_the_uuid_of_their_gpu(watch: _Watch) -> None:
    watch.module.tell(watch.module.gpus[1], 31)
    watch.module.tell(watch.module.gpus[0], 79)

    assert watch.take(2) == [("GPU-b", 31), ("GPU-a", 79)]


def test_the_event_of_a_gpu_that_is_lost_still_has_its_uuid(watch: _Watch) -> None:
    watch.module.tell(watch.module.gpus[1], 31)
    watch.take(1)
    watch.module.gpus[1].failure = GPU_IS_LOST
    watch.module.tell(watch.module.gpus[1], 79)

    assert watch.take(1) == [("GPU-b", 79)]


def test_the_set_stays_the_same_while_the_gpus_do(watch: _Watch) -> None:
    watch.module.tell(watch.module.gpus[1], 31)
    watch.take(1)
    before = set(watch.module.open_sets)
    watch.now = 6.0
    watch.driver.refreshed(WAIT_SECONDS)
    watch.module.tell(watch.module.gpus[1], 31)
    watch.take(1)

    assert watch.module.open_sets == before


def test_a_new_gpu_is_watched_in_the_same_set(watch: _Watch) -> None:
    watch.module.tell(watch.module.gpus[0], 31)
    watch.take(1)
    watch.module.gpus.append(FakeGpu("GPU-c", 3))
    watch.now = 6.0
    watch.driver.refreshed(WAIT_SECONDS)
    watch.until_watched("GPU-c")
    watch.module.tell(watch.module.gpus[2], 48)

    assert watch.take(1) == [("GPU-c", 48)]
    assert [uuid for uuid, _ in watch.module.watched] == ["GPU-a", "GPU-b", "GPU-c"]
    assert len({event_set for _, event_set in watch.module.watched}) == 1


def test_a_gpu_that_was_lost_when_the_set_was_made_is_watched_when_it_is_back() -> None:
    watch = _Watch(lost=True)
    watch.module.tell(watch.module.gpus[0], 31)
    watch.take(1)
    watch.module.gpus[1].failure = None
    watch.until_watched("GPU-b")
    watch.module.tell(watch.module.gpus[1], 48)

    assert watch.take(1) == [("GPU-b", 48)]
    watch.close()


def test_a_gpu_without_such_events_is_tried_once(watch: _Watch) -> None:
    watch.module.tell(watch.module.gpus[0], 31)
    watch.take(1)
    watch.module.gpus.append(FakeGpu("GPU-c", 3))
    watch.module.gpus[2].answers["nvmlDeviceRegisterEvents"] = Fail(NOT_SUPPORTED)
    watch.now = 6.0
    watch.driver.refreshed(WAIT_SECONDS)
    for _ in range(5):
        watch.module.tell(watch.module.gpus[0], 31)
        watch.take(1)

    assert watch.module.calls["nvmlDeviceRegisterEvents"] == 3


def test_a_new_session_is_watched_too(watch: _Watch) -> None:
    watch.module.tell(watch.module.gpus[0], 31)
    watch.take(1)
    watch.driver.restart("test")
    watch.driver.refreshed(WAIT_SECONDS)
    watch.module.tell(watch.module.gpus[0], 79)

    assert watch.take(1) == [("GPU-a", 79)]


def test_a_wait_that_fails_is_begun_anew_without_holding_more_sets(watch: _Watch) -> None:
    watch.module.tell(watch.module.gpus[0], 31)
    watch.take(1)
    watch.module.wait_failure = UNKNOWN
    until = time.monotonic() + WAIT_SECONDS
    while watch.module.calls["failed waits"] < 2 and time.monotonic() < until:
        time.sleep(0.001)
    watch.module.wait_failure = None
    watch.module.tell(watch.module.gpus[0], 79)

    assert watch.take(1) == [("GPU-a", 79)]
    assert len(watch.module.open_sets) == 1
