"""What this agent can read on this machine, and what it can't and why."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from pulsetrain.agents.call_in_thread import CallInThread
from pulsetrain.agents.collector_list import background_collectors, scheduled_collectors
from pulsetrain.agents.collectors.base import Support
from pulsetrain.agents.collectors.scheduled import InBackground, Scheduled
from pulsetrain.agents.errors import failure_of
from pulsetrain.agents.run import existing_roots
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.settings import AgentSettings
from pulsetrain.schemas.catalogue import metric_name

_SUPPORT_SECONDS = 5.0
"""A background collector may take a second to find out; the machine may be busy."""
_CLOSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Source:
    """One collector: what it reads, which metrics (names, without attributes) it has here or could have elsewhere."""

    collector: str
    reads: str
    interval_ms: int
    metric_names: tuple[str, ...]
    support: Support


class Sources:
    """Collectors, asked once whether they are supported; to be closed.

    Args:
        scheduled: those that are read at ticks.
        background: those with a thread of their own.
        interval_ms: the agent's interval.
    """

    def __init__(self, scheduled: Sequence[Scheduled], background: Sequence[InBackground], interval_ms: int) -> None:
        self.scheduled = scheduled
        self.background = background
        calls = [CallInThread(registered.collector.is_supported) for registered in self.background]
        self._support = {
            **{entry.collector.name: _support(entry.collector.is_supported) for entry in self.scheduled},
            **_supports(self.background, calls),
        }
        self._interval_ms = interval_ms

    def support(self, registered: Scheduled | InBackground) -> Support:
        """Whether the machine has what a collector reads."""
        return self._support[registered.collector.name]

    def listed(self) -> list[Source]:
        """Every collector, in the order in which they are registered."""
        return [
            *(self._source(entry, entry.interval_ms or self._interval_ms) for entry in self.scheduled),
            *(self._source(entry, entry.collector.interval_ms) for entry in self.background),
        ]

    def close(self) -> None:
        """Close all collectors; one that hangs is left behind."""
        for entry in self.scheduled:
            entry.collector.close()
        calls = [CallInThread(entry.collector.close) for entry in self.background]
        end = time.monotonic() + _CLOSE_SECONDS
        for call in calls:
            with suppress(Exception):  # there is nothing left to be done with it
                call.answer(end - time.monotonic())

    def _source(self, registered: Scheduled | InBackground, interval_ms: int) -> Source:
        collector, support = registered.collector, self.support(registered)
        return Source(collector.name, collector.source, interval_ms, _names(registered, support), support)


def configured_sources(settings: AgentSettings) -> Sources:
    """All collectors that an agent with these settings would have.

    Raises:
        AgentError: `proc_root` or `sys_root` is no folder.
    """
    roots, stats = existing_roots(settings), RunStats()
    background = background_collectors(roots, settings)
    for entry in background:
        stats.health(entry.collector.name)
    scheduled = scheduled_collectors(roots, stats, settings.slow_interval_ms)
    for one in scheduled:
        stats.health(one.collector.name)
    return Sources(scheduled, background, settings.interval_ms)


def _names(registered: Scheduled | InBackground, support: Support) -> tuple[str, ...]:
    if isinstance(registered, Scheduled) and support.supported:
        return tuple(dict.fromkeys(metric_name(metric) for metric in registered.collector.metrics()))
    # A collector that is read at ticks says only as far as it knows what it would have elsewhere.
    names: Sequence[str] = getattr(registered.collector, "metric_names", ())
    return tuple(dict.fromkeys(names))


def _supports(background: Sequence[InBackground], calls: Sequence[CallInThread[Support]]) -> dict[str, Support]:
    end = time.monotonic() + _SUPPORT_SECONDS
    return {
        entry.collector.name: _support(partial(call.answer, end - time.monotonic()))
        for entry, call in zip(background, calls, strict=True)
    }


def _support(ask: Callable[[], Support]) -> Support:
    try:
        return ask()
    except TimeoutError:
        return Support(False, f"there was no answer within {_SUPPORT_SECONDS:g} s")
    except Exception as error:  # a fault in one collector must not hide the others
        return Support(False, failure_of(error))
