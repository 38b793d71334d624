"""NVIDIA's library from initialisation to shutdown, and again: which GPUs it shows, and why it can't be used."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from pulsetrain.agents.collectors.base import Notice
from pulsetrain.agents.collectors.bounded import Bounded
from pulsetrain.agents.collectors.nvml.crew import Crew
from pulsetrain.agents.collectors.nvml.gate import Gate
from pulsetrain.agents.collectors.nvml.identity import Gpu, identify, text
from pulsetrain.agents.collectors.nvml.library import LIB_RM_VERSION_MISMATCH, TIMEOUT, UNKNOWN, Nvml, code_of
from pulsetrain.agents.errors import CollectError

logger = logging.getLogger(__name__)

_SCAN_SECONDS = 5.0
_SCAN_AGAIN_SECONDS = 1.0
"""While a GPU has not said in time who it is, as one that the driver has to wake up first."""

_FIRST_RETRY_SECONDS, _LAST_RETRY_SECONDS = 1.0, 60.0
_STOP_SECONDS = 2.0
_SCAN_WAIT_SECONDS = 0.3
"""How long a GPU may take to say who it is; one that takes longer is told of at a later look."""

_MAX_GPUS = 64
_KEY = "driver"


class Held(Protocol):
    """Something of the library that has to be given back before it is shut down."""

    def close(self) -> None:
        """Give it back."""


@dataclass(frozen=True, slots=True)
class Session:
    """What one initialisation of the library shows.

    `gpus`: by index. `unreadable`: NVML's error code by index, of GPUs that are counted but don't say who they are.
    `held`: what was opened under it.
    """

    number: int
    nvml: Nvml
    gpus: tuple[Gpu, ...] = ()
    unreadable: Mapping[int, int] = field(default_factory=dict)
    held: list[Held] = field(default_factory=list)


class Driver:
    """The library, shared by all that ask it. It is called only in a thread of its own and in those of the GPUs.

    Args:
        load: brings the library.
        monotonic: seconds that only grow.
    """

    def __init__(self, load: Callable[[], Nvml], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._load = load
        self._monotonic = monotonic
        self._gate = Gate()
        self._event_gate = Gate()
        self._crew: Crew[None] = Crew("nvml-driver", monotonic)
        self._scanners: Crew[Gpu] = Crew("nvml-scan", monotonic)
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._sessions = 0
        self._driver_version: str | None = None
        self._problem = "the NVIDIA library has not answered yet"
        self._restart_because: str | None = None
        self._next_check = float("-inf")
        self._retry_seconds = _FIRST_RETRY_SECONDS
        self._closed = False
        self._most = Bounded("nvml", "GPUs", _MAX_GPUS)

    @property
    def session(self) -> Session | None:
        """The session as it was last seen; None while the library can't be used."""
        return self._session

    def refreshed(self, seconds: float) -> Session:
        """The session, looked at anew if that is due; who asks waits at most `seconds` for it, and as long for
        another who looks already.

        Raises:
            CollectError: the library can't be used; why, and what to do.
        """
        # Whoever else looks may be ready to wait for longer.
        if self._lock.acquire(timeout=seconds):
            try:
                self._refresh(seconds)
            finally:
                self._lock.release()
        session = self._session
        if session is None:
            raise CollectError(f"no GPU metrics: {self._problem}")
        return session

    @contextmanager
    def calls(self, session: Session) -> Iterator[None]:
        """Calls under a session may be made within.

        Raises:
            GateClosedError: the session is over.
        """
        with self._gate.entered(session.number):
            yield

    @contextmanager
    def event_wait(self, session: Session) -> Iterator[None]:
        """As `calls`, for a wait of up to a second: no call has to stand still until it is over.

        Raises:
            GateClosedError: the session is over.
        """
        with self._event_gate.entered(session.number):
            yield

    def take_notices(self) -> list[Notice]:
        """What is to be told since the last time."""
        return self._most.take_notices()

    def look_again(self) -> None:
        """Look at the GPUs before that is due."""
        self._next_check = float("-inf")

    def restart(self, because: str) -> None:
        """Initialise the library anew, as soon as no call is under way."""
        self._restart_because = because
        self.look_again()

    def close(self) -> None:
        """Shut the library down, unless a call hangs in it."""
        self._closed = True
        session, self._session = self._session, None
        if session is not None:
            self._stop(session)
        self._crew.close()
        self._scanners.close()

    def _refresh(self, seconds: float) -> None:
        if self._monotonic() < self._next_check or self._closed:
            return
        answers = self._crew.ask({_KEY: self._check}, seconds)
        silent, error = answers.silent.get(_KEY), answers.failed.get(_KEY)
        if error is not None:
            raise CollectError(f"no GPU metrics: {type(error).__name__}: {error}") from error
        if silent is not None and self._session is None:
            raise CollectError(f"the NVIDIA library has not answered for {silent:.0f} s")

    def _check(self) -> None:
        if self._closed:
            return
        session, because = self._session, self._restart_because
        self._restart_because = None
        if session is not None and because is not None:
            if self._stop(session):
                logger.warning("NVML is initialised anew: %s", because)
                self._session = session = None
            else:
                logger.warning("NVML is not initialised anew (%s) while a call hangs in it", because)
        if session is None:
            session = self._start()
        if session is not None:
            self._scan(session)

    def _start(self) -> Session | None:
        try:
            nvml = self._load()
        except ImportError as error:
            self._fail(f"pynvml can't be imported: {error}")
            return None
        try:
            nvml.nvmlInit()
        except nvml.errors as error:
            self._fail(nvml.sentence(code_of(error)))
            if code_of(error) == LIB_RM_VERSION_MISMATCH:
                nvml.unload()
            return None
        self._sessions += 1
        self._gate.open(self._sessions)
        self._event_gate.open(self._sessions)
        version = _driver_version(nvml)
        if version != self._driver_version:
            logger.info("NVML is initialised; the version of the NVIDIA driver is %s", version or "not told")
        self._driver_version = version
        return Session(self._sessions, nvml)

    def _scan(self, session: Session) -> None:
        try:
            with self._gate.entered(session.number):
                indices = self._most.first(range(session.nvml.nvmlDeviceGetCount()))
        except session.nvml.errors as error:
            self._fail(session.nvml.sentence(code_of(error)))
            if self._stop(session):
                self._session = None
            return
        gpus, unreadable = self._identify(session, indices)
        for index in unreadable.keys() - session.unreadable.keys():
            logger.warning(
                "the GPU at index %d does not say who it is: %s", index, session.nvml.reason(unreadable[index])
            )
        self._session = replace(session, gpus=gpus, unreadable=unreadable)
        self._retry_seconds = _FIRST_RETRY_SECONDS
        waits = TIMEOUT in unreadable.values()
        self._next_check = self._monotonic() + (_SCAN_AGAIN_SECONDS if waits else _SCAN_SECONDS)

    def _identify(self, session: Session, indices: Iterable[int]) -> tuple[tuple[Gpu, ...], dict[int, int]]:
        def question(index: int) -> Gpu:
            with self._gate.entered(session.number):
                return identify(session.nvml, index)

        answers = self._scanners.ask({str(index): partial(question, index) for index in indices}, _SCAN_WAIT_SECONDS)
        unreadable = {int(key): TIMEOUT for key in answers.silent}
        for key, error in answers.failed.items():
            if isinstance(error, session.nvml.errors):
                unreadable[int(key)] = code_of(error)
            else:
                logger.error("the GPU at index %s says something that is not understood: %s", key, error)
                unreadable[int(key)] = UNKNOWN
        return tuple(sorted(answers.given.values(), key=lambda gpu: gpu.index)), unreadable

    def _fail(self, problem: str) -> None:
        if problem != self._problem:
            logger.warning("no GPU metrics: %s", problem)
        self._problem = problem
        self._back_off()

    def _back_off(self) -> None:
        self._next_check = self._monotonic() + self._retry_seconds
        self._retry_seconds = min(self._retry_seconds * 2, _LAST_RETRY_SECONDS)

    def _stop(self, session: Session) -> bool:
        has_stopped = self._event_gate.close(_STOP_SECONDS)
        if has_stopped and not self._gate.close(_STOP_SECONDS):
            self._event_gate.open(session.number)
            has_stopped = False
        if not has_stopped:
            return False
        held, session.held[:] = list(session.held), []
        for thing in held:
            try:
                thing.close()
            except session.nvml.errors as error:
                logger.warning("NVML did not take something back: %s", session.nvml.sentence(code_of(error)))
        try:
            session.nvml.nvmlShutdown()
        except session.nvml.errors as error:
            logger.warning("NVML did not shut down: %s", session.nvml.sentence(code_of(error)))
        return True


def _driver_version(nvml: Nvml) -> str:
    try:
        return text(nvml.nvmlSystemGetDriverVersion())
    except nvml.errors:
        return ""
