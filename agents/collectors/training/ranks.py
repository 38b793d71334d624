"""From what the hooks of a node's ranks tell to observations, whatever the pace of steps.

Gauges are means over the steps since the rank's previous observation, and `max_duration` is the longest of them. A rank
with fast steps has an observation at each call, with the time at which its last step ended. Of one with slow steps a
window has too few ends to put them on a grid: it has an observation at each multiple of an interval in which a typical
step ends (`Pace`), with that time. A rank that tells nothing has none.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import quote

from pulsetrain.agents.collectors.base import Observation
from pulsetrain.agents.collectors.training.message import HookMessage, RefusedError, StepRow, ValuesRow
from pulsetrain.agents.collectors.training.pace import INTERVALS_NS, Pace
from pulsetrain.agents.hook.message import NonFinite

MAX_RANKS = 1024
"""Of one node, at a time."""

MAX_HELD_STEPS = 4096
"""Of one rank; with so many its observation is made at once, whatever it says about their durations."""

_FORGET_NS = 600_000_000_000
_REMEMBERED_SESSIONS = 16
_NS_PER_SECOND = 1e9

_SAFE_IN_JOB = ":+=,"
_MAX_JOB_CHARACTERS = 400
"""Of a job's part of an entity's name; a longer one ends in a digest of the whole."""

_DIGEST_CHARACTERS = 16

METRICS = (
    "training.step.duration",
    "training.step.max_duration",
    "training.step.count",
    "training.data_wait.duration",
    "training.data_wait.max_duration",
    "training.all_reduce.duration",
    "training.loss",
    "training.loss.nonfinite",
    "training.gradient.norm",
    "training.gradient.nonfinite",
    "training.loss_scale",
    "training.allocator.retries",
    "training.hook.errors",
    "training.hook.steps_dropped",
)
"""In this order; a rank has those that its hook has told at least once."""

_NOT_TOLD = "the hook did not tell it"


def entity_of(job: str, rank: int) -> str:
    """`<job>/rank:<n>`; what would break an entity's name is percent-encoded (RFC 3986), so that jobs stay apart."""
    name = quote(job, safe=_SAFE_IN_JOB)
    if len(name) > _MAX_JOB_CHARACTERS:
        from hashlib import sha256  # brings OpenSSL along, which an agent without such names need not hold

        digest = sha256(job.encode()).hexdigest()[:_DIGEST_CHARACTERS]
        name = f"{name[: _MAX_JOB_CHARACTERS - len(digest)]}{digest}"
    return f"{name}/rank:{rank}"


class Ranks:
    """Everything that the hooks of a node tell.

    Args:
        labels_of: what else is known of a process, by its id.
    """

    def __init__(self, labels_of: Callable[[int], Mapping[str, str]]) -> None:
        self._labels_of = labels_of
        self._ranks: dict[str, _Rank] = {}

    def add(self, message: HookMessage, pid: int, now_ns: int) -> None:
        """Take a message over.

        Args:
            message: what a hook sent.
            pid: its process, 0 if unknown.
            now_ns: Unix nanoseconds.

        Raises:
            RefusedError: there are too many ranks, or the message is of a session that another one has followed.
        """
        entity = entity_of(message.job, message.rank)
        rank = self._ranks.get(entity)
        if rank is None:
            if len(self._ranks) >= MAX_RANKS:
                raise RefusedError(f"more than {MAX_RANKS} ranks on one node")
            rank = self._ranks[entity] = _Rank(message.job, message.rank)
        rank.add(message, pid, now_ns)

    def observations(self, now_ns: int) -> list[Observation]:
        """What was told since the last time; a rank that says goodbye, or nothing for ten minutes, is forgotten.

        Args:
            now_ns: the tick, Unix nanoseconds.
        """
        observations = []
        for entity, rank in list(self._ranks.items()):
            observation = rank.observation(entity, self._labels_of, now_ns)
            if observation is not None:
                observations.append(observation)
            if rank.has_closed or now_ns - rank.heard_ns > _FORGET_NS:
                del self._ranks[entity]
        return observations


