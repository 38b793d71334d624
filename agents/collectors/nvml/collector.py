"""The GPU collectors: what moves fast, with the events, and what moves slowly. They share one driver."""

import logging
import time
from collections.abc import Callable, Mapping

from pulsetrain.agents.collectors.base import Collected, Notice, Observation, Support
from pulsetrain.agents.collectors.nvml.driver import Driver, Session
from pulsetrain.agents.collectors.nvml.fleet import DRIVER_RESTARTING, GPU_LOST, NOT_SHOWN, Fleet, RoundOfAnswers
from pulsetrain.agents.collectors.nvml.gpu_reader import FAST_METRICS, SLOW_METRICS, PartsOf, fast_parts
from pulsetrain.agents.collectors.nvml.identity import Gpu
from pulsetrain.agents.collectors.nvml.inventory import Inventory
from pulsetrain.agents.collectors.nvml.kernel_log import KernelLog
from pulsetrain.agents.collectors.nvml.library import LOST, UNINITIALIZED
from pulsetrain.agents.collectors.nvml.restarts import Restarts
from pulsetrain.agents.collectors.nvml.support import LIBRARY, find_support
from pulsetrain.agents.collectors.nvml.xid_events import XidEvents
from pulsetrain.agents.collectors.nvml.xids import XID_METRICS, Xids
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas.catalogue import metric_name

logger = logging.getLogger(__name__)

_WAIT_SHARE = 0.5
"""Of the interval, how long a round waits for GPUs; the rest is for whoever else needs the processor."""

_LONGEST_WAIT_SECONDS = 5.0


