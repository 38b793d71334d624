"""A background collector that says what the test wants, and a clock for its thread."""

import threading
from collections.abc import Callable, Sequence

from pulsetrain.agents.background import BackgroundThread
from pulsetrain.agents.collectors.base import Collected, Observation, Support
from pulsetrain.agents.collectors.scheduled import InBackground

MS = 1_000_000
SECOND = 1000 * MS
START = 1_700_000_000 * SECOND
WAIT_SECONDS = 30.0
"""How long a test waits for a thread at most."""

Answer = Collected | Exception


class ScriptedBackground:
    """Gives its answers one after another, the last one again and again; before each it does what `before` says."""

    def __init__(
        self, answers: Sequence[Answer] = (), name: str = "nvml", interval_ms: int = 1000, deadline_seconds: float = 3.0
    ) -> None:
        self.name = name
        self.source = f"the {name} library"
        self.interval_ms = interval_ms
        self.deadline_seconds = deadline_seconds
        self.metric_names: tuple[str, ...] = ()
        self.answers = list(answers) or [Collected()]
        self.supports: list[Support | Exception] = [Support(True)]
        self.before: Callable[[int], None] = lambda _: None
        self.asked_ns: list[int] = []
        self.support_asked = 0
        self.closed = 0
        self.was_closed = threading.Event()

    def is_supported(self) -> Support:
        self.support_asked += 1
        support = self.supports[0] if len(self.supports) == 1 else self.supports.pop(0)
        if isinstance(support, Exception):
            raise support
        return support

    def collect(self, time_ns: int) -> Collected:
        self.asked_ns.append(time_ns)
        self.before(time_ns)
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        self.closed += 1
        self.was_closed.set()


class Clock:
    """Wall clock and monotonic clock that move by waiting, and by `spend`; after `end_ns` it says stop."""

    def __init__(self, end_ns: int) -> None:
        self.now_ns = START
        self.end_ns = end_ns

    def time_ns(self) -> int:
        return self.now_ns

    def monotonic(self) -> float:
        return (self.now_ns - START) / SECOND

    def wait(self, seconds: float) -> bool:
        self.now_ns += round(seconds * SECOND)
        return self.now_ns >= self.end_ns

    def spend(self, seconds: float) -> None:
        self.now_ns += round(seconds * SECOND)


class InStep(BackgroundThread):
    """A background collector that the test asks itself, so that injected time rules it like everything else."""

    def __init__(self, registered: InBackground, clock: Callable[[], int]) -> None:
        super().__init__(registered, clock, lambda: clock() / SECOND)
        self._tick_ns = 0

    def step(self) -> None:
        """Ask if a wall-clock multiple of the interval has come."""
        now_ns = self._time_ns()
        tick_ns = now_ns // self.interval_ns * self.interval_ns
        if tick_ns > self._tick_ns or now_ns < self._tick_ns:
            self._tick_ns = tick_ns
            self._ask(tick_ns, is_tick=True)


def seen(entity: str, time_ns: int, *values: float, **labels: str) -> Observation:
    return Observation(entity, time_ns, tuple(f"m{n}" for n in range(len(values))), values, labels=labels)
