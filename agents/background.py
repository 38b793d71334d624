"""A thread for each slow source, so that one that is slow or hangs delays nothing else.

The thread keeps its own schedule: it asks at wall-clock multiples of the interval, and what it misses is missed. While
a call hangs its thread waits for it, nobody else does, and no second one is started.
"""

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pulsetrain.agents.collectors.base import BackgroundCollector, BusyBetweenCalls, Collected, Notice
from pulsetrain.agents.collectors.scheduled import Importance, InBackground
from pulsetrain.agents.errors import MORE_THREADS, failure_of
from pulsetrain.agents.schedule import ticks

_LOG = logging.getLogger(__name__)

_NS_PER_MS = 1_000_000

MAX_WAITING = 64
"""Outcomes of one thread that wait for the runner; it takes them several times a second."""

MAX_NOTICES = 100
"""Of one thread that wait for the runner."""

FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 10.0, 600.0
"""When a source that is not supported is tried again: a driver may come, a process may start."""

_ABSENT_TICK_NS = 5_000_000_000
"""How often it is looked whether it is time for that: a node has many sources that other nodes have, and no source
that is absent is worth a wake-up a second."""

_SWITCH_SECONDS = 0.0005
"""After so long a thread that computes lets others go on. A tick that reads ten files beside a thread that parses a
large text took 50 ms with Python's 5 ms, and takes 5 ms with this."""

_CLOSE_SECONDS = 1.0
"""How long the agent's end waits for all threads together."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one call.

    `tick_ns` is the time it was asked for, `arrived_ns` when it answered, both Unix nanoseconds. Either `collected` is
    there, or `failure` says why not; `is_unsupported` says that the source is absent here, which is no fault.
    """

    tick_ns: int
    arrived_ns: int
    interval_ns: int
    seconds: float
    collected: Collected | None = None
    failure: str | None = None
    is_unsupported: bool = False


