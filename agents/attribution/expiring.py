"""A mapping that forgets: entries after a time, and the oldest when there are too many."""

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class Expiring(Generic[KeyT, ValueT]):
    """Values by key, for `seconds` each and at most `entries` of them; may be used by several threads.

    Args:
        monotonic: seconds that only grow.
    """

    def __init__(self, entries: int, seconds: float, monotonic: Callable[[], float]) -> None:
        self._entries = entries
        self._seconds = seconds
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._values: dict[KeyT, tuple[float, ValueT]] = {}

    def get(self, key: KeyT, make: Callable[[], ValueT]) -> ValueT:
        """The value that is known, or the one that `make` brings; no other thread waits while it does."""
        now = self._monotonic()
        with self._lock:
            known = self._values.get(key)
            if known is not None and now < known[0]:
                return known[1]
        value = make()
        with self._lock:
            self._values.pop(key, None)
            while len(self._values) >= self._entries:
                del self._values[next(iter(self._values))]
            self._values[key] = (now + self._seconds, value)
        return value

    def __len__(self) -> int:
        return len(self._values)
