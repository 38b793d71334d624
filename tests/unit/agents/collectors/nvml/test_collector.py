"""All GPUs of a node, through what happens to them."""

import math
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pynvml
import pytest

from pulsetrain.agents.collectors.base import Collected, Observation, Support
from pulsetrain.agents.collectors.nvml.collector import NvmlCollector, NvmlHealthCollector
from pulsetrain.agents.collectors.nvml.driver import Driver
from pulsetrain.agents.collectors.nvml.gpu_reader import slow_parts
from pulsetrain.agents.collectors.nvml.kernel_log import KernelLog, KernelXid
from pulsetrain.agents.collectors.nvml.library import Nvml
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas.catalogue import find
from pulsetrain.schemas.status import StatusEvent
from tests.unit.agents.collectors.nvml.fake_pynvml import (
    GPU_IS_LOST,
    NOT_SUPPORTED,
    UNKNOWN,
    WAIT_SECONDS,
    Fail,
    FakeGpu,
    FakePynvml,
)

_POWER = "hw.power{hw.type=gpu}"
_USE = "hw.gpu.utilization{hw.gpu.task=general}"
_NS = 1_000_000_000
_HANG_SECONDS = 1.0


class ScriptedLog(KernelLog):
    """A kernel log that may not be read, with lines of the test's all the same."""

    def __init__(self) -> None:
        super().__init__(Path("/nonexistent"))
        self.new: list[KernelXid] = []

    def read(self) -> tuple[list[KernelXid], list[KernelXid]]:
        new, self.new = self.new, []
        return [], new


class _Node:
    """Eight GPUs and both collectors; a tick is a second."""

    def __init__(self, gpus: int = 8) -> None:
        self.module = FakePynvml(*(FakeGpu(f"GPU-{number}", 0x10 + number) for number in range(gpus)))
        self.now = 0.0
        self.kernel_log = ScriptedLog()
        self.make()

    def make(self) -> None:
        """Both collectors as an agent that starts has them."""
        self.driver = Driver(lambda: Nvml(self.module), lambda: self.now)
        owners: dict[str, Mapping[str, str]] = {}
        self.fast = NvmlCollector(
            self.driver, 1000, owners, self.kernel_log, lambda: Support(True, "test"), lambda: self.now
        )
        parts = slow_parts(lambda pid: {}, lambda uuid: {"pod": f"pod-of-{uuid}"})
        self.health = NvmlHealthCollector(self.driver, 10_000, parts, owners, lambda: Support(True), lambda: self.now)
        self.wait(WAIT_SECONDS)

    def change_settings(self) -> None:
        """Collectors with other settings come in the place of these."""
        fast, health = self.fast, self.health
        self.health.close()
        self.fast.close()
        self.make()
        self.fast.take_over(fast)
        self.health.take_over(health)

    def wait(self, seconds: float) -> None:
        """How long a round waits: long where all answer, so that no slow machine fails, and briefly where one hangs."""
        self.fast._wait_seconds = self.health._wait_seconds = seconds

    def tick(self, ticks: int = 1) -> Collected:
        for _ in range(ticks):
            self.now += 1.0
            collected = self.fast.collect(int(self.now) * _NS)
        return collected

    def close(self) -> None:
        for gpu in self.module.gpus:
            for hanging in gpu.hangs_in.values():
                hanging.set()
        self.health.close()
        self.fast.close()


@pytest.fixture
def node() -> Iterator[_Node]:
    made = _Node()
    yield made
    made.close()


def _by_entity(collected: Collected) -> dict[str, Observation]:
    return {observation.entity: observation for observation in collected.observations}


def _value(collected: Collected, gpu: int, metric: str = _POWER) -> float:
    observation = _by_entity(collected)[f"gpu:GPU-{gpu}"]
    return observation.values[observation.metrics.index(metric)]


def _events(collected: Collected) -> list[tuple[StatusEvent, str | None]]:
    return [(notice.event, notice.entity) for notice in collected.notices]


def test_every_gpu_is_an_entity_with_the_time_of_the_tick(node: _Node) -> None:
    collected = node.tick()

    assert set(_by_entity(collected)) == {f"gpu:GPU-{number}" for number in range(8)}
    assert {observation.time_ns for observation in collected.observations} == {_NS}
    assert collected.notices == []
    assert _value(collected, 3) == pytest.approx(612.345)


