"""How much is done to the workers, and what was done."""

from collections import Counter
from dataclasses import dataclass, field

from pulsetrain.streams.settings import WindowSettings
from tests.crash.comparison import Comparison
from tests.crash.reference import VerdictId, WindowId

WINDOWS = WindowSettings(length_seconds=6.0, hop_seconds=2.0, idle_timeout_seconds=15.0)
PARTITIONS = 4

_SECONDS_BESIDE_KILLS = 350.0
_SECONDS_OF_A_KILL = 50.0
_KILLS_THAT_REPEAT_WINDOWS = 30
"""After so many kills of features workers some windows were published again, and detect has dropped them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`kills` of a worker of the features stage and as many of the detect stage, spread with the broker's stops."""

    kills: int
    broker_stops: int
    nodes: int
    seed: int
    workers: int = 3

    @property
    def limit_seconds(self) -> float:
        """What the run may take until everything is committed, several times what an idle machine takes."""
        return _SECONDS_BESIDE_KILLS + _SECONDS_OF_A_KILL * self.kills

    def stops_broker(self, kill: int) -> bool:
        """Whether the broker is stopped after this kill, counted from 1."""
        stops = self.broker_stops
        return kill in {self.kills * (2 * stop + 1) // (2 * stops) + 1 for stop in range(stops)}


@dataclass
class Outcome:
    """What was done, what happened to the nodes, and how the two topics compare with the undisturbed run.

    `unexplained_exits` are workers that ended although nobody killed them and the broker was there. An exit is
    explained once a worker for each stop of the broker, until all partitions have moved on after it.
    """

    plan: Plan
    windows: Comparison[WindowId]
    verdicts: Comparison[VerdictId]
    dropped_copies: int
    unexplained_exits: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    happened: Counter[str] = field(default_factory=Counter)

    @property
    def is_right(self) -> bool:
        """Nothing lost, nothing different, in both topics, by workers that lived and met what they are to bear."""
        return self.windows.is_right and self.verdicts.is_right and not self.unexplained_exits and self.met_copies

    @property
    def met_copies(self) -> bool:
        """Whether detect had to drop copies of windows, where so many kills make some certain."""
        return self.dropped_copies > 0 or self.plan.kills < _KILLS_THAT_REPEAT_WINDOWS