class _Rank:
    """What one rank has told since its last observation, and its latest totals."""

    def __init__(self, job: str, rank: int) -> None:
        self._own_labels = {"job": job, "rank": str(rank)}
        self._session = ""
        self._former_sessions: deque[str] = deque(maxlen=_REMEMBERED_SESSIONS)
        self._pid = 0
        self._steps: list[StepRow] = []
        self._values: list[ValuesRow] = []
        self._steps_dropped = 0
        self._latest: HookMessage | None = None
        self._count = math.nan
        self._told: tuple[str, ...] = ()
        self._pace = Pace()
        self._observed_ns = self._asked_ns = 0
        self.heard_ns = 0
        self.has_closed = False

    def add(self, message: HookMessage, pid: int, now_ns: int) -> None:
        if message.session != self._session:
            if message.session in self._former_sessions:
                raise RefusedError("a session that another one has followed")
            self._former_sessions.append(self._session)
            self._session = message.session
            self._steps_dropped += len(self._steps)
            self._steps, self._values, self._told, self._count, self._pace = [], [], (), math.nan, Pace()
        self._pid, self._latest, self.heard_ns = pid, message, now_ns
        self.has_closed = message.closing
        self._steps += message.steps
        self._values += message.values
        self._pace.take(step.duration_ns for step in message.steps if step.duration_ns is not None)

    def observation(
        self, entity: str, labels_of: Callable[[int], Mapping[str, str]], now_ns: int
    ) -> Observation | None:
        """What is new, if anything is and it is time."""
        is_due, self._asked_ns = self._is_due(now_ns), now_ns
        steps, values, latest = self._steps, self._values, self._latest
        if latest is None or not (steps or values) or not is_due:
            return None
        self._steps, self._values = [], []
        if steps:
            self._count = float(steps[-1].number)
        figures = self._figures(steps, values, latest)
        self._told = tuple(name for name in METRICS if name in self._told or not math.isnan(figures[name]))
        labels = dict(labels_of(self._pid)) if self._pid else {}
        is_slow = self._pace.interval_ns > INTERVALS_NS[0]
        ended_ns = steps[-1].end_ns if steps else latest.time_ns
        self._observed_ns = now_ns if is_slow or ended_ns <= self._observed_ns else ended_ns
        return Observation(
            entity,
            self._observed_ns,
            self._told,
            [figures[name] for name in self._told],
            {name: _NOT_TOLD for name in self._told if math.isnan(figures[name])},
            labels | self._own_labels,
            self._pace.interval_ns if is_slow else None,
        )

    def _is_due(self, now_ns: int) -> bool:
        """Whether a multiple of the interval lies between the previous call and now, or nothing is to be waited for."""
        interval_ns = self._pace.interval_ns
        if interval_ns == INTERVALS_NS[0] or self.has_closed or len(self._steps) >= MAX_HELD_STEPS:
            return True
        return now_ns // interval_ns != self._asked_ns // interval_ns

    def _figures(self, steps: list[StepRow], values: list[ValuesRow], latest: HookMessage) -> dict[str, float]:
        durations = _seconds(step.duration_ns for step in steps)
        waits = _seconds(step.data_wait_ns for step in steps)
        return {
            "training.step.duration": _mean(durations),
            "training.step.max_duration": max(durations, default=math.nan),
            "training.step.count": self._count,
            "training.data_wait.duration": _mean(waits),
            "training.data_wait.max_duration": max(waits, default=math.nan),
            "training.all_reduce.duration": _mean(_seconds(row.all_reduce_ns for row in values)),
            "training.loss": _mean(_present(row.loss for row in values)),
            "training.loss.nonfinite": _mean(_flagged(NonFinite.LOSS, ((row.flags, row.loss) for row in values))),
            "training.gradient.norm": _mean(_present(row.gradient_norm for row in values)),
            "training.gradient.nonfinite": _mean(
                _flagged(NonFinite.GRADIENT_NORM, ((row.flags, row.gradient_norm) for row in values))
            ),
            "training.loss_scale": _last(_present(row.loss_scale for row in values)),
            "training.allocator.retries": math.nan if latest.retries is None else float(latest.retries),
            "training.hook.errors": float(latest.errors),
            "training.hook.steps_dropped": float(latest.dropped + self._steps_dropped),
        }


def _present(numbers: Iterable[float | None]) -> list[float]:
    return [number for number in numbers if number is not None]


def _seconds(durations_ns: Iterable[int | None]) -> list[float]:
    return [duration / _NS_PER_SECOND for duration in durations_ns if duration is not None]


def _flagged(flag: NonFinite, values: Iterable[tuple[int, float | None]]) -> list[float]:
    """1 for each value with the flag, 0 for each that is there without it."""
    return [float(bool(flags & flag)) for flags, number in values if flags & flag or number is not None]


def _mean(numbers: list[float]) -> float:
    """NaN of nothing. Divided before they are added, so that no sum overflows."""
    return math.fsum(number / len(numbers) for number in numbers) if numbers else math.nan


def _last(numbers: list[float]) -> float:
    return numbers[-1] if numbers else math.nan
