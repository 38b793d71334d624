"""The collector of one scrape target."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from pulsetrain.agents.collectors.base import HOST, Collected, Notice, Observation, Support
from pulsetrain.agents.collectors.scrape.http_source import Exposition, HttpSource
from pulsetrain.agents.collectors.scrape.last_xid import LastXid
from pulsetrain.agents.collectors.scrape.series import Resolver, Series
from pulsetrain.agents.collectors.scrape.settings import ScrapeTarget
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas.catalogue import metric_id
from pulsetrain.schemas.catalogue.exporters import SOURCE_NAMES
from pulsetrain.schemas.catalogue.scraped import KEPT_METRICS, SCRAPE_METRICS

if TYPE_CHECKING:
    from pulsetrain.agents.collectors.scrape.line_parser import Counts, LineParser
    from pulsetrain.agents.collectors.scrape.merging import Merger

_LOG = logging.getLogger(__name__)

MAX_SERIES = 20_000

_SECONDS_TO_READ = 1.0
"""Beyond the time of the scrape itself."""


class Source(Protocol):
    """Where expositions come from."""

    def scrape(self) -> AbstractContextManager[Exposition]:
        """The exposition as it is now.

        Raises:
            CollectError: there is none.
        """

    def close(self) -> None:
        """End what is going on."""


class ScrapeCollector:
    """Scrapes a target, and brings what it says of GPUs, containers, models and of its machine.

    Args:
        target: its settings.
        source: where the expositions come from; by default the target's address.
    """

    def __init__(self, target: ScrapeTarget, source: Source | None = None) -> None:
        self.name = f"scrape_{target.name}"
        self.source = target.url
        self.interval_ms = target.interval_ms
        self.deadline_seconds = target.timeout_seconds + _SECONDS_TO_READ
        self.metric_names = tuple(
            sorted(
                {name.name for names in SOURCE_NAMES.values() for name in names}
                | {metric.name for metric in (*KEPT_METRICS, *SCRAPE_METRICS)}
            )
        )
        self._target = target
        self._source: Source = source or HttpSource(target)
        self._resolver = Resolver(target.name, target.keep)
        self._last_xid = LastXid(target.url, self.name)
        self._untold: list[Notice] = []
        self._loaded: tuple[LineParser[Series], Merger] | None = None
        self._duplicates = self._over_limit = self._bad_lines = 0
        self._was_partial = False

    def is_supported(self) -> Support:
        """Whether the parser is installed; the target itself may come and go."""
        try:
            self._load()
        except ImportError as error:
            return Support(False, f"expositions can't be parsed ({error}): install pulsetrain[agent]")
        return Support(True)

    def collect(self, time_ns: int) -> Collected:
        """Scrape once; everything has the time of the tick. An Xid is told at the next call where this one fails.

        Raises:
            CollectError: the target is down, or said nothing that can be understood.
        """
        parser, merger = self._load()
        with self._source.scrape() as exposition:
            samples, counts = parser.read(exposition.lines, exposition.is_openmetrics)
        if not counts.wanted + counts.unwanted:
            first = f"; its first line begins with {counts.first_bad!r}" if counts.bad else ""
            raise CollectError(f"{self.source} has no sample that can be understood{first}")
        for sample in samples:
            if sample.series.metric is None:
                self._untold += self._last_xid.take(sample.series.entity, sample.value)
        merged = merger.merge(samples, time_ns, self._last_xid.labels())
        about = self._about(counts, merged.duplicates, time_ns)
        notices, self._untold = self._untold, []
        return Collected((*merged.observations, about), notices)

    def close(self) -> None:
        """End the scrape that goes on."""
        self._source.close()

    def _load(self) -> tuple["LineParser[Series]", "Merger"]:
        if self._loaded is None:
            # Only agents with a target pay for the library.
            from pulsetrain.agents.collectors.scrape.line_parser import LineParser
            from pulsetrain.agents.collectors.scrape.merging import Merger

            known = self._resolver
            parser = LineParser(known.is_wanted, known.needs_type, known.resolve, MAX_SERIES)
            self._loaded = parser, Merger(self._target.labels)
        return self._loaded

    def _about(self, counts: "Counts", duplicates: int, time_ns: int) -> Observation:
        """What became of the exposition's samples and lines."""
        self._duplicates += counts.duplicate + duplicates
        self._over_limit += counts.over_limit
        self._bad_lines += counts.bad
        is_partial = bool(counts.bad or counts.over_limit or not counts.is_whole)
        if is_partial and not self._was_partial:
            _LOG.warning("%s: a part of the exposition is lost: %s.", self.source, "; ".join(_losses(counts)))
        self._was_partial = is_partial
        values = {
            "partial": float(is_partial),
            "samples": float(counts.wanted),
            "samples.unmapped": float(counts.unwanted),
            "samples.duplicate": float(self._duplicates),
            "samples.over_limit": float(self._over_limit),
            "lines.bad": float(self._bad_lines),
        }
        target = {"agent.scrape.target": self._target.name}
        metrics = tuple(metric_id(f"pulsetrain.agent.scrape.{name}", **target) for name in values)
        return Observation(HOST, time_ns, metrics, tuple(values.values()))


def _losses(counts: "Counts") -> Iterator[str]:
    if counts.bad:
        yield f"{counts.bad} lines can't be understood, the first begins with {counts.first_bad!r}"
    if counts.over_limit:
        yield f"{counts.over_limit} samples are beyond {MAX_SERIES} series"
    if not counts.is_whole:
        yield "its end is missing"
