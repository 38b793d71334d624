"""Xid events as NVML brings them: a wait in a thread of its own."""

import logging
import threading
from collections.abc import Iterable
from queue import Empty, SimpleQueue
from typing import Any

from pulsetrain.agents.collectors.nvml.driver import Driver, Session
from pulsetrain.agents.collectors.nvml.gate import GateClosedError
from pulsetrain.agents.collectors.nvml.identity import Gpu, handle_address, text
from pulsetrain.agents.collectors.nvml.library import REFUSED, TIMEOUT, code_of

logger = logging.getLogger(__name__)

_WAIT_MS = 1000
_PAUSE_SECONDS = 1.0


class _EventSet:
    """A set of events of one session."""

    def __init__(self, session: Session) -> None:
        nvml = self._nvml = session.nvml
        self.session = session.number
        self._set: Any = nvml.nvmlEventSetCreate()
        session.held.append(self)
        self._uuids: dict[int | None, str] = {}
        self._without_events: set[int | None] = set()

    @property
    def is_empty(self) -> bool:
        """Whether no GPU has events."""
        return not self._uuids

    def add(self, gpus: Iterable[Gpu]) -> None:
        """Watch GPUs that are not watched yet; one that can't be now, as it is lost, is tried again next time."""
        nvml = self._nvml
        for gpu in gpus:
            address = handle_address(gpu.handle)
            if address in self._uuids or address in self._without_events:
                continue
            try:
                nvml.nvmlDeviceRegisterEvents(gpu.handle, nvml.nvmlEventTypeXidCriticalError, self._set)
            except nvml.errors as error:
                if code_of(error) in REFUSED:
                    self._without_events.add(address)
            else:
                self._uuids[address] = gpu.uuid

    def wait(self) -> tuple[str, int] | None:
        """UUID and code of the next event; None where it is another, or can't be told whose it is.

        Raises:
            Nvml.errors: there was none, or the set is of no use any more.
        """
        data = self._nvml.nvmlEventSetWait_v2(self._set, _WAIT_MS)
        if not data.eventType & self._nvml.nvmlEventTypeXidCriticalError:
            return None
        try:
            uuid = text(self._nvml.nvmlDeviceGetUUID(data.device))
        except self._nvml.errors:
            uuid = self._uuids.get(handle_address(data.device), "")
        return (uuid, int(data.eventData)) if uuid else None

    def close(self) -> None:
        """Free the set; the library must still be initialised."""
        event_set, self._set = self._set, None
        if event_set is not None:
            self._nvml.nvmlEventSetFree(event_set)


class XidEvents:
    """Waits for events while there is a session.

    Args:
        driver: the library.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._events: SimpleQueue[tuple[str, int]] = SimpleQueue()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nvml-xid", daemon=True)
        self._set: _EventSet | None = None

    def start(self) -> None:
        """Begin to wait, once.

        Raises:
            RuntimeError: the system has no thread for it now.
        """
        if self._thread.ident is None:
            self._thread.start()

    def take(self) -> list[tuple[str, int]]:
        """UUID and code of each event since the last time."""
        taken = []
        while True:
            try:
                taken.append(self._events.get_nowait())
            except Empty:
                return taken

    def close(self) -> None:
        """End the thread; a wait that is under way ends within its second."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            session = self._driver.session
            if session is None or not self._waited(session):
                self._stopped.wait(_PAUSE_SECONDS)

    def _waited(self, session: Session) -> bool:
        try:
            with self._driver.event_wait(session):
                event = self._next_event(session)
        except GateClosedError:
            return False
        if event is not None:
            self._events.put(event)
        return self._set is not None and not self._set.is_empty

    def _next_event(self, session: Session) -> tuple[str, int] | None:
        nvml = session.nvml
        try:
            event_set = self._event_set(session)
            return None if event_set.is_empty else event_set.wait()
        except nvml.errors as error:
            if code_of(error) != TIMEOUT:
                logger.debug("no events from NVML: %s", nvml.sentence(code_of(error)))
                self._drop_set(session)
            return None

    def _event_set(self, session: Session) -> _EventSet:
        if self._set is None or self._set.session != session.number:
            self._drop_set(session)
            self._set = _EventSet(session)
        self._set.add(session.gpus)
        return self._set

    def _drop_set(self, session: Session) -> None:
        event_set, self._set = self._set, None
        # The set of an earlier session was freed with it.
        if event_set is not None and event_set in session.held:
            session.held.remove(event_set)
            event_set.close()
