"""Expositions without a network: recorded ones, and ones written in a test."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pulsetrain.agents.collectors.base import Collected, Observation
from pulsetrain.agents.collectors.scrape import ScrapeTarget
from pulsetrain.agents.collectors.scrape.collector import ScrapeCollector
from pulsetrain.agents.collectors.scrape.http_source import Exposition

RECORDED = Path(__file__).parents[4] / "data/prometheus_text"
SECOND = 1_000_000_000
NOW_NS = 1_700_000_000 * SECOND


class TextSource:
    """Gives one text after another, the last one for ever; an exception among them is raised."""

    def __init__(self, *texts: str | bytes | Exception, is_openmetrics: bool = False) -> None:
        self._texts = list(texts)
        self._is_openmetrics = is_openmetrics
        self.is_closed = False

    @contextmanager
    def scrape(self) -> Iterator[Exposition]:
        text = self._texts.pop(0) if len(self._texts) > 1 else self._texts[0]
        if isinstance(text, Exception):
            raise text
        content = text.encode() if isinstance(text, str) else text
        yield Exposition(iter(content.split(b"\n")), self._is_openmetrics)

    def close(self) -> None:
        self.is_closed = True


def collector(
    *texts: str | bytes | Exception, keep: Sequence[str] = (), is_openmetrics: bool = False, **labels: str
) -> ScrapeCollector:
    """A collector of a target named `t` that says these texts one after another."""
    target = ScrapeTarget(name="t", url="http://127.0.0.1:9400/metrics", keep=tuple(keep), labels=labels)
    return ScrapeCollector(target, TextSource(*texts, is_openmetrics=is_openmetrics))


def by_entity(collected: Collected) -> dict[str, Observation]:
    """The observations; every entity has one."""
    assert len({observation.entity for observation in collected.observations}) == len(collected.observations)
    return {observation.entity: observation for observation in collected.observations}


def values(observation: Observation) -> dict[str, float]:
    """Values by metric id."""
    return dict(zip(observation.metrics, observation.values, strict=True))


def about_scrape(collected: Collected) -> dict[str, float]:
    """What the collector says of the scrape, by the last part of the name."""
    said = values(by_entity(collected)["host"])
    prefix, attributes = "pulsetrain.agent.scrape.", "{agent.scrape.target=t}"
    return {metric.removeprefix(prefix).removesuffix(attributes): value for metric, value in said.items()}