def test_all_metrics_are_announced_and_in_the_catalogue(node: _Node) -> None:
    told = {metric for observation in node.tick().observations for metric in observation.metrics}
    told_slowly = {metric for observation in node.health.collect(_NS).observations for metric in observation.metrics}

    for collector, metrics in ((node.fast, told), (node.health, told_slowly)):
        assert {metric.partition("{")[0] for metric in metrics} <= set(collector.metric_names)
        assert all(find(name) is not None for name in collector.metric_names)
    assert told & told_slowly == set()


def test_one_lost_gpu_leaves_seven_and_is_one_event(node: _Node) -> None:
    node.tick()
    node.module.gpus[3].failure = GPU_IS_LOST

    first, later = node.tick(), node.tick(20)

    assert _events(first) == [(StatusEvent.GPU_LOST, "gpu:GPU-3")]
    assert later.notices == []
    assert [number for number in range(8) if math.isnan(_value(first, number))] == [3]
    observation = _by_entity(later)["gpu:GPU-3"]
    assert set(observation.missing.values()) == {"gpu_is_lost"}
    assert set(observation.missing) == set(observation.metrics)


def test_a_count_that_drops_without_an_error_is_the_same_event(node: _Node) -> None:
    node.tick()
    gone = node.module.gpus.pop(3)

    collected = [node.tick() for _ in range(8)]

    assert [event for each in collected for event in _events(each)] == [(StatusEvent.GPU_LOST, "gpu:GPU-3")]
    node.module.gpus.insert(3, gone)
    back = [node.tick() for _ in range(8)]
    assert [event for each in back for event in _events(each)] == [(StatusEvent.GPU_RETURNED, "gpu:GPU-3")]
    assert _value(back[-1], 3) == pytest.approx(612.345)


def test_a_gpu_that_answers_again_has_returned_and_each_loss_counts(node: _Node) -> None:
    node.tick()
    events = []
    for failure in (GPU_IS_LOST, None, GPU_IS_LOST):
        node.module.gpus[3].failure = failure
        for _ in range(8):
            events += _events(node.tick())

    assert events == [
        (StatusEvent.GPU_LOST, "gpu:GPU-3"),
        (StatusEvent.GPU_RETURNED, "gpu:GPU-3"),
        (StatusEvent.GPU_LOST, "gpu:GPU-3"),
    ]


def test_while_a_gpu_is_lost_the_library_is_initialised_anew_now_and_then(node: _Node) -> None:
    node.tick()
    node.module.gpus[3].failure = GPU_IS_LOST

    node.tick(700)

    # After 30 seconds, then 30, 60, 120, 240 later.
    assert 4 <= node.module.calls["nvmlInit"] <= 7


def test_gpus_that_change_places_keep_their_entities(node: _Node) -> None:
    node.module.gpus[0].answers["nvmlDeviceGetPowerUsage"] = 111_000
    node.module.gpus[1].answers["nvmlDeviceGetPowerUsage"] = 222_000
    before = node.tick()
    node.module.gpus[0], node.module.gpus[1] = node.module.gpus[1], node.module.gpus[0]
    node.driver.restart("test")

    after = node.tick(2)

    assert [_value(before, 0), _value(before, 1)] == [_value(after, 0), _value(after, 1)] == [111.0, 222.0]
    assert _by_entity(after)["gpu:GPU-0"].labels["hw.gpu.index"] == "1"
    assert after.notices == []


@pytest.mark.parametrize("code", [18, 12])
def test_a_library_that_works_fifteen_minutes_after_the_start_needs_no_restart_of_the_agent(
    node: _Node, code: int
) -> None:
    node.module.failure = code
    for _ in range(60):
        with pytest.raises(CollectError, match="no GPU metrics: "):
            node.tick()
    node.module.failure = None
    node.now = 900.0

    collected = node.tick()

    assert len(collected.observations) == 8
    assert collected.notices == []


