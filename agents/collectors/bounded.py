"""How many things of a kind are read at most; that there are more is told once."""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from pulsetrain.agents.collectors.base import Notice
from pulsetrain.schemas.status import Severity, StatusEvent

_LOG = logging.getLogger(__name__)

_READ = "are read"

ThingT = TypeVar("ThingT")


class Bounded:
    """The first of many.

    Args:
        collector: who reads them.
        things: what they are, in the plural.
        most: how many are read.
        what: becomes of the first ones, and of no other.
    """

    def __init__(self, collector: str, things: str, most: int, what: str = _READ) -> None:
        self._collector = collector
        self._things = things
        self._most = most
        self._what = what
        self._has_told = False
        self._notices: deque[Notice] = deque()

    def first(self, found: Sequence[ThingT]) -> Sequence[ThingT]:
        """As many as are read, from the beginning."""
        if len(found) > self._most and not self._has_told:
            self._has_told = True
            text = f"This node has {len(found)} {self._things}: only the first {self._most} {self._what}."
            _LOG.warning("%s", text)
            details: dict[str, str | int | float | None] = {
                "collector": self._collector,
                "found": len(found),
                "read": self._most,
            }
            self._notices.append(Notice(StatusEvent.SAMPLES_DROPPED, Severity.WARNING, text, details=details))
        return found[: self._most]

    def take_notices(self) -> list[Notice]:
        """What is to be told since the last time; may be asked from another thread than `first`."""
        return [self._notices.popleft() for _ in range(len(self._notices))]


def ignore(_: Notice) -> None:
    """Tell nobody; it stays in the log."""


def first_of(
    found: Sequence[ThingT],
    collector: str,
    things: str,
    most: int,
    tell: Callable[[Notice], None],
    what: str = _READ,
) -> Sequence[ThingT]:
    """As many as are read, from the beginning, where they are looked for only once and before anything is read.

    Args:
        found: all that there are.
        collector: who reads them.
        things: what they are, in the plural.
        most: how many are read.
        tell: takes the notice that there are more.
        what: becomes of the first ones, and of no other.
    """
    bounded = Bounded(collector, things, most, what)
    first = bounded.first(found)
    for notice in bounded.take_notices():
        tell(notice)
    return first
