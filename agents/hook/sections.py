"""Parts of a step that are timed: `with probe.data_wait(): ...`."""

from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from pulsetrain.agents.hook.cuda import CudaReader, Timing


class _Timer(Protocol):
    """Begins and ends one stretch; may raise."""

    def begin(self) -> None: ...

    def end(self) -> None: ...


class Section:
    """A part of a step; may be entered several times a step, which adds up, but not within itself. Never raises.

    Args:
        timer: what measures it; replaced when the probe opens, and None while it does not listen.
        on_error: told what went wrong.
    """

    __slots__ = ("_on_error", "timer")

    def __init__(self, on_error: Callable[[Exception], None]) -> None:
        self.timer: _Timer | None = None
        self._on_error = on_error

    def begin(self) -> None:
        """The part begins; a beginning without an end before it is forgotten."""
        if self.timer is not None:
            try:
                self.timer.begin()
            except Exception as error:
                self._on_error(error)

    def end(self) -> None:
        """The part is over; without a beginning before it nothing is measured."""
        if self.timer is not None:
            try:
                self.timer.end()
            except Exception as error:
                self._on_error(error)

    __enter__ = begin

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()


class HostTimer:
    """Takes the time on the host.

    Args:
        monotonic_ns: a clock that is never set.
    """

    def __init__(self, monotonic_ns: Callable[[], int]) -> None:
        self._monotonic_ns = monotonic_ns
        self._begin_ns: int | None = None
        self._total_ns: int | None = None

    def begin(self) -> None:
        self._begin_ns = self._monotonic_ns()

    def end(self) -> None:
        if self._begin_ns is not None:
            self._total_ns = (self._total_ns or 0) + self._monotonic_ns() - self._begin_ns
            self._begin_ns = None

    def take(self) -> int | None:
        """Nanoseconds since the last time it was taken, None if nothing was measured."""
        total, self._total_ns = self._total_ns, None
        return total


class DeviceTimer:
    """Takes the time where the work is done: between events on the CUDA device in use, else on the host.

    Args:
        reader: gives the device in use, None where there is none.
        host: what measures then.
    """

    def __init__(self, reader: Callable[[], CudaReader | None], host: HostTimer) -> None:
        self._reader = reader
        self._host = host
        self._running: tuple[CudaReader, Timing] | None = None
        self._timings: list[Timing] = []

    def begin(self) -> None:
        reader = self._reader()
        if self._running is not None:
            unfinished, self._running = self._running, None
            unfinished[0].give_back(unfinished[1])
        if reader is None:
            self._host.begin()
        elif (timing := reader.start()) is not None:
            self._running = reader, timing

    def end(self) -> None:
        self._host.end()
        if self._running is not None:
            (reader, timing), self._running = self._running, None
            reader.stop(timing)
            self._timings.append(timing)

    def take(self) -> tuple[int | None, list[Timing]]:
        """What the host measured since the last time, in ns, and what the device is measuring."""
        if not self._timings:
            return self._host.take(), []
        timings, self._timings = self._timings, []
        return self._host.take(), timings
