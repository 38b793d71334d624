"""How a collector is registered: how often it is asked, and how early it gives way when the agent must do less."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from pulsetrain.agents.collectors.base import BackgroundCollector, Collector


class Importance(IntEnum):
    """Who is slowed first when the agent is over its budget or its node overloaded: the lowest."""

    LOW = 0
    NORMAL = 1
    HIGH = 2


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A collector that is read at ticks.

    `interval_ms`: distance of two readings, None for the agent's own interval; a slower one for what changes slowly or
    costs much. It is rounded up to a multiple of the agent's.
    """

    collector: Collector[Any]
    interval_ms: int | None = None
    importance: Importance = Importance.HIGH


@dataclass(frozen=True, slots=True)
class InBackground:
    """A collector with a thread of its own."""

    collector: BackgroundCollector
    importance: Importance = Importance.NORMAL
