"""Observations of background collectors become batches: a message is never spent on a single one without need.

A reader takes a sample into its windows if it comes less than two seconds after newer ones of the node. So an
observation waits for others of its kind until it is `HOLD_NS` old, which brings two readings of a source that is asked
every second into one message, and leaves half a second.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pulsetrain.agents.collectors.base import Observation
from pulsetrain.agents.sampler import Samples
from pulsetrain.agents.session import Batch
from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.schemas.sample_block import MAX_BLOCK_BYTES, MAX_SPAN_NS

HOLD_NS = 1_500_000_000

_FORGET_NS = 600_000_000_000
_MAX_STREAMS = 10_000
_MAX_CELLS = 50_000
"""Values of one batch: 8 bytes each, they fit a message with the names."""

_BATCH_BYTES = MAX_BLOCK_BYTES * 3 // 4
_VALUE_BYTES = 8
_FEW_METRICS = 250
"""They fit, with the longest names and reasons."""


@dataclass(slots=True)
class _Stream:
    """Observations of one collector and entity that wait, and the time of the newest one there ever was."""

    source: str
    newest_ns: int = 0
    interval_ns: int = 0
    metrics: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    ticks_ns: list[int] = field(default_factory=list)
    rows: list[FloatArray] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)

    def missing(self, values: FloatArray) -> dict[str, str]:
        """By metric why values are missing."""
        gaps = np.logical_or.reduce(np.isnan(values), axis=0)
        return {
            metric: self.reasons.get(metric, f"no value in {self.source}")
            for metric, has_gap in zip(self.metrics, gaps, strict=True)
            if has_gap
        }

    def fits(self, observation: Observation, interval_ns: int) -> bool:
        """Whether an observation can go into the same block as those that wait."""
        return (
            self.interval_ns == interval_ns
            and self.metrics == observation.metrics
            and self.labels == observation.labels
            and (len(self.rows) + 1) * len(self.metrics) <= _MAX_CELLS
            and (not self.ticks_ns or observation.time_ns - self.ticks_ns[0] <= MAX_SPAN_NS)
        )


class Gatherer:
    """Holds observations by collector and entity until their batch is due. Pure: it has no clock and no thread."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str], _Stream] = {}
        self._ready: list[Batch] = []
        self._oldest_ns: float = math.inf

    def add(self, collector: str, source: str, interval_ns: int, observation: Observation) -> str | None:
        """Take an observation over; returns why it can't be used, None if it can.

        Args:
            collector: who brought it.
            source: what the collector reads, in words.
            interval_ns: the collector's interval now.
            observation: its time is what will be sent.
        """
        if observation.interval_ns is not None:
            interval_ns = max(interval_ns, observation.interval_ns)
        try:
            values = np.asarray(observation.values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            return f"a value of {observation.entity} is no number: {error}"
        if not observation.metrics or values.shape != (len(observation.metrics),):
            return f"{values.size} values for {len(observation.metrics)} metrics of {observation.entity}"
        key = (collector, observation.entity)
        stream = self._streams.get(key)
        if stream is None:
            if len(self._streams) >= _MAX_STREAMS:
                return f"more than {_MAX_STREAMS} entities"
            stream = self._streams[key] = _Stream(source)
        if observation.time_ns <= stream.newest_ns:
            return f"an observation of {observation.entity} that is not newer than the one before it"
        if not stream.fits(observation, interval_ns):
            self._release(key, stream)
            stream.interval_ns = interval_ns
            stream.metrics, stream.labels = observation.metrics, observation.labels
        stream.newest_ns = observation.time_ns
        stream.ticks_ns.append(observation.time_ns)
        self._oldest_ns = min(self._oldest_ns, observation.time_ns)
        stream.rows.append(values)
        stream.reasons.update(observation.missing)
        return None

    def due(self, next_ns: int) -> Iterator[Batch]:
        """Batches that can't wait until `next_ns`, Unix nanoseconds."""
        if next_ns - self._oldest_ns > HOLD_NS:
            self._oldest_ns = math.inf
            for key, stream in self._streams.items():
                if stream.ticks_ns and next_ns - stream.ticks_ns[0] > HOLD_NS:
                    self._release(key, stream)
                elif stream.ticks_ns:
                    self._oldest_ns = min(self._oldest_ns, stream.ticks_ns[0])
        yield from self._take_ready()

    def all(self) -> Iterator[Batch]:
        """Everything that waits, and forget what was: times begin anew."""
        for key, stream in self._streams.items():
            self._release(key, stream)
        self._streams.clear()
        self._oldest_ns = math.inf
        yield from self._take_ready()

    def forget(self, now_ns: int) -> None:
        """Forget entities of which nothing has come for ten minutes."""
        self._streams = {
            key: stream
            for key, stream in self._streams.items()
            if stream.ticks_ns or now_ns - stream.newest_ns < _FORGET_NS
        }

    def _take_ready(self) -> Iterator[Batch]:
        ready, self._ready = self._ready, []
        yield from ready

    def _release(self, key: tuple[str, str], stream: _Stream) -> None:
        if not stream.ticks_ns:
            return
        collector, entity = key
        values = np.array(stream.rows)
        # A sum is NaN as soon as one of its numbers is.
        missing = stream.missing(values) if math.isnan(values.sum()) else {}
        ticks_ns = np.array(stream.ticks_ns, dtype=np.int64)
        for columns in _fitting(stream.metrics, missing, len(ticks_ns)):
            metrics = stream.metrics[columns]
            reasons = {metric: missing[metric] for metric in metrics if metric in missing}
            samples = Samples(ticks_ns, values[:, columns], reasons, {})
            self._ready.append(Batch(collector, entity, stream.interval_ns, metrics, samples, stream.labels))
        stream.ticks_ns, stream.rows, stream.reasons = [], [], {}


def _fitting(metrics: Sequence[str], missing: Mapping[str, str], ticks: int) -> Iterator[slice]:
    """Neighbouring metrics that fit one message: an endpoint may have thousands for one entity."""
    begin, size = 0, 0
    if len(metrics) > _FEW_METRICS:
        for index, metric in enumerate(metrics):
            reason = missing.get(metric)
            column = ticks * _VALUE_BYTES + len(metric) + (0 if reason is None else len(metric) + len(reason))
            if size + column > _BATCH_BYTES and index > begin:
                yield slice(begin, index)
                begin, size = index, 0
            size += column
    yield slice(begin, len(metrics))
