"""Each Xid is counted and told once, whoever tells of it, and its code is no magnitude."""

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.collectors.nvml.identity import Gpu
from pulsetrain.agents.collectors.nvml.kernel_log import KernelXid
from pulsetrain.agents.collectors.nvml.reading import Reading
from pulsetrain.agents.collectors.nvml.xids import Xids
from pulsetrain.schemas.catalogue import JudgedBy, MetricKind, find
from pulsetrain.schemas.status import Severity, StatusEvent

_GPUS = {"GPU-a": Gpu("GPU-a", 0, "NVIDIA H100", "", "00000000:3b:00.0", 1)}
_COUNT, _LAST = "hw.errors{error.type=xid,hw.type=gpu}", "hw.gpu.last_xid"


def _line(code: int, address: tuple[int, int, int] = (0, 0x3B, 0)) -> KernelXid:
    return KernelXid(address, code, 4711, "pid=4711, name=train")


def _values(xids: Xids) -> dict[str, float]:
    reading = Reading()
    xids.read_into(reading, _GPUS["GPU-a"])
    return reading.values


def test_without_events_the_count_is_zero_and_the_last_code_missing() -> None:
    values = _values(Xids())

    assert values[_COUNT] == 0.0
    assert math.isnan(values[_LAST])


def test_an_event_that_both_sources_tell_is_one_event() -> None:
    xids = Xids(lambda: 0.0)
    xids.from_nvml("GPU-a", 79)
    xids.in_kernel_log(_line(79), _GPUS)

    (notice,) = xids.take(_GPUS)

    assert (notice.event, notice.severity, notice.entity) == (StatusEvent.GPU_XID, Severity.ERROR, "gpu:GPU-a")
    assert (notice.details["xid"], notice.details["events"]) == (79, 1)
    assert "fallen off the bus" in notice.message
    assert _values(xids)[_COUNT] == 1.0


def test_the_second_source_may_come_after_the_notice() -> None:
    now = [0.0]
    xids = Xids(lambda: now[0])
    xids.from_nvml("GPU-a", 31)
    first = xids.take(_GPUS)
    now[0] = 2.0
    xids.in_kernel_log(_line(31), _GPUS)

    assert len(first) == 1
    assert xids.take(_GPUS) == []


@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from([31, 79])), max_size=60))
def test_a_code_that_comes_again_and_again_is_told_at_once_and_then_each_half_minute(
    steps: list[tuple[int, int]],
) -> None:
    now, told, told_at = [0.0], Counter[int](), dict[int, float]()
    xids = Xids(lambda: now[0])

    def take() -> None:
        for notice in xids.take(_GPUS):
            code, events = notice.details["xid"], notice.details["events"]
            assert isinstance(code, int)
            assert isinstance(events, int)
            assert now[0] - told_at.get(code, -math.inf) >= 30.0
            told_at[code] = now[0]
            told[code] += events

    for seconds, code in steps:
        now[0] += seconds
        xids.from_nvml("GPU-a", code)
        is_due = now[0] - told_at.get(code, -math.inf) >= 30.0
        before = told[code]
        take()
        assert (told[code] > before) == is_due
    now[0] += 30.0
    take()
    assert told == Counter(code for _, code in steps)


def test_the_same_code_again_from_the_same_source_is_another_event() -> None:
    xids = Xids(lambda: 0.0)
    for _ in range(3):
        xids.in_kernel_log(_line(31), _GPUS)
    xids.from_nvml("GPU-a", 31)

    (notice,) = xids.take(_GPUS)

    assert notice.details["events"] == 3
    assert "3 times" in notice.message
    assert _values(xids)[_COUNT] == 3.0


def test_the_same_code_much_later_is_another_event_whoever_tells_it() -> None:
    now = [0.0]
    xids = Xids(lambda: now[0])
    xids.from_nvml("GPU-a", 31)
    for now[0] in (1.0, 2.0, 3.0):
        xids.take(_GPUS)
    now[0] = 60.0
    xids.in_kernel_log(_line(31), _GPUS)

    assert len(xids.take(_GPUS)) == 1
    assert _values(xids)[_COUNT] == 2.0


def test_sources_that_are_asked_seldom_still_tell_of_one_event() -> None:
    now = [0.0]
    xids = Xids(lambda: now[0])
    xids.take(_GPUS)
    now[0] = 60.0
    xids.in_kernel_log(_line(31), _GPUS)
    xids.take(_GPUS)
    now[0] = 120.0
    xids.from_nvml("GPU-a", 31)

    assert xids.take(_GPUS) == []
    assert _values(xids)[_COUNT] == 1.0


def test_different_codes_are_different_events() -> None:
    xids = Xids(lambda: 0.0)
    for code in (31, 79):
        xids.in_kernel_log(_line(code), _GPUS)

    assert [notice.details["xid"] for notice in xids.take(_GPUS)] == [31, 79]
    values = _values(xids)
    assert (values[_COUNT], values[_LAST]) == (2.0, 79.0)
    assert values["hw.errors{error.type=xid_31,hw.type=gpu}"] == 1.0


def test_a_code_of_before_the_start_is_a_state_and_no_event() -> None:
    xids = Xids()
    xids.was_there(_line(31), _GPUS)

    assert xids.take(_GPUS) == []
    values = _values(xids)
    assert (values[_COUNT], values[_LAST]) == (0.0, 31.0)


def test_an_event_of_a_gpu_that_is_not_known_is_told_with_its_address() -> None:
    xids = Xids()
    xids.in_kernel_log(_line(79, (0, 0xC1, 0)), _GPUS)

    (notice,) = xids.take(_GPUS)

    assert notice.entity is None
    assert "0000:c1:00" in notice.message


def test_what_the_log_told_before_the_gpu_was_known_is_the_gpus_own_later() -> None:
    xids = Xids()
    xids.was_there(_line(31), {})
    xids.in_kernel_log(_line(48), {})

    values = _values(xids)

    assert (values[_COUNT], values[_LAST]) == (1.0, 48.0)
    assert _values(xids) == values


def test_a_storm_of_events_is_one_notice_and_a_bounded_memory() -> None:
    now = [0.0]
    xids = Xids(lambda: now[0])
    for code in range(200):
        for _ in range(20):
            xids.in_kernel_log(_line(code), _GPUS)
    assert len(xids.take(_GPUS)) == 200
    for now[0] in (100.0, 101.0):
        xids.take(_GPUS)

    values = _values(xids)
    assert len(values) <= 66
    assert values[_COUNT] == 4000.0
    assert len(xids._unmatched) == 0


def test_the_last_code_is_judged_by_nothing_and_the_events_are_a_counter() -> None:
    last, errors = find(_LAST), find(_COUNT)

    assert last is not None
    assert last.judged_by is JudgedBy.NOTHING
    assert errors is not None
    assert errors.kind is MetricKind.COUNTER
