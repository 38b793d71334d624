"""How well the kernel takes its clock to be synchronized, from adjtimex(2), asked without changing anything."""

import ctypes
import os
import struct
from collections.abc import Callable, Sequence
from functools import cache

from pulsetrain.agents.collectors.base import HOST, Support
from pulsetrain.agents.errors import CollectError

_TIMEX = struct.Struct("@I4li3l2l3li5li11i")
"""struct timex of Linux on 64 bits: modes; offset, freq, maxerror, esterror; status; constant, precision, tolerance;
time; tick, ppsfreq, jitter; shift; stabil, jitcnt, calcnt, errcnt, stbcnt; tai; 11 unused."""

_OFFSET, _FREQUENCY, _MAX_ERROR, _ESTIMATED_ERROR, _STATUS, _TAI = 1, 2, 3, 4, 5, 20
_STA_UNSYNC, _STA_NANO = 0x0040, 0x2000
_TIME_ERROR = 5
_MICROSECOND, _NANOSECOND = 1e-6, 1e-9
_SCALED_PPM = 2.0**-16 * 1e-6
"""freq counts parts per million, with 16 bits behind the point."""

_METRICS = (
    "system.linux.clock.synchronized",
    "system.linux.clock.offset",
    "system.linux.clock.max_error",
    "system.linux.clock.estimated_error",
    "system.linux.clock.frequency_correction",
    "system.linux.clock.tai_offset",
)

Adjtimex = Callable[["ctypes.Array[ctypes.c_char]"], int]
"""Fills a struct timex; gives the clock's state. Raises OSError where that is not allowed."""

Reading = tuple[int, bytes]


def kernel_adjtimex(timex: "ctypes.Array[ctypes.c_char]") -> int:
    """The C library's adjtimex."""
    state = int(_c_library().adjtimex(timex))
    if state < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return state


@cache
def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


class ClockCollector:
    """The kernel's own opinion of its clock: a daemon such as chrony or ntpd tells it.

    Args:
        adjtimex: the call.
    """

    metric_names = _METRICS

    def __init__(self, adjtimex: Adjtimex = kernel_adjtimex) -> None:
        self.name = "clock"
        self.entity = HOST
        self.source = "adjtimex(2)"
        self._adjtimex = adjtimex

    def is_supported(self) -> Support:
        """Whether the call is allowed; a container's seccomp filter may forbid it."""
        try:
            self.read()
        except CollectError as error:
            return Support(False, str(error))
        return Support(True)

    def metrics(self) -> tuple[str, ...]:
        """Metric ids in the order of the values."""
        return _METRICS

    def read(self) -> Reading:
        """State of the clock and struct timex. `modes` is 0: nothing is set."""
        timex = ctypes.create_string_buffer(_TIMEX.size)
        try:
            return self._adjtimex(timex), timex.raw
        except (OSError, AttributeError) as error:
            raise CollectError(f"{self.source} can't be called: {error}") from error

    def decode(self, readings: Sequence[Reading]) -> Sequence[Sequence[float]]:
        """Whether it is synchronized, and seconds."""
        return [_values(state, _TIMEX.unpack(raw)) for state, raw in readings]

    def close(self) -> None:
        """Nothing is open."""


def _values(state: int, timex: Sequence[int]) -> Sequence[float]:
    status = timex[_STATUS]
    return (
        0.0 if state == _TIME_ERROR or status & _STA_UNSYNC else 1.0,
        timex[_OFFSET] * (_NANOSECOND if status & _STA_NANO else _MICROSECOND),
        timex[_MAX_ERROR] * _MICROSECOND,
        timex[_ESTIMATED_ERROR] * _MICROSECOND,
        timex[_FREQUENCY] * _SCALED_PPM,
        float(timex[_TAI]),
    )
