"""Counts the calls that are under way, so that the library is shut down only when there is none."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pulsetrain.agents.errors import AgentError


class GateClosedError(AgentError):
    """The library is being shut down, or has been initialised anew: ask again at the next tick."""


_HANGING_SECONDS = 1.5
"""A call that has been under way for so long hangs: no regular one takes more than a second."""


class Gate:
    """Lets calls of the current session in, and closes when the last has left.

    Args:
        monotonic: seconds that only grow.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._changed = threading.Condition()
        self._under_way: dict[object, float] = {}
        self._session: int | None = None

    @contextmanager
    def entered(self, session: int) -> Iterator[None]:
        """Calls of this session may be made within.

        Raises:
            GateClosedError: the session is over.
        """
        call = object()
        with self._changed:
            if self._session != session:
                raise GateClosedError("the NVIDIA library is being initialised anew")
            self._under_way[call] = self._monotonic()
        try:
            yield
        finally:
            with self._changed:
                del self._under_way[call]
                self._changed.notify_all()

    def open(self, session: int) -> None:
        """Let calls of this session in."""
        with self._changed:
            self._session = session

    def close(self, seconds: float) -> bool:
        """Let no call in any more.

        True once none is under way. False, with the gate open as before, if one hangs, or is still under way after
        `seconds`.
        """
        until = time.monotonic() + seconds
        with self._changed:
            if any(self._monotonic() - since > _HANGING_SECONDS for since in self._under_way.values()):
                return False
            session, self._session = self._session, None
            while self._under_way:
                left = until - time.monotonic()
                if left <= 0:
                    self._session = session
                    return False
                self._changed.wait(left)
        return True
