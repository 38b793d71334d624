"""Degraded mode: how far the agent slows down when it costs more than it may, or its node is overloaded.

The decision is pure: figures in, level out. Each level doubles the interval of one importance once more, the least
important first and the agent's own interval last.
"""

from dataclasses import dataclass, fields

from pulsetrain.agents.budget import BudgetSettings
from pulsetrain.agents.collectors.scheduled import Importance

DOUBLINGS = 3
"""Of one importance: 100 ms becomes 800 ms, at which a window still has the samples that features need."""

MAX_LEVEL = DOUBLINGS * len(Importance)

_FIGURES_TO_SLOW = 2
"""So many figures in a row have to be over a limit for one step: a burst is none."""

_FIRST_CALM_SECONDS, _LONGEST_CALM_SECONDS = 60.0, 3600.0
"""How long the figures have to be low for one step back; doubled when a step back turned out to be too early."""

_MEMORY_GROWTH = 1.05


@dataclass(frozen=True, slots=True)
class Usage:
    """What the agent costs and how busy its node is; NaN where it is not known.

    `cpu_percent` of one core, `memory_mebibytes` resident, `load_per_core` the node's 1-minute load average by
    logical core.
    """

    cpu_percent: float
    memory_mebibytes: float
    load_per_core: float


_CALM = Usage(cpu_percent=0.8, memory_mebibytes=1.0, load_per_core=0.8)
"""Low is below this share of the limit. Memory is what it is: longer intervals don't lower it."""


class Governor:
    """Goes up a level while a figure is over its limit, and down again when all have been low for long enough.

    Args:
        limits: what must not be exceeded.
    """

    def __init__(self, limits: BudgetSettings) -> None:
        self.level = 0
        self._limits = limits
        self._over = 0
        self._calm_since: float | None = None
        self._calm_seconds = _FIRST_CALM_SECONDS
        self._went_down_at: float | None = None
        self._memory_at_step = 0.0

    def judge(self, usage: Usage, seconds: float) -> int:
        """The level from now on.

        Args:
            usage: the figures of the time since the previous call.
            seconds: a clock that is never set.
        """
        over = self.exceeded(usage)
        if over:
            self._calm_since = None
            self._over += 1
            if self._over >= _FIGURES_TO_SLOW and self._would_help(over, usage):
                self._go_up(usage, seconds)
        else:
            self._over = 0
            self._ease(usage, seconds)
        return self.level

    def exceeded(self, usage: Usage) -> list[str]:
        """Names of the figures that are over their limits."""
        return [name for name in _NAMES if getattr(usage, name) > getattr(self._limits, name)]

    def _would_help(self, over: list[str], usage: Usage) -> bool:
        """Memory alone asks for one step, and for another only if it has grown since."""
        grown = usage.memory_mebibytes > self._memory_at_step * _MEMORY_GROWTH
        return self.level < MAX_LEVEL and (over != ["memory_mebibytes"] or self.level == 0 or grown)

    def _go_up(self, usage: Usage, seconds: float) -> None:
        self.level += 1
        self._over = 0
        self._memory_at_step = usage.memory_mebibytes
        if self._went_down_at is not None and seconds - self._went_down_at < self._calm_seconds:
            self._calm_seconds = min(2 * self._calm_seconds, _LONGEST_CALM_SECONDS)

    def _ease(self, usage: Usage, seconds: float) -> None:
        if any(getattr(usage, name) > getattr(_CALM, name) * getattr(self._limits, name) for name in _NAMES):
            self._calm_since = None
            return
        if self._calm_since is None:
            self._calm_since = seconds
        calm_for = seconds - self._calm_since
        if self.level and calm_for >= self._calm_seconds:
            self.level -= 1
            self._calm_since = self._went_down_at = seconds
        elif not self.level and calm_for >= _LONGEST_CALM_SECONDS:
            self._calm_seconds = _FIRST_CALM_SECONDS


def slowed_by(level: int, importance: Importance) -> int:
    """By which factor intervals of an importance are longer at a level."""
    return int(2 ** min(DOUBLINGS, max(0, level - DOUBLINGS * importance)))


_NAMES = tuple(field.name for field in fields(Usage))