class NvmlCollector:
    """What moves within seconds: use, memory, power, temperature, clocks, performance counters; and what happens: GPUs
    lost and returned, Xids.

    Args:
        driver: the library.
        interval_ms: distance of two readings.
        owners: by entity, labels of whom it works for.
        kernel_log: where the kernel tells of Xids.
        find_support: whether there is anything to ask.
        monotonic: seconds that only grow.
    """

    name = "nvml"

    def __init__(
        self,
        driver: Driver,
        interval_ms: int,
        owners: dict[str, Mapping[str, str]],
        kernel_log: KernelLog,
        find_support: Callable[[], Support] = find_support,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source = f"{LIBRARY}, {kernel_log.path}"
        self.interval_ms = interval_ms
        self.deadline_seconds = _deadline(interval_ms)
        self.metric_names = _names((*FAST_METRICS, *XID_METRICS))
        self._driver = driver
        self._wait_seconds = _wait(interval_ms)
        self._fleet = Fleet("nvml-gpu", driver, fast_parts, FAST_METRICS, owners, monotonic)
        self._inventory = Inventory(monotonic)
        self._kernel_log = kernel_log
        self._events = XidEvents(driver)
        self._xids = Xids(monotonic)
        self._find_support = find_support
        self._restarts = Restarts(monotonic)
        self._last_session: dict[str, int] = {}
        self._untold: list[Notice] = []
        self._is_closed = False

    def take_over(self, former: "NvmlCollector") -> None:
        """Go on with what a collector remembers that has been closed: who was there, what has happened, how far the
        kernel's log was read."""
        self._inventory, self._xids, self._kernel_log = former._inventory, former._xids, former._kernel_log
        self._untold = former._untold
        for uuid, code in former._events.take():
            self._xids.from_nvml(uuid, code)

    def is_supported(self) -> Support:
        """Whether there is a driver, and which package calls it; also what can't be read of the kernel's log."""
        support = self._find_support()
        if not support.supported:
            return support
        log = self._kernel_log.is_supported()
        if not log.supported:
            support = Support(True, f"{support.reason}; Xids from NVML only ({log.reason})")
        logger.info("GPUs are read: %s", support.reason)
        return support

    def collect(self, time_ns: int) -> Collected:
        """One observation for each GPU and MIG device, and what has happened since the last call.

        What has happened is told at the next call where this one fails.

        Raises:
            CollectError: the library can't be used, or no GPU has had a value for several rounds.
        """
        try:
            observations = self._observed(time_ns)
        except CollectError:
            if self._is_closed:
                raise
            self._untold += self._take_xids()
            if not self._untold:
                raise
            observations = []
        notices, self._untold = self._untold, []
        return Collected(observations, notices)

    def close(self) -> None:
        """End the threads and shut the library down, unless a call hangs in it."""
        self._is_closed = True
        self._events.close()
        self._fleet.close()
        self._kernel_log.close()
        self._driver.close()

    def _observed(self, time_ns: int) -> list[Observation]:
        session = self._driver.refreshed(self._wait_seconds)
        self._events.start()
        self._untold += self._driver.take_notices()
        self._untold += self._inventory.saw(session.gpus, session.unreadable)
        answers = self._fleet.ask(session, self._present(session), self._wait_seconds)
        if self._is_closed:
            raise CollectError("it is no longer asked")
        self._untold += self._lost_and_returned(answers)
        self._untold += self._take_xids()
        self._restart_if_needed(session, answers)
        return self._observations(answers, time_ns)

    def _present(self, session: Session) -> list[Gpu]:
        shown = {gpu.uuid: gpu for gpu in session.gpus}
        self._last_session.update(dict.fromkeys(shown, session.number))
        for uuid, gpu in self._inventory.known.items():
            if uuid not in self._inventory.lost and self._last_session.get(uuid) == session.number:
                shown.setdefault(uuid, gpu)
        return list(shown.values())

    def _lost_and_returned(self, answers: RoundOfAnswers) -> list[Notice]:
        notices = [self._inventory.lose(uuid, "the driver says so") for uuid in answers.lost]
        for uuid in self._inventory.known:
            why = answers.why_silent(uuid)
            if why is None:
                notices.append(self._inventory.answered(uuid))
            elif answers.has_values:
                notices.append(self._inventory.silent(uuid, why))
        if answers.lost:
            self._driver.look_again()
        return [notice for notice in notices if notice is not None]

    def _take_xids(self) -> list[Notice]:
        gpus = self._inventory.known
        for uuid, code in self._events.take():
            self._xids.from_nvml(uuid, code)
        past, new = self._kernel_log.read()
        for xid in past:
            self._xids.was_there(xid, gpus)
        for xid in new:
            self._xids.in_kernel_log(xid, gpus)
        return self._xids.take(gpus)

    def _observations(self, answers: RoundOfAnswers, time_ns: int) -> list[Observation]:
        found: list[Observation] = []
        for uuid, gpu in self._inventory.known.items():
            readings = answers.readings.get(uuid)
            if readings is not None:
                self._xids.read_into(readings[0].reading, gpu)
                found += self._fleet.observations(uuid, readings, time_ns)
            else:
                why = answers.why_silent(uuid) or NOT_SHOWN
                if why == NOT_SHOWN and uuid in self._inventory.lost:
                    why = GPU_LOST
                found += self._fleet.missing(gpu, why, time_ns)
        return found

    def _restart_if_needed(self, session: Session, answers: RoundOfAnswers) -> None:
        if DRIVER_RESTARTING in answers.silent.values():
            return
        whys = {why for uuid in (*answers.readings, *answers.silent) if (why := answers.why_silent(uuid)) is not None}
        whys |= {session.nvml.reason(code) for code in session.unreadable.values() if code not in LOST}
        because = self._restarts.because(
            is_shut_down=any(UNINITIALIZED in found[0].reading.failures for found in answers.readings.values()),
            all_failed=bool(whys) and not answers.has_values,
            some_lost=bool(self._inventory.lost),
        )
        if because is not None:
            self._driver.restart(because)
        if self._restarts.is_out_of_order:
            raise CollectError(f"no GPU has had a value for several rounds: {', '.join(sorted(whys))}")


class NvmlHealthCollector:
    """What moves slowly or takes its time: error counts, limits, links, and the processes with whom they work for.

    Args:
        driver: the library.
        interval_ms: distance of two readings.
        parts_of: what a GPU is asked.
        owners: by entity, labels of whom it works for; they are found out here.
        find_support: whether there is anything to ask.
        monotonic: seconds that only grow.
    """

    name = "nvml_health"

    def __init__(
        self,
        driver: Driver,
        interval_ms: int,
        parts_of: PartsOf,
        owners: dict[str, Mapping[str, str]],
        find_support: Callable[[], Support] = find_support,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source = LIBRARY
        self.interval_ms = interval_ms
        self.deadline_seconds = _deadline(interval_ms)
        self.metric_names = _names(SLOW_METRICS)
        self._driver = driver
        self._wait_seconds = _wait(interval_ms)
        self._fleet = Fleet("nvml-health", driver, parts_of, SLOW_METRICS, owners, monotonic)
        self._known: dict[str, Gpu] = {}
        self._find_support = find_support

    def take_over(self, former: "NvmlHealthCollector") -> None:
        """Go on with the GPUs that a collector remembers that has been closed."""
        self._known = former._known

    def is_supported(self) -> Support:
        """Whether there is a driver, and which package calls it."""
        return self._find_support()

    def collect(self, time_ns: int) -> Collected:
        """One observation for each GPU and MIG device.

        Raises:
            CollectError: the library can't be used.
        """
        session = self._driver.refreshed(self._wait_seconds)
        self._known.update((gpu.uuid, gpu) for gpu in session.gpus)
        answers = self._fleet.ask(session, session.gpus, self._wait_seconds)
        found: list[Observation] = []
        for uuid, gpu in self._known.items():
            readings = answers.readings.get(uuid)
            if readings is not None:
                found += self._fleet.observations(uuid, readings, time_ns)
            else:
                why = answers.why_silent(uuid) or NOT_SHOWN
                if why == NOT_SHOWN and all(code in LOST for code in session.unreadable.values()):
                    why = GPU_LOST
                found += self._fleet.missing(gpu, why, time_ns)
        return Collected(found)

    def close(self) -> None:
        """End the threads; the library is shut down by the other collector."""
        self._fleet.close()


def _wait(interval_ms: int) -> float:
    return min(interval_ms / 1000 * _WAIT_SHARE, _LONGEST_WAIT_SECONDS)


def _deadline(interval_ms: int) -> float:
    """A wait for who else looks at the driver, one for the driver, one for the GPUs; and a second for a busy node."""
    return 3 * _wait(interval_ms) + 1.0


def _names(metrics: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(metric_name, metrics)))
