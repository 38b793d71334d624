"""Performance counters: the life of the `perf stat` child, and what it says as observations."""

import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from pulsetrain.agents.collectors.base import HOST, Collected, Observation, Roots, Support
from pulsetrain.agents.collectors.perf.child import Child, Processes, own_processes
from pulsetrain.agents.collectors.perf.events import EventSet
from pulsetrain.agents.collectors.perf.intervals import Interval, IntervalAssembler, merged
from pulsetrain.agents.collectors.perf.machine import read_machine
from pulsetrain.agents.collectors.perf.settings import PerfSettings
from pulsetrain.agents.collectors.perf.trial import PerfCommand, possible_commands, try_perf
from pulsetrain.agents.collectors.perf.values import interval_values
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas.catalogue import metric_id, metric_name
from pulsetrain.schemas.catalogue.counters import COUNTER_METRICS

MS_PER_LOGICAL_CORE = 250 / 4
"""perf's interval grows with what it has to read: a quarter of a second for every four logical cores."""

_TRIAL_SECONDS = 0.9
_LEAST_TRIAL_SECONDS = 0.05
_CLOSE_SECONDS = 5.0
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 300.0
_SILENT_INTERVALS = 10
_LEAST_SILENT_SECONDS = 10.0
_SKIPPED_LINES = metric_id("pulsetrain.agent.lines.skipped", **{"agent.collector": "perf"})
_NANOSECOND = 1_000_000_000


