"""What the agent is told from outside while it waits for the next tick."""

import os
import select
from contextlib import suppress


class Orders:
    """To stop, or to read the settings anew. May be given by signal handlers and by other threads: no lock is taken."""

    def __init__(self) -> None:
        self._is_stopping = False
        self._is_reload_wanted = False
        # A pipe, because an Event that is set by a signal handler can deadlock with the wait that it interrupts.
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    @property
    def is_stopping(self) -> bool:
        """Whether it is over."""
        return self._is_stopping

    def stop(self) -> None:
        """End in an orderly way."""
        self._is_stopping = True
        self._wake()

    def reload(self) -> None:
        """Read the settings anew."""
        self._is_reload_wanted = True
        self._wake()

    def wait(self, seconds: float) -> bool:
        """Sleep for so long, or until there is an order; whether there is one."""
        if self._is_stopping:
            return True
        if select.select([self._wake_read], [], [], max(0.0, seconds))[0]:
            with suppress(BlockingIOError):
                os.read(self._wake_read, 4096)
        return self._is_stopping or self._is_reload_wanted

    def take_reload(self) -> bool:
        """Whether the settings are to be read anew, once for each time that this was asked."""
        wanted, self._is_reload_wanted = self._is_reload_wanted, False
        return wanted

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _wake(self) -> None:
        with suppress(BlockingIOError):  # full of earlier ones
            os.write(self._wake_write, b"\0")