def test_when_every_call_fails_for_a_while_that_is_said_and_the_library_is_initialised_anew(node: _Node) -> None:
    node.tick()
    for gpu in node.module.gpus:
        gpu.failure = UNKNOWN
    failing = [node.tick(), node.tick()]
    for _ in range(300):
        with pytest.raises(CollectError, match="no GPU has had a value for several rounds: unknown"):
            node.tick()
    tried = node.module.calls["nvmlInit"]
    for gpu in node.module.gpus:
        gpu.failure = None

    # The GPUs are looked at every five seconds.
    node.now += 5.0
    recovered = node.tick()

    assert {_by_entity(failing[0])["gpu:GPU-0"].missing[_POWER]} == {"unknown"}
    # At once, then 30, 60 and 120 seconds later.
    assert tried == 5
    assert _value(recovered, 0) == pytest.approx(612.345)
    assert [each.notices for each in (*failing, recovered)] == [[]] * 3


def test_gpus_of_which_none_says_who_it_is_are_no_quiet_success(node: _Node) -> None:
    for gpu in node.module.gpus:
        gpu.failure = UNKNOWN

    with pytest.raises(CollectError, match="unknown"):
        node.tick(3)


@pytest.mark.parametrize("code", [UNKNOWN, pynvml.NVML_ERROR_RESET_REQUIRED])
def test_a_gpu_that_says_nothing_while_others_answer_is_lost_after_half_a_minute_and_can_return(
    node: _Node, code: int
) -> None:
    node.tick()
    node.module.gpus[3].failure = code
    at_first = [node.tick() for _ in range(25)]
    later = [node.tick() for _ in range(60)]
    node.module.gpus[3].failure = None
    back = [node.tick() for _ in range(8)]

    assert [event for each in at_first for event in _events(each)] == []
    assert [event for each in later for event in _events(each)] == [(StatusEvent.GPU_LOST, "gpu:GPU-3")]
    assert [event for each in back for event in _events(each)] == [(StatusEvent.GPU_RETURNED, "gpu:GPU-3")]
    assert [number for number in range(8) if math.isnan(_value(later[-1], number))] == [3]


def test_a_gpu_that_hangs_for_half_a_minute_is_lost_too(node: _Node) -> None:
    node.wait(_HANG_SECONDS)
    node.tick()
    node.module.gpus[3].hangs_in["nvmlDeviceGetPowerUsage"] = threading.Event()

    events = [event for _ in range(40) for event in _events(node.tick())]

    assert events == [(StatusEvent.GPU_LOST, "gpu:GPU-3")]


def test_a_gpu_that_says_nothing_since_before_the_start_is_told_once(node: _Node) -> None:
    node.module.gpus[3].failure = UNKNOWN

    events = [event for _ in range(90) for event in _events(node.tick())]

    assert events == [(StatusEvent.GPU_LOST, None)]


def test_what_has_happened_is_told_when_no_gpu_answers_any_more(node: _Node) -> None:
    node.tick()
    for gpu in node.module.gpus:
        gpu.failure = GPU_IS_LOST if gpu is node.module.gpus[3] else UNKNOWN

    events = []
    for _ in range(5):
        try:
            events += _events(node.tick())
        except CollectError:
            continue

    assert events == [(StatusEvent.GPU_LOST, "gpu:GPU-3")]


def test_both_collectors_give_the_same_reason_for_a_lost_gpu(node: _Node) -> None:
    node.tick()
    node.health.collect(_NS)
    node.module.gpus[3].failure = GPU_IS_LOST
    fast, health = node.tick(8), node.health.collect(_NS)

    for collected in (fast, health):
        assert set(_by_entity(collected)["gpu:GPU-3"].missing.values()) == {"gpu_is_lost"}


def test_a_library_that_somebody_shut_down_is_initialised_at_once(node: _Node) -> None:
    node.tick()
    node.module.initialised = 0

    collected = node.tick(3)

    assert node.module.calls["nvmlInit"] == 2
    assert _value(collected, 0) == pytest.approx(612.345)


def test_a_hanging_gpu_delays_no_other_and_says_for_how_long(node: _Node) -> None:
    node.wait(_HANG_SECONDS)
    node.tick()
    node.module.gpus[3].hangs_in["nvmlDeviceGetPowerUsage"] = threading.Event()
    first = node.tick()
    started = time.monotonic()

    later = node.tick(5)

    assert time.monotonic() - started < WAIT_SECONDS
    assert [number for number in range(8) if math.isnan(_value(later, number))] == [3]
    assert set(_by_entity(first)["gpu:GPU-3"].missing.values()) == {"no answer for 0 s"}
    assert set(_by_entity(later)["gpu:GPU-3"].missing.values()) == {"no answer for 5 s"}
    assert later.notices == []


