"""The threads of all background collectors, which outlive a change of settings that does not concern them.

What such a collector remembers can't be read anew: which GPUs were there, which Xids were told, how much was counted,
what a training loop has sent meanwhile. So a source whose settings stay the same goes on, thread and all.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pulsetrain.agents.background import BackgroundThread, stop_all
from pulsetrain.agents.collector_list import BackgroundSource
from pulsetrain.agents.collectors.base import BackgroundCollector, Notice, Remembering
from pulsetrain.agents.collectors.unmade import UnmadeCollector
from pulsetrain.agents.run_stats import RunStats

_LOG = logging.getLogger(__name__)

_ENDED = "a collector ended"


@dataclass(frozen=True, slots=True)
class _Running:
    """What was made of one source."""

    source: BackgroundSource
    threads: list[BackgroundThread]

    @property
    def collectors(self) -> list[BackgroundCollector]:
        return [thread.collector for thread in self.threads]

    @property
    def is_made(self) -> bool:
        return not any(isinstance(collector, UnmadeCollector) for collector in self.collectors)

    def goes_on(self, source: BackgroundSource | None) -> bool:
        """Whether a source would make the same again; what could not be made is always tried again."""
        return self.is_made and source is not None and source.depends_on == self.source.depends_on


class BackgroundThreads:
    """Those of one agent, from its start to its end.

    Args:
        stats: where lost samples and unfinished readings are counted.
        tell: takes what an ended collector has told last.
    """

    def __init__(self, stats: RunStats, tell: Callable[[Notice], None]) -> None:
        self._stats = stats
        self._tell = tell
        self._running: dict[str, _Running] = {}
        self._former: dict[str, Remembering] = {}

    def of(self, sources: Mapping[str, BackgroundSource]) -> list[BackgroundThread]:
        """The threads of these sources and no others, for a session that begins; the new ones have to be started.

        What those that end bring last belongs to no session, and is lost.
        """
        before = self._running
        self._running = {name: running for name, running in before.items() if running.goes_on(sources.get(name))}
        for running in self._running.values():
            for thread in running.threads:
                thread.begin_anew()
        ended = [running for name, running in before.items() if name not in self._running]
        self._end([thread for running in ended for thread in running.threads])
        for name, source in sources.items():
            if name not in self._running:
                self._running[name] = _Running(source, [BackgroundThread(one) for one in source.made(name)])
                self._hand_over_to(self._running[name].collectors)
        return [thread for name in sources for thread in self._running[name].threads]

    def close(self) -> None:
        """End all threads; what they bring last is still to be taken."""
        running, self._running = self._running, {}
        self._stop([thread for one in running.values() for thread in one.threads])

    def _hand_over_to(self, collectors: list[BackgroundCollector]) -> None:
        for collector in collectors:
            if isinstance(collector, Remembering) and collector.name in self._former:
                collector.take_over(self._former.pop(collector.name))

    def _end(self, threads: list[BackgroundThread]) -> None:
        self._stop(threads)
        for thread in threads:
            if isinstance(thread.collector, Remembering):
                self._former[thread.name] = thread.collector
            for notice in thread.notices():
                self._tell(notice)
            for outcome in thread.outcomes():
                samples = 0 if outcome.collected is None else outcome.collected.samples
                self._stats.lose(samples, _ENDED, f"the collector {thread.name} ended before its last reading was sent")

    def _stop(self, threads: list[BackgroundThread]) -> None:
        if hanging := stop_all(threads):
            _LOG.warning("What hangs is left behind: %s.", ", ".join(hanging))
        self._stats.unfinished_readings += sum(thread.is_unfinished for thread in threads)
