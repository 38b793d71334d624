"""One session of the agent: collectors and the runner under one set of settings."""

import logging
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pulsetrain.agents.background import FIRST_RETRY_SECONDS, BackgroundThread, start_all
from pulsetrain.agents.background_threads import BackgroundThreads
from pulsetrain.agents.collector_list import background_sources, scheduled_collectors
from pulsetrain.agents.collectors.base import Collector, Roots, Support
from pulsetrain.agents.collectors.scheduled import Scheduled
from pulsetrain.agents.errors import AgentError, failure_of
from pulsetrain.agents.feed import BackgroundFeed
from pulsetrain.agents.governor import Governor
from pulsetrain.agents.outlet import KafkaOutlet
from pulsetrain.agents.pace import Pace
from pulsetrain.agents.reporter import Reporter
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.runner import Runner
from pulsetrain.agents.session import Node, read_boot_id
from pulsetrain.agents.settings import AgentSettings
from pulsetrain.agents.usage import UsageMeter

_LOG = logging.getLogger(__name__)

_NS_PER_MS = 1_000_000
_NS_PER_SECOND = 1_000_000_000


class Run:
    """Reads the node from `run` on; to be closed.

    Args:
        settings: what to read and how.
        outlet: where everything goes.
        reporter: tells what is read and how it fares.
        stats: where everything is counted.
        background: the threads, which outlive it.
        monotonic: seconds that only grow.

    Raises:
        AgentError: `proc_root` or `sys_root` is no folder.
    """

    def __init__(
        self,
        settings: AgentSettings,
        outlet: KafkaOutlet,
        reporter: Reporter,
        stats: RunStats,
        background: BackgroundThreads,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._reporter = reporter
        self._monotonic = monotonic
        roots = existing_roots(settings)
        stats.collectors.clear()
        self._threads = background.of(background_sources(roots, settings))
        # Before the collectors that are read at ticks: one of those reads how all fare.
        feed = BackgroundFeed(self._threads, reporter, stats)
        self._scheduled, self._unsupported = supported_collectors(
            scheduled_collectors(roots, stats, settings.slow_interval_ms, reporter.notice), stats
        )
        with ExitStack() as opened:
            for entry in self._scheduled:
                opened.callback(_close, entry.collector)
            meter = UsageMeter(roots.proc, os.cpu_count() or 1)
            opened.callback(meter.close)
            self._runner = Runner(
                Node(settings.node, read_boot_id(roots.proc), settings.labels),
                self._scheduled,
                settings.interval_ms * _NS_PER_MS,
                int(settings.block_ms * _NS_PER_MS),
                outlet,
                stats,
                feed,
                Pace(Governor(settings.budget), meter.usage, reporter, stats),
            )
            self._opened = opened.pop_all()

    def run(self, wait: Callable[[float], bool]) -> None:
        """Read until `wait`, which sleeps for so many seconds, says to stop."""
        metrics = sum(len(entry.collector.metrics()) for entry in self._scheduled)
        _LOG.info("Node %s: reading %d metrics every %d ms.", self._settings.node, metrics, self._settings.interval_ms)
        self._reporter.started(metrics, self._unsupported)
        unstarted = start_all(self._threads)
        self._runner.run(time.time_ns, self._starting_again(unstarted, wait) if unstarted else wait)

    def close(self) -> None:
        """Close all collectors that are read at ticks."""
        self._opened.close()

    def _starting_again(
        self, unstarted: list[BackgroundThread], wait: Callable[[float], bool]
    ) -> Callable[[float], bool]:
        """A `wait` that now and then starts what could not be started before."""
        again_at = self._monotonic() + FIRST_RETRY_SECONDS

        def wait_and_start(seconds: float) -> bool:
            nonlocal unstarted, again_at
            if unstarted and self._monotonic() >= again_at:
                unstarted = start_all(unstarted)
                again_at = self._monotonic() + FIRST_RETRY_SECONDS
            return wait(seconds)

        return wait_and_start


def existing_roots(settings: AgentSettings) -> Roots:
    """Where the kernel's file systems are.

    Raises:
        AgentError: one of them is no folder.
    """
    for name, folder in (("proc_root", settings.proc_root), ("sys_root", settings.sys_root)):
        if not Path(folder).is_dir():
            raise AgentError(f"agent.{name} {folder!r} is no folder: name where it is mounted")
    return Roots(Path(settings.proc_root), Path(settings.sys_root))


def supported_collectors(registered: list[Scheduled], stats: RunStats) -> tuple[list[Scheduled], dict[str, str]]:
    """Those that this machine supports; of the others, by name, why not."""
    supported, reasons = [], {}
    for entry in registered:
        collector = entry.collector
        stats.health(collector.name)
        try:
            support = collector.is_supported()
        except Exception as error:  # a fault in one collector must not end the others
            support = Support(False, failure_of(error))
        if support.supported:
            supported.append(entry)
        else:
            reasons[collector.name] = support.reason
            _close(collector)
    return supported, reasons


def _close(collector: Collector[Any]) -> None:
    try:
        collector.close()
    except Exception:  # the others are closed all the same
        _LOG.exception("The collector %s could not be closed.", collector.name)
