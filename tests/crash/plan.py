"""How much is done to the workers, and what was done."""

from collections import Counter
from dataclasses import dataclass, field

from pulsetrain.streams.settings import WindowSettings
from tests.crash.comparison import Comparison
from tests.crash.reference import VerdictId, WindowId

WINDOWS = WindowSettings(length_seconds=6.0, hop_seconds=2.0, idle_timeout_seconds=15.0)
PARTITIONS = 4


@dataclass(frozen=True, slots=True)
class Plan:
    """`kills` of a worker of the features stage and as many of the detect stage, spread with the broker's stops."""

    kills: int
    broker_stops: int
    nodes: int
    seed: int
    workers: int = 3

    def stops_broker(self, kill: int) -> bool:
        """Whether the broker is stopped after this kill, counted from 1."""
        stops = self.broker_stops
        return kill in {self.kills * (2 * stop + 1) // (2 * stops) + 1 for stop in range(stops)}


@dataclass
class Outcome:
    """What was done, what happened to the nodes, and how the two topics compare with the undisturbed run."""

    windows: Comparison[WindowId]
    verdicts: Comparison[VerdictId]
    counts: dict[str, int] = field(default_factory=dict)
    happened: Counter[str] = field(default_factory=Counter)

    @property
    def is_right(self) -> bool:
        """Nothing lost, nothing different, in both topics."""
        return self.windows.is_right and self.verdicts.is_right
