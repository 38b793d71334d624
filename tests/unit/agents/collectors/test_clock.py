"""The kernel's clock state; struct timex is laid out as in include/uapi/linux/timex.h of Linux on 64 bits."""

import ctypes
from collections.abc import Callable

import pytest

from pulsetrain.agents.collectors.clock import ClockCollector
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas import catalogue

STA_PLL, STA_UNSYNC, STA_NANO = 0x0001, 0x0040, 0x2000
TIME_OK, TIME_ERROR = 0, 5


class Timex(ctypes.Structure):
    """The fields in the order of the header."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("constant", ctypes.c_long),
        ("precision", ctypes.c_long),
        ("tolerance", ctypes.c_long),
        ("time", ctypes.c_long * 2),
        ("tick", ctypes.c_long),
        ("ppsfreq", ctypes.c_long),
        ("jitter", ctypes.c_long),
        ("shift", ctypes.c_int),
        ("stabil", ctypes.c_long),
        ("jitcnt", ctypes.c_long),
        ("calcnt", ctypes.c_long),
        ("errcnt", ctypes.c_long),
        ("stbcnt", ctypes.c_long),
        ("tai", ctypes.c_int),
        ("unused", ctypes.c_int * 11),
    )


def kernel(state: int, **fields: int) -> "Callable[[ctypes.Array[ctypes.c_char]], int]":
    def adjtimex(buffer: "ctypes.Array[ctypes.c_char]") -> int:
        timex = Timex.from_buffer(buffer)
        assert timex.modes == 0, "something would be set"
        for name, value in fields.items():
            setattr(timex, name, value)
        return state

    return adjtimex


def values(collector: ClockCollector) -> dict[str, float]:
    assert collector.is_supported().supported
    return dict(zip(collector.metrics(), collector.decode([collector.read()])[0], strict=True))


def test_a_synchronized_clock_tells_its_errors_in_seconds() -> None:
    found = values(
        ClockCollector(
            kernel(
                TIME_OK,
                status=STA_PLL | STA_NANO,
                offset=-250_000,
                maxerror=16_000,
                esterror=120,
                # 12.5 parts per million, with 16 bits behind the point
                freq=819_200,
                tai=37,
            )
        )
    )
    assert found == {
        "system.linux.clock.synchronized": 1.0,
        "system.linux.clock.offset": pytest.approx(-0.00025),
        "system.linux.clock.max_error": pytest.approx(0.016),
        "system.linux.clock.estimated_error": pytest.approx(0.00012),
        "system.linux.clock.frequency_correction": pytest.approx(12.5e-6),
        "system.linux.clock.tai_offset": 37.0,
    }
    for metric, value in found.items():
        entry = catalogue.find(metric)
        assert entry is not None, metric
        assert entry.valid_min <= value <= entry.valid_max


def test_without_the_flag_for_nanoseconds_the_offset_is_in_microseconds() -> None:
    assert values(ClockCollector(kernel(TIME_OK, offset=1500)))["system.linux.clock.offset"] == pytest.approx(0.0015)


@pytest.mark.parametrize(("state", "status"), [(TIME_ERROR, STA_PLL), (TIME_OK, STA_UNSYNC)])
def test_the_kernels_flags_say_that_a_clock_is_not_synchronized(state: int, status: int) -> None:
    assert values(ClockCollector(kernel(state, status=status)))["system.linux.clock.synchronized"] == 0.0


@pytest.mark.parametrize("error", [PermissionError(1, "Operation not permitted"), AttributeError("adjtimex")])
def test_where_the_call_is_forbidden_or_absent_the_collector_is_not_supported(error: Exception) -> None:
    def refuse(_: "ctypes.Array[ctypes.c_char]") -> int:
        raise error

    collector = ClockCollector(refuse)
    support = collector.is_supported()
    assert not support.supported
    assert str(error) in support.reason
    with pytest.raises(CollectError):
        collector.read()


def test_this_machines_clock_answers_in_range_or_says_why_not() -> None:
    collector = ClockCollector()
    if not collector.is_supported().supported:
        pytest.skip(collector.is_supported().reason)
    found = values(collector)
    assert found["system.linux.clock.synchronized"] in (0.0, 1.0)
    assert 0 <= found["system.linux.clock.tai_offset"] < 100
    collector.close()
