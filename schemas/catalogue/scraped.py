"""Metrics that only scraped endpoints have, and what the agent says about its scrapes."""

from pulsetrain.schemas.catalogue.metric import BetweenSamples, JudgedBy, counter, gauge

KEPT_METRICS = (
    gauge(
        "exporter.gauge",
        "1",
        "A gauge that the catalogue has no name for, by exporter.metric and the exporter's labels.",
        valid_min=float("-inf"),
    ),
    counter(
        "exporter.counter",
        "1",
        "A counter that the catalogue has no name for, by exporter.metric and the exporter's labels.",
    ),
)

SCRAPED_METRICS = (counter("system.cpu.time", "s", "CPU time by cpu.mode, the sum over all CPUs."), *KEPT_METRICS)

SCRAPE_METRICS = (
    gauge(
        "pulsetrain.agent.scrape.partial",
        "1",
        "1 if a part of the last exposition could not be used: bad lines, more series than allowed, a missing end.",
        valid_max=1.0,
        judged_by=JudgedBy.NOTHING,
        between_samples=BetweenSamples.HOLD,
    ),
    gauge(
        "pulsetrain.agent.scrape.samples",
        "{sample}",
        "Samples of the last exposition that have a name here.",
        judged_by=JudgedBy.NOTHING,
        between_samples=BetweenSamples.HOLD,
    ),
    gauge(
        "pulsetrain.agent.scrape.samples.unmapped",
        "{sample}",
        "Samples of the last exposition that have no name here, and were left out.",
        judged_by=JudgedBy.NOTHING,
        between_samples=BetweenSamples.HOLD,
    ),
    counter(
        "pulsetrain.agent.scrape.samples.duplicate",
        "{sample}",
        "Samples left out because the same series came before in the same exposition.",
        judged_by=JudgedBy.NOTHING,
    ),
    counter(
        "pulsetrain.agent.scrape.samples.over_limit",
        "{sample}",
        "Samples left out because there are too many series, or one has too long a name.",
        judged_by=JudgedBy.NOTHING,
    ),
    counter(
        "pulsetrain.agent.scrape.lines.bad",
        "{line}",
        "Lines of expositions that could not be understood.",
        judged_by=JudgedBy.NOTHING,
    ),
)
