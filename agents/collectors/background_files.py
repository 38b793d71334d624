"""What background collectors that keep files open have in common: when those are closed."""

import threading
from abc import ABC, abstractmethod

from pulsetrain.agents.collectors.base import Collected

SMALL_FILE_BYTES = 4096
"""An attribute of sysfs fits in a page (Documentation/filesystems/sysfs.rst) and is read in one piece."""

_CLOSE_SECONDS = 0.1


class BackgroundFiles(ABC):
    """Reads files in one thread, and may be closed by another.

    A descriptor that is closed under a reading thread may already belong to another file; so whoever reads closes, and
    `close` itself only where nobody reads.
    """

    def __init__(self) -> None:
        self._reading = threading.Lock()
        self._is_closed = False

    def collect(self, time_ns: int) -> Collected:
        """What the files say now; `time_ns` is the tick, Unix nanoseconds.

        Raises:
            CollectError: they say nothing.
        """
        with self._reading:
            try:
                return self._collect(time_ns)
            finally:
                if self._is_closed:
                    self._close_files()

    def close(self) -> None:
        """Close the files now, or as soon as the reading that goes on is over."""
        self._is_closed = True
        if self._reading.acquire(timeout=_CLOSE_SECONDS):
            try:
                self._close_files()
            finally:
                self._reading.release()

    @abstractmethod
    def _collect(self, time_ns: int) -> Collected: ...

    @abstractmethod
    def _close_files(self) -> None: ...