class BackgroundThread:
    """Asks one collector; the outcomes and the notices are taken by another thread.

    What has happened is told once and stays true, so a notice is handed over whatever becomes of the call that brought
    it: of a call that came too late, or whose outcome finds no room, only the observations are lost.

    Args:
        registered: the collector and its importance.
        time_ns: the wall clock, Unix nanoseconds.
        monotonic: seconds that only grow.
    """

    def __init__(
        self,
        registered: InBackground,
        time_ns: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.collector: BackgroundCollector = registered.collector
        self._busy = registered.collector if isinstance(registered.collector, BusyBetweenCalls) else None
        self.name = registered.collector.name
        self.importance: Importance = registered.importance
        self.slowed_by = 1
        self._dropped_outcomes = self._dropped_samples = 0
        self._counted_drops = (0, 0)
        self._time_ns = time_ns
        self._monotonic = monotonic
        self._outcomes: deque[Outcome] = deque()
        self._notices: deque[Notice] = deque()
        self._stop = threading.Event()
        self._asked: tuple[int, float] | None = None
        self._closing = threading.Lock()
        self._was_cut_short = False
        self._is_supported = False
        self._retry_at = -float("inf")
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._thread = threading.Thread(target=self._run, name=f"collect {self.collector.name}", daemon=True)

    @property
    def interval_ns(self) -> int:
        """Distance of two calls now."""
        return self.collector.interval_ms * _NS_PER_MS * self.slowed_by

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing to take and no call under way."""
        return self._asked is None and not self._outcomes and not self._notices

    @property
    def is_unfinished(self) -> bool:
        """Whether the end cut a reading short, or left it behind."""
        return self._was_cut_short or (self._is_supported and self._asked is not None)

    def start(self) -> bool:
        """Begin to ask, if that has not begun; whether it has. If not, that is told as a failure; to be tried again."""
        if self._thread.ident is not None:
            return True
        try:
            self._thread.start()
        except RuntimeError as error:
            self._put(self._outcome(self._time_ns(), 0.0, failure=f"it has no thread: {error}; {MORE_THREADS}"))
            return False
        return True

    def begin_anew(self) -> None:
        """A session begins: at full pace, and what is not supported is tried again at the next tick."""
        self.slowed_by = 1
        self._retry_at = -float("inf")
        self._retry_seconds = FIRST_RETRY_SECONDS

    def outcomes(self) -> Iterator[Outcome]:
        """What has come since the last time."""
        while self._outcomes:
            yield self._outcomes.popleft()

    def notices(self) -> Iterator[Notice]:
        """What was told since the last time."""
        while self._notices:
            yield self._notices.popleft()

    def new_drops(self) -> tuple[int, int]:
        """Outcomes that found no room since the last time, and the samples in them."""
        before, self._counted_drops = self._counted_drops, (self._dropped_outcomes, self._dropped_samples)
        return self._counted_drops[0] - before[0], self._counted_drops[1] - before[1]

    def hangs_since_ns(self) -> int | None:
        """The tick whose call has had no answer for longer than the deadline; None if there is none."""
        asked = self._asked
        if asked is None or self._monotonic() - asked[1] <= self.collector.deadline_seconds:
            return None
        return asked[0]

    def run(self, wait: Callable[[float], bool]) -> None:
        """Ask until `wait` says to stop; the body of the thread."""
        self._ask(self._time_ns(), is_tick=False)
        for tick in ticks(self._tick_distance_ns, self._time_ns, wait):
            self._ask(tick.grid_ns, is_tick=True)

    def stop(self) -> None:
        """Tell the thread to end; it does after the call that it is in. If it never began, close the collector."""
        self._stop.set()
        if self._thread.ident is None:
            self.close()

    def join(self, seconds: float) -> bool:
        """Wait for the thread's end for so long at most; whether it has ended."""
        if self._thread.is_alive():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Close the collector, once; errors are logged."""
        if not self._closing.acquire(blocking=False):
            return
        try:
            self.collector.close()
        except Exception:  # the agent ends all the same
            _LOG.exception("The collector %s could not be closed.", self.collector.name)

    def _run(self) -> None:
        try:
            self.run(self._stop.wait)
        finally:
            self.close()

    def _tick_distance_ns(self) -> int:
        return self.interval_ns if self._is_supported else max(self.interval_ns, _ABSENT_TICK_NS)

    def _ask(self, tick_ns: int, is_tick: bool) -> None:
        if not self._is_supported:
            self._try_source(tick_ns)
        if self._is_supported and is_tick:
            self._collect(tick_ns)

    def _try_source(self, tick_ns: int) -> None:
        if self._monotonic() < self._retry_at:
            return
        begin = self._monotonic()
        self._asked = (tick_ns, begin)
        try:
            support = self.collector.is_supported()
            self._is_supported, reason, is_unsupported = support.supported, support.reason, True
        except Exception as error:  # a fault in one collector must not end the others
            reason, is_unsupported = failure_of(error), False
        self._asked = None
        if self._is_supported:
            self._retry_seconds = FIRST_RETRY_SECONDS
            return
        end = self._monotonic()
        self._retry_at = end + self._retry_seconds
        self._retry_seconds = min(2 * self._retry_seconds, LONGEST_RETRY_SECONDS)
        self._put(self._outcome(tick_ns, end - begin, failure=reason, is_unsupported=is_unsupported))

    def _collect(self, tick_ns: int) -> None:
        collected, failure = None, None
        if self._busy is not None:
            self._busy.slowed_by = self.slowed_by
        begin = self._monotonic()
        self._asked = (tick_ns, begin)
        try:
            collected = self.collector.collect(tick_ns)
            self._tell(collected.notices)
        except Exception as error:  # a fault in one collector must not end the others
            failure = failure_of(error)
        self._asked = None
        if self._closing.locked() and (collected is None or not collected.observations):
            self._was_cut_short = True
            return
        seconds = self._monotonic() - begin
        if seconds > self.collector.deadline_seconds:
            late = f"answered after {seconds:.1f} s, later than its deadline of {self.collector.deadline_seconds:g} s"
            collected, failure = None, late if failure is None else f"{failure} ({late})"
        self._put(self._outcome(tick_ns, seconds, collected, failure))

    def _tell(self, notices: Sequence[Notice]) -> None:
        room = MAX_NOTICES - len(self._notices)
        self._notices += notices[:room]
        if len(notices) > room:
            _LOG.warning("The collector %s had %d more messages, which are not sent.", self.name, len(notices) - room)

    def _outcome(
        self,
        tick_ns: int,
        seconds: float,
        collected: Collected | None = None,
        failure: str | None = None,
        is_unsupported: bool = False,
    ) -> Outcome:
        return Outcome(tick_ns, self._time_ns(), self.interval_ns, seconds, collected, failure, is_unsupported)

    def _put(self, outcome: Outcome) -> None:
        # Only this thread adds, so that there may be fewer by now, never more.
        if len(self._outcomes) >= MAX_WAITING:
            self._dropped_outcomes += 1
            if outcome.collected is not None:
                self._dropped_samples += outcome.collected.samples
        else:
            self._outcomes.append(outcome)


def start_all(threads: Sequence[BackgroundThread]) -> list[BackgroundThread]:
    """Start all threads, of a process in which the loop of ticks comes first; returns those that could not be started.

    The others go on without them.
    """
    if threads:
        sys.setswitchinterval(_SWITCH_SECONDS)
    return [thread for thread in threads if not thread.start()]


def stop_all(threads: Sequence[BackgroundThread], seconds: float = _CLOSE_SECONDS) -> list[str]:
    """End all threads; returns the collectors whose threads still run and are left behind.

    A call that does not end within so many seconds may only wait for its source: its collector is closed from another
    thread, which ends child processes too, and as much time is left for that.
    """
    for thread in threads:
        thread.stop()
    busy = _join(threads, seconds)
    closers = []
    for thread in busy:
        closer = threading.Thread(target=thread.close, daemon=True)
        with suppress(RuntimeError):  # the system has no thread left: it ends with the process
            closer.start()
            closers.append(closer)
    end = time.monotonic() + seconds
    for closer in closers:
        closer.join(max(0.0, end - time.monotonic()))
    return [thread.name for thread in _join(busy, max(0.0, end - time.monotonic()))]


def _join(threads: Sequence[BackgroundThread], seconds: float) -> list[BackgroundThread]:
    """Wait for all threads together for so long at most; returns those that still run."""
    end = time.monotonic() + seconds
    return [thread for thread in threads if not thread.join(max(0.0, end - time.monotonic()))]
