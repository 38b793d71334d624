"""The metric catalogue: one name, unit, kind and valid range for the same thing, whatever its source."""

from pulsetrain.schemas.catalogue.containers import CONTAINER_METRICS
from pulsetrain.schemas.catalogue.counters import COUNTER_METRICS
from pulsetrain.schemas.catalogue.exporters import CanonicalName, canonical_name
from pulsetrain.schemas.catalogue.fabric import FABRIC_METRICS
from pulsetrain.schemas.catalogue.gpu import GPU_METRICS
from pulsetrain.schemas.catalogue.host import AGENT_METRICS, HOST_METRICS
from pulsetrain.schemas.catalogue.inference import INFERENCE_METRICS
from pulsetrain.schemas.catalogue.metric import BetweenSamples, JudgedBy, Metric, MetricKind, metric_id, metric_name
from pulsetrain.schemas.catalogue.power import POWER_METRICS
from pulsetrain.schemas.catalogue.scraped import SCRAPE_METRICS, SCRAPED_METRICS
from pulsetrain.schemas.catalogue.training import TRAINING_METRICS

__all__ = [
    "METRICS",
    "BetweenSamples",
    "CanonicalName",
    "JudgedBy",
    "Metric",
    "MetricKind",
    "canonical_name",
    "find",
    "metric_id",
    "metric_name",
]

METRICS = (
    *HOST_METRICS,
    *COUNTER_METRICS,
    *POWER_METRICS,
    *GPU_METRICS,
    *CONTAINER_METRICS,
    *FABRIC_METRICS,
    *TRAINING_METRICS,
    *INFERENCE_METRICS,
    *SCRAPED_METRICS,
    *AGENT_METRICS,
    *SCRAPE_METRICS,
)
"""Every metric that is known, in the order of the catalogue."""

_BY_NAME = {metric.name: metric for metric in METRICS}


def find(metric_id: str) -> Metric | None:
    """The catalogue's entry for a metric id, whatever its attributes; None for an unknown metric."""
    return _BY_NAME.get(metric_name(metric_id))
