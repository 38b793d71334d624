"""FeatureWindow: one window of one entity, as features of its metrics with their quality."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray, float_bytes, floats_from, int_bytes, ints_from
from pulsetrain.schemas.avro import AvroCodec, Record
from pulsetrain.schemas.errors import DecodeError, DecodeFailure, EncodeError
from pulsetrain.schemas.identity import (
    MAX_ENTITY_CHARACTERS,
    MAX_NAME_CHARACTERS,
    label_problem,
    name_problem,
    names_fit,
)
from pulsetrain.schemas.repeated_names import RepeatedNames

MAX_WINDOW_BYTES = 4_000_000


class SampleCount(StrEnum):
    """What is counted per metric of a window; the order is that of the columns of `FeatureWindow.counts`.

    `EXPECTED` grid points are `MEASURED`, `RESAMPLED`, `FILLED` or missing. The others count samples as they came:
    `INVALID` is the sum of `NOT_FINITE`, `SENTINEL` and `OUT_OF_RANGE`, the reasons why one can't have been measured.
    """

    EXPECTED = "expected"
    MEASURED = "measured"
    RESAMPLED = "resampled"
    FILLED = "filled"
    LATE = "late"
    OUT_OF_ORDER = "out_of_order"
    INVALID = "invalid"
    NOT_FINITE = "not_finite"
    SENTINEL = "sentinel"
    OUT_OF_RANGE = "out_of_range"


_COUNT_NAMES = tuple(count.value for count in SampleCount)
_COUNTS_OF_VERSION_1 = _COUNT_NAMES[:7]
"""Version 1 gives no reasons for what is invalid: they decode as 0."""


_VERSION_1: dict[str, Any] = {
    "type": "record",
    "namespace": "pulsetrain.v1",
    "name": "FeatureWindow",
    "doc": "Features and quality of one entity in [start, end).",
    "fields": [
        {"name": "node", "type": "string"},
        {"name": "session", "type": "string"},
        {"name": "entity", "type": "string"},
        {"name": "labels", "type": {"type": "map", "values": "string"}},
        {"name": "start_ns", "type": "long"},
        {"name": "end_ns", "type": "long"},
        {"name": "complete", "type": "boolean", "doc": "False where the window was closed before its end."},
        {"name": "metrics", "type": {"type": "array", "items": "string"}},
        {
            "name": "features",
            "type": {"type": "array", "items": "string"},
            "doc": "tsfresh's column names without the kind, e.g. autocorrelation__lag_1.",
        },
        {
            "name": "values",
            "type": "bytes",
            "doc": "float64 little-endian, metrics x features; NaN = missing.",
        },
        {"name": "count_names", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": "bytes", "doc": "int64 little-endian, metrics x count_names."},
    ],
}

_VERSION_2 = _VERSION_1 | {
    "fields": [
        *_VERSION_1["fields"],
        {
            "name": "clock_offset_ns",
            "type": ["null", "long"],
            "default": None,
            "doc": "Smallest append time minus newest tick of the blocks whose samples are in this window.",
        },
    ],
}


def _names_problem(names: Sequence[str]) -> str | None:
    """The first rule that names of metrics or features break, as a sentence."""
    if len(set(names)) != len(names):
        return "a metric or a feature is named twice"
    if not names_fit(names):
        return f"a metric's or feature's name must have 1 to {MAX_NAME_CHARACTERS} characters"
    return None


def _count_names_problem(names: Sequence[str]) -> str | None:
    return None if tuple(names) in (_COUNT_NAMES, _COUNTS_OF_VERSION_1) else f"counts named {list(names)}"


CODEC = AvroCodec(
    [_VERSION_1, _VERSION_2],
    MAX_WINDOW_BYTES,
    [
        RepeatedNames("metrics", ("entity",), _names_problem),
        RepeatedNames("features", (), _names_problem),
        RepeatedNames("count_names", (), _count_names_problem),
    ],
)


@dataclass(frozen=True, slots=True)
class FeatureWindow:
    """One window of one entity; its id is (entity, session, end_ns).

    `values` has shape (metrics, features), NaN where a feature is missing; `counts` (metrics, len(SampleCount)).
    `clock_offset_ns` is how far the node's clock is behind the broker's, the fastest delivery included: the smallest
    append time minus newest tick of the blocks in this window of the node (a minimum filter); None where none is known.
    The difference between two nodes' offsets is the time by which their samples are apart.
    """

    node: str
    session: str
    entity: str
    labels: Mapping[str, str]
    start_ns: int
    end_ns: int
    complete: bool
    metrics: tuple[str, ...]
    features: tuple[str, ...]
    values: FloatArray
    counts: IntArray
    clock_offset_ns: int | None = None


def encode_feature_window(window: FeatureWindow) -> bytes:
    """One message of the features topic.

    Raises:
        EncodeError: the window breaks a rule of the record, so that every reader would refuse it.
    """
    problem = _problem(window)
    if problem:
        raise EncodeError(f"FeatureWindow of {window.entity or '(no entity)'}: {problem}")
    return CODEC.encode(
        {
            "node": window.node,
            "session": window.session,
            "entity": window.entity,
            "labels": dict(window.labels),
            "start_ns": window.start_ns,
            "end_ns": window.end_ns,
            "complete": window.complete,
            "metrics": window.metrics,
            "features": window.features,
            "values": float_bytes(window.values),
            "count_names": _COUNT_NAMES,
            "counts": int_bytes(window.counts),
            "clock_offset_ns": window.clock_offset_ns,
        }
    )


def decode_feature_window(message: bytes | None) -> FeatureWindow:
    """The window of a message; arrays are read-only views of it.

    Raises:
        DecodeError: the bytes are no valid FeatureWindow.
    """
    record = CODEC.decode(message)
    metrics, features = record["metrics"], record["features"]
    window = FeatureWindow(
        node=record["node"],
        session=record["session"],
        entity=record["entity"],
        labels=record["labels"],
        start_ns=record["start_ns"],
        end_ns=record["end_ns"],
        complete=record["complete"],
        metrics=metrics,
        features=features,
        values=floats_from(record["values"], (len(metrics), len(features)), "values"),
        counts=_counts(record, len(metrics)),
        clock_offset_ns=record["clock_offset_ns"],
    )
    problem = _problem(window)
    if problem:
        raise DecodeError(DecodeFailure.INVALID, problem)
    return window


def _counts(record: Record, metrics: int) -> IntArray:
    names = record["count_names"]
    counts = ints_from(record["counts"], (metrics, len(names)), "counts")
    if len(names) == len(SampleCount):
        return counts
    return np.pad(counts, ((0, 0), (0, len(SampleCount) - len(names))))


def _problem(window: FeatureWindow) -> str | None:
    """The first rule that the window breaks, as a sentence; the codec looks at the names."""
    problem = (
        name_problem("node", window.node)
        or name_problem("session", window.session)
        or name_problem("entity", window.entity, MAX_ENTITY_CHARACTERS)
        or label_problem(window.labels)
    )
    if problem:
        return problem
    if not 0 <= window.start_ns < window.end_ns:
        return "a window must start at or after the Unix epoch and end after its start"
    metrics, features = len(window.metrics), len(window.features)
    if window.values.shape != (metrics, features):
        return f"values have shape {window.values.shape} for {metrics} metrics of {features} features"
    if window.counts.shape != (metrics, len(SampleCount)):
        return f"counts have shape {window.counts.shape} for {metrics} metrics of {len(SampleCount)} counts"
    if bool((window.counts < 0).any()):
        return "counts must not be negative"
    return None