def perf_interval_ms(logical_cores: int, wanted_ms: int) -> int:
    """The interval of perf: what is wanted, but never below `MS_PER_LOGICAL_CORE` for each core."""
    least = -int(-logical_cores * MS_PER_LOGICAL_CORE // 1)
    return max(least, wanted_ms)


@dataclass(slots=True)
class _Run:
    """One child from its start to its end."""

    child: Child
    interval_ms: int
    assembler: IntervalAssembler
    start_ns: int
    heard_ns: int


class PerfCollector:
    """Counts of the whole node.

    `collect` waits for the end of an interval: read at the next tick, an interval of many seconds would be handed over
    too late for its windows. Intervals that have piled up become one. An interval's time is its end: the start of perf
    on the monotonic clock plus what perf says has passed, moved to the wall clock as it is when it is read. A child
    that ends, or says nothing for ten intervals, is started again after a pause that doubles from one second to five
    minutes. Slowed down (`slowed_by`), the collector replaces its child by one with the longer interval, once that has
    completed one.

    Args:
        settings: what to count.
        roots: where /proc and /sys are.
        processes: how perf is run.
        logical_cores: how many CPUs perf has to read.
        interval_ms: the interval where the settings have none.
        monotonic_ns: a clock that is never set.
        wall_ns: Unix nanoseconds.
    """

    def __init__(
        self,
        settings: PerfSettings,
        roots: Roots,
        processes: Processes,
        logical_cores: int,
        interval_ms: int = 1000,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.name = "perf"
        self.interval_ms = perf_interval_ms(logical_cores, settings.interval_ms or interval_ms)
        self.slowed_by = 1
        self.source = f"perf stat -a -I {self.interval_ms} ({logical_cores} logical cores)"
        self.metric_names = (*(metric.name for metric in COUNTER_METRICS), metric_name(_SKIPPED_LINES))
        self._settings = settings
        self._roots = roots
        self._processes = processes
        self._monotonic_ns = monotonic_ns
        self._wall_ns = wall_ns
        self._command: PerfCommand | None = None
        self._untold: Mapping[str, str] = {}
        self._running: _Run | None = None
        self._retry_ns = 0
        self._pause_seconds = _FIRST_PAUSE_SECONDS
        self._failure = ""
        self._skipped_before = 0
        self._lock = threading.Lock()
        self._closed = False

    @property
    def deadline_seconds(self) -> float:
        """How long a call may take at the present pace."""
        return self._patience_seconds + _CLOSE_SECONDS

    @property
    def _patience_seconds(self) -> float:
        return 1.5 * self._slowed_interval_ms / 1000 + 1.0

    @property
    def _slowed_interval_ms(self) -> int:
        return self.interval_ms * self.slowed_by

    def is_supported(self) -> Support:
        """Let perf count for a moment; settle which events it has here."""
        if self._settings.enabled == "off":
            return Support(False, "switched off (perf.enabled)")
        program = self._processes.program
        if program is None:
            return Support(False, "no perf on the search path; install linux-perf, linux-tools or perf")
        deadline_ns = self._monotonic_ns() + int(_TRIAL_SECONDS * _NANOSECOND)
        machine = read_machine(self._roots.proc, self._roots.sys)
        trial = try_perf(
            possible_commands(program, machine),
            self._processes.run,
            lambda: max(_LEAST_TRIAL_SECONDS, (deadline_ns - self._monotonic_ns()) / _NANOSECOND),
        )
        self._command, self._untold = trial.command, trial.missing
        return Support(trial.command is not None, trial.reason)

    def collect(self, time_ns: int) -> Collected:
        """Wait until perf completes an interval; what it counted since the last call.

        Raises:
            CollectError: perf has ended and is not started again yet, or says nothing.
        """
        until_ns = self._monotonic_ns() + int(self._patience_seconds * _NANOSECOND)
        while True:
            with self._lock:
                if self._closed or self._command is None:
                    return Collected()
                running = self._running or self._start(self._command)
            # Not under the lock, so that the collector can be closed meanwhile.
            running.child.wait(max(0.0, (until_ns - self._monotonic_ns()) / _NANOSECOND))
            with self._lock:
                if self._closed or self._running is not running:
                    return Collected()
                intervals = self._intervals(running)
                if intervals:
                    observation = self._observation(merged(intervals), running, self._command.events)
                    if running.interval_ms != self._slowed_interval_ms:
                        self._give_up(running)
                        with suppress(CollectError):  # the next call says so
                            self._start(self._command)
                    return Collected((observation,))
            if self._monotonic_ns() >= until_ns:
                return Collected()

    def close(self) -> None:
        """End perf; it is not started again. A `collect` that waits returns."""
        self._closed = True
        running = self._running
        if running is not None:
            running.child.end()
        if self._lock.acquire(timeout=_CLOSE_SECONDS):
            try:
                if self._running is not None:
                    self._running.child.close()
                    self._running = None
            finally:
                self._lock.release()

    def _start(self, command: PerfCommand) -> _Run:
        if self._monotonic_ns() < self._retry_ns:
            raise CollectError(self._failure)
        try:
            child = self._processes.start(command.arguments(self._slowed_interval_ms))
        except OSError as error:
            self._pause(f"{command.program} can't be started: {error.strerror}")
            raise CollectError(self._failure) from error
        now_ns = self._monotonic_ns()
        self._running = _Run(child, self._slowed_interval_ms, IntervalAssembler(), start_ns=now_ns, heard_ns=now_ns)
        return self._running

    def _intervals(self, running: _Run) -> list[Interval]:
        """What is complete by now; a child that has ended or fallen silent is given up.

        Raises:
            CollectError: it was.
        """
        now_ns = self._monotonic_ns()
        intervals = running.assembler.intervals(running.child.lines())
        exit_code = None if intervals else running.child.exit_code()
        if exit_code is not None:
            # It may have printed something between the two.
            intervals = running.assembler.intervals(running.child.lines())
        if intervals:
            running.heard_ns = now_ns
            self._pause_seconds = _FIRST_PAUSE_SECONDS
            return intervals
        said = running.child.error_text() or running.assembler.last_error
        silent_seconds = (now_ns - running.heard_ns) / _NANOSECOND
        if exit_code is not None:
            self._end(running, f"perf ended with code {exit_code}: {said or 'it said nothing'}")
        elif silent_seconds > max(_LEAST_SILENT_SECONDS, _SILENT_INTERVALS * running.interval_ms / 1000):
            self._end(running, f"perf completed no interval for {silent_seconds:.0f} s{said and ': '}{said}")
        return []

    def _end(self, running: _Run, failure: str) -> None:
        self._give_up(running)
        self._pause(failure)
        raise CollectError(self._failure)

    def _give_up(self, running: _Run) -> None:
        self._skipped_before = self._skipped(running)
        running.child.close()
        self._running = None

    def _pause(self, failure: str) -> None:
        self._failure = f"{failure}; next try in {self._pause_seconds:.0f} s"
        self._retry_ns = self._monotonic_ns() + int(self._pause_seconds * _NANOSECOND)
        self._pause_seconds = min(2 * self._pause_seconds, _LONGEST_PAUSE_SECONDS)

    def _observation(self, interval: Interval, running: _Run, events: EventSet) -> Observation:
        found = interval_values(interval, events)
        found.values[_SKIPPED_LINES] = float(self._skipped(running))
        for identifier, reason in self._untold.items():
            found.put(identifier, math.nan, reason)
        self._untold = {}
        wall_ns = self._wall_ns()
        end_ns = wall_ns - self._monotonic_ns() + running.start_ns + int(interval.end_seconds * _NANOSECOND)
        return Observation(HOST, min(end_ns, wall_ns), tuple(found.values), tuple(found.values.values()), found.missing)

    def _skipped(self, running: _Run) -> int:
        return self._skipped_before + running.assembler.errors + running.child.too_long_lines


def perf_collector(settings: PerfSettings, roots: Roots, interval_ms: int) -> PerfCollector:
    """The collector for this machine."""
    return PerfCollector(settings, roots, own_processes(), os.cpu_count() or 1, interval_ms)
