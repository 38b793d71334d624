"""From the threads of background collectors to batches: checks times, counts what is lost, tells how they fare."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from pulsetrain.agents.background import BackgroundThread, Outcome
from pulsetrain.agents.collectors.base import Notice, Observation
from pulsetrain.agents.gathering import HOLD_NS, Gatherer
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.schedule import PATIENCE_NS
from pulsetrain.agents.session import Batch
from pulsetrain.schemas.times import utc_time

_FORGET_EVERY_NS = 60_000_000_000
_NO_ROOM = "no room for observations"
_UNUSABLE = "unusable observation"


class Listener(Protocol):
    """Who is told how background collectors fare."""

    def collector_read(self, collector: str, failure: str | None) -> None:
        """How a collector fared lately: None, or why it failed."""

    def collector_unsupported(self, collector: str, reason: str) -> None:
        """This machine has not what a collector reads; it is tried again later."""

    def notice(self, notice: Notice) -> None:
        """Something happened to what a collector watches."""


class BackgroundFeed:
    """Empties the queues of all threads. To be used from one thread.

    Args:
        threads: started by whoever made them.
        listener: is told of failures, recoveries and notices.
        stats: where lost samples and the fate of each call are counted.
    """

    def __init__(self, threads: Sequence[BackgroundThread], listener: Listener, stats: RunStats) -> None:
        self.threads = threads
        self._listener = listener
        self._stats = stats
        self._gatherer = Gatherer()
        self._told_hanging: dict[str, int] = {}
        self._forgot_at_ns = 0
        for thread in threads:
            stats.health(thread.collector.name)

    def due(self, now_ns: int, next_in_ns: int) -> Iterator[Batch]:
        """Batches that have to be sent now.

        Args:
            now_ns: the wall clock, Unix nanoseconds.
            next_in_ns: when this is called next.
        """
        self._empty(now_ns)
        if not 0 <= now_ns - self._forgot_at_ns < _FORGET_EVERY_NS:
            self._forgot_at_ns = now_ns
            self._gatherer.forget(now_ns)
        yield from self._gatherer.due(now_ns + next_in_ns)

    def begin_anew(self) -> Iterator[Batch]:
        """Everything that waits, since the clock was set back: times begin anew."""
        yield from self._gatherer.all()

    def finish(self, now_ns: int) -> Iterator[Batch]:
        """Everything that there is."""
        self._empty(now_ns)
        yield from self._gatherer.all()

    def _empty(self, now_ns: int) -> None:
        for thread in self.threads:
            if not thread.is_quiet:
                self._watch(thread)
                for outcome in thread.outcomes():
                    self._take(thread, outcome, now_ns)
                for notice in thread.notices():
                    self._listener.notice(notice)

    def _take(self, thread: BackgroundThread, outcome: Outcome, now_ns: int) -> None:
        name = thread.collector.name
        health = self._stats.health(name)
        health.took(outcome.seconds)
        if outcome.is_unsupported:
            health.is_up = None
            self._listener.collector_unsupported(name, outcome.failure or "not supported")
            return
        if outcome.collected is None:
            health.failed()
            self._listener.collector_read(name, outcome.failure or "no answer")
            return
        health.succeeded()
        problem = None
        for observation in outcome.collected.observations:
            problem = self._add(thread, outcome, observation, now_ns) or problem
        self._listener.collector_read(name, problem)

    def _add(self, thread: BackgroundThread, outcome: Outcome, observation: Observation, now_ns: int) -> str | None:
        """Why an observation is lost, None if it is not."""
        if observation.time_ns == outcome.tick_ns and outcome.arrived_ns - outcome.tick_ns >= HOLD_NS:
            # Under the tick's time it would come too late for its windows; it held at some time until it arrived.
            observation = replace(observation, time_ns=outcome.arrived_ns)
        if observation.time_ns > now_ns + PATIENCE_NS:
            problem: str | None = f"an observation of {observation.entity} lies ahead of the clock"
        else:
            collector = thread.collector
            problem = self._gatherer.add(collector.name, collector.source, outcome.interval_ns, observation)
        if problem is not None:
            self._stats.lose(len(observation.metrics), _UNUSABLE, f"{thread.collector.name} brought {problem}")
        return problem

    def _watch(self, thread: BackgroundThread) -> None:
        """Tell of a call without an answer, once, and of outcomes that found no room."""
        name = thread.collector.name
        since_ns = thread.hangs_since_ns()
        if since_ns is not None and self._told_hanging.get(name) != since_ns:
            self._told_hanging[name] = since_ns
            self._stats.health(name).is_up = False
            seconds = thread.collector.deadline_seconds
            reason = f"no answer for {seconds:g} s, hanging since {utc_time(since_ns).isoformat(timespec='seconds')}"
            self._listener.collector_read(name, reason)
        outcomes, samples = thread.new_drops()
        if outcomes:
            self._stats.health(name).failures += outcomes
            self._stats.lose(samples, _NO_ROOM, f"the agent was too slow to take what {name} brought")