def test_a_gpu_that_stops_hanging_goes_on(node: _Node) -> None:
    node.wait(_HANG_SECONDS)
    node.tick()
    hanging = node.module.gpus[3].hangs_in["nvmlDeviceGetPowerUsage"] = threading.Event()
    node.tick()
    hanging.set()
    until = time.monotonic() + WAIT_SECONDS
    while math.isnan(_value(node.tick(), 3)) and time.monotonic() < until:
        time.sleep(0.001)

    assert _value(node.tick(), 3) == pytest.approx(612.345)


def test_a_gpu_that_hangs_from_the_start_is_missing_and_not_silent(node: _Node) -> None:
    node.wait(_HANG_SECONDS)
    node.module.gpus[3].hangs_in["nvmlDeviceGetUtilizationRates"] = threading.Event()

    observation = _by_entity(node.tick())["gpu:GPU-3"]

    assert math.isnan(observation.values[observation.metrics.index(_USE)])
    assert observation.missing[_USE].startswith("no answer for")


def test_a_slow_call_that_hangs_does_not_stop_what_is_fast(node: _Node) -> None:
    node.wait(_HANG_SECONDS)
    node.tick()
    node.module.gpus[3].hangs_in["nvmlDeviceGetComputeRunningProcesses"] = threading.Event()

    slow, fast = node.health.collect(_NS), node.tick()

    assert math.isnan(_value(slow, 3, "hw.gpu.process.count"))
    assert _value(slow, 4, "hw.gpu.process.count") == 0.0
    assert _value(fast, 3) == pytest.approx(612.345)


def test_a_field_that_is_not_supported_says_so_and_the_gpu_is_well(node: _Node) -> None:
    node.module.gpus[3].answers["nvmlDeviceGetUtilizationRates"] = Fail(NOT_SUPPORTED)

    collected = node.tick()

    observation = _by_entity(collected)["gpu:GPU-3"]
    assert math.isnan(_value(collected, 3, _USE))
    assert observation.missing[_USE] == "not_supported"
    assert _value(collected, 3) == pytest.approx(612.345)
    assert collected.notices == []


def test_an_answer_that_is_not_understood_costs_one_gpu_and_is_logged_once(
    node: _Node, caplog: pytest.LogCaptureFixture
) -> None:
    node.tick()
    node.module.gpus[3].answers["nvmlDeviceGetUtilizationRates"] = "not what it should be"

    collected = node.tick(5)

    assert [number for number in range(8) if math.isnan(_value(collected, number))] == [3]
    assert "AttributeError" in _by_entity(collected)["gpu:GPU-3"].missing[_POWER]
    assert len([record for record in caplog.records if "can't be read" in record.message]) == 1


def test_whom_a_gpu_works_for_is_on_its_fast_metrics_too(node: _Node) -> None:
    node.tick()
    node.health.collect(_NS)

    assert _by_entity(node.tick())["gpu:GPU-3"].labels["pod"] == "pod-of-GPU-3"


def test_an_xid_is_told_once_and_counted_from_then_on(node: _Node) -> None:
    node.tick()
    node.module.tell(node.module.gpus[3], 79)
    events: list[tuple[StatusEvent, str | None]] = []
    until = time.monotonic() + WAIT_SECONDS
    while not events and time.monotonic() < until:
        collected = node.tick()
        events += _events(collected)
        time.sleep(0.001)

    assert events == [(StatusEvent.GPU_XID, "gpu:GPU-3")]
    later = node.tick(3)
    assert later.notices == []
    assert _value(later, 3, "hw.errors{error.type=xid,hw.type=gpu}") == 1.0
    assert _value(later, 3, "hw.gpu.last_xid") == 79.0
    assert _value(later, 4, "hw.errors{error.type=xid,hw.type=gpu}") == 0.0


