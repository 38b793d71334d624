"""From figures to intervals: who is slowed, when, and what is told."""

from dataclasses import dataclass, field

from pulsetrain.agents.background import BackgroundThread
from pulsetrain.agents.budget import BudgetSettings
from pulsetrain.agents.collectors.scheduled import Importance, InBackground, Scheduled
from pulsetrain.agents.governor import Governor, Usage
from pulsetrain.agents.group import groups_of
from pulsetrain.agents.pace import Pace
from pulsetrain.agents.run_stats import RunStats
from tests.unit.agents.background_fakes import MS, SECOND, ScriptedBackground
from tests.unit.agents.fakes import ScriptedCollector

FINE, BUSY = Usage(0.5, 50.0, 1.0), Usage(1.4, 50.0, 1.0)


@dataclass
class Listener:
    told: list[tuple[int, list[str], dict[str, int]]] = field(default_factory=list)

    def degraded(self, level: int, usage: Usage, exceeded: list[str], slowed: dict[str, int]) -> None:
        self.told.append((level, exceeded, slowed))


class Paced:
    """An agent's groups and a thread, kept at pace ten times a second of injected time."""

    def __init__(self) -> None:
        self.stats, self.listener = RunStats(), Listener()
        self.usage, self.measured, self.seconds = FINE, 0, 0.0
        fast = Scheduled(ScriptedCollector("cpu", ["a"]))
        slow = Scheduled(ScriptedCollector("load", ["b"]), 1000, Importance.LOW)
        self.groups = groups_of([fast, slow], 100 * MS, SECOND, self.stats)
        self.thread = BackgroundThread(InBackground(ScriptedBackground(), Importance.NORMAL))
        self.pace = Pace(
            Governor(BudgetSettings()), self._measure, self.listener, self.stats, monotonic=lambda: self.seconds
        )

    def _measure(self) -> Usage:
        self.measured += 1
        return self.usage

    def go_on(self, seconds: int) -> None:
        for _ in range(10 * seconds):
            self.pace.keep(self.groups, [self.thread])
            self.seconds += 0.1

    def factors(self) -> dict[str, int]:
        return {group.name: group.slowed_by for group in self.groups} | {self.thread.name: self.thread.slowed_by}


def test_it_measures_every_ten_seconds_and_never_judges_the_start() -> None:
    paced = Paced()
    paced.usage = BUSY
    paced.go_on(1)
    paced.usage = FINE
    paced.go_on(60)
    assert paced.measured == 7
    assert not paced.listener.told


def test_over_budget_the_least_important_is_slowed_first_and_it_is_told_with_the_figures() -> None:
    paced = Paced()
    paced.usage = BUSY
    paced.go_on(25)
    assert paced.factors() == {"host": 1, "host:1000ms": 2, "nvml": 1}
    assert paced.listener.told == [(1, ["cpu_percent"], {"host:1000ms": 2})]
    paced.go_on(60)
    assert paced.factors() == {"host": 1, "host:1000ms": 8, "nvml": 2}
    assert paced.stats.degraded_level == 4
    assert paced.thread.interval_ns == 2 * SECOND


def test_with_low_figures_everything_comes_back_to_its_interval() -> None:
    paced = Paced()
    paced.usage = BUSY
    paced.go_on(200)
    assert set(paced.factors().values()) == {8}
    paced.usage = FINE
    paced.go_on(60 * 10 + 20)
    assert set(paced.factors().values()) == {1}
    assert paced.listener.told[-1] == (0, [], {})
    assert paced.stats.degraded_level == 0