def test_a_gpu_that_is_lost_stays_lost_through_a_change_of_settings_and_returns_once(node: _Node) -> None:
    node.tick()
    node.health.collect(_NS)
    gone = node.module.gpus.pop(3)
    before = [event for _ in range(8) for event in _events(node.tick())]

    node.change_settings()
    after = [event for _ in range(8) for event in _events(node.tick())]
    lost, slowly = _by_entity(node.tick())["gpu:GPU-3"], _by_entity(node.health.collect(_NS))["gpu:GPU-3"]
    node.module.gpus.insert(3, gone)
    back = [event for _ in range(8) for event in _events(node.tick())]

    assert before == [(StatusEvent.GPU_LOST, "gpu:GPU-3")]
    assert after == []
    for observation in (lost, slowly):
        assert set(observation.missing.values()) == {"gpu_is_lost"}
        assert all(map(math.isnan, observation.values))
    assert back == [(StatusEvent.GPU_RETURNED, "gpu:GPU-3")]


def test_a_gpu_that_is_lost_while_settings_change_is_told(node: _Node) -> None:
    node.tick()
    node.module.gpus[3].failure = GPU_IS_LOST
    node.change_settings()

    assert [event for _ in range(8) for event in _events(node.tick())] == [(StatusEvent.GPU_LOST, "gpu:GPU-3")]


def test_an_xid_is_told_and_counted_once_through_a_change_of_settings_whoever_tells_it_when(node: _Node) -> None:
    address = (0, 0x13, 0)
    node.tick()
    # NVML told before the change, but it was not taken yet; the log tells of the same after it, and of another.
    node.fast._events._events.put(("GPU-3", 79))
    node.change_settings()
    first = node.tick()
    node.kernel_log.new = [KernelXid(address, 79, None, "off the bus"), KernelXid(address, 31, 7, "")]
    second = node.tick()
    node.change_settings()
    later = node.tick()

    assert [notice.details["xid"] for notice in first.notices] == [79]
    assert [notice.details["xid"] for notice in second.notices] == [31]
    assert later.notices == []
    assert _value(later, 3, "hw.errors{error.type=xid,hw.type=gpu}") == 2.0
    assert _value(later, 3, "hw.errors{error.type=xid_79,hw.type=gpu}") == 1.0
    assert _value(later, 3, "hw.gpu.last_xid") == 31.0


def test_what_a_closed_collector_had_still_to_tell_is_told_by_its_successor(node: _Node) -> None:
    node.tick()
    node.kernel_log.new = [KernelXid((0, 0x13, 0), 79, None, "off the bus")]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node.fast, "_restart_if_needed", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            node.tick()
    node.change_settings()

    assert _events(node.tick()) == [(StatusEvent.GPU_XID, "gpu:GPU-3")]


def test_what_brings_pynvml_and_a_kernel_log_that_may_not_be_read_are_said_at_the_start(
    node: _Node, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")

    support = node.fast.is_supported()

    assert support.supported
    assert "Xids from NVML only" in support.reason
    assert [record.message for record in caplog.records] == [f"GPUs are read: {support.reason}"]
    assert support.reason.startswith("test; ")


def test_that_there_are_more_gpus_than_are_read_is_told_once() -> None:
    node = _Node(gpus=66)
    told = [node.tick().notices, node.tick(10).notices]
    assert [[notice.message for notice in notices] for notices in told] == [
        ["This node has 66 GPUs: only the first 64 are read."],
        [],
    ]
    node.close()


def test_closing_frees_everything_and_shuts_down() -> None:
    node = _Node()
    for gpu in node.module.gpus:
        gpu.has_gpm = True
    node.tick(3)
    node.health.collect(_NS)

    node.close()

    assert node.module.initialised == 0
    assert node.module.open_samples == set()


def test_closing_while_a_call_hangs_does_not_wait_for_it_for_ever(node: _Node) -> None:
    node.wait(_HANG_SECONDS)
    node.tick()
    hanging = node.module.gpus[3].hangs_in["nvmlDeviceGetPowerUsage"] = threading.Event()
    node.tick()

    node.fast.close()

    assert node.module.initialised == 1
    hanging.set()


def test_ecc_errors_that_grow_are_counters_that_grow(node: _Node) -> None:
    metric = "hw.errors{error.type=ecc_uncorrected,hw.gpu.ecc.counter=volatile,hw.type=gpu}"
    count = 0

    def errors(error: int, counter: int) -> int:
        return count if error == pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED else 0

    node.module.gpus[3].answers["nvmlDeviceGetTotalEccErrors"] = errors
    values = []
    for count in (0, 1, 5):  # noqa: B007
        node.now += 10.0
        values.append(_value(node.health.collect(_NS), 3, metric))

    assert values == [0.0, 1.0, 5.0]
