"""SampleBlock: many ticks of many metrics of one collector and one entity, as an agent sends them."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray, float_bytes, floats_from, int_bytes, ints_from
from pulsetrain.schemas.avro import AvroCodec
from pulsetrain.schemas.errors import DecodeError, DecodeFailure, EncodeError
from pulsetrain.schemas.identity import (
    MAX_ENTITY_CHARACTERS,
    MAX_NAME_CHARACTERS,
    label_problem,
    name_problem,
    names_fit,
)
from pulsetrain.schemas.repeated_names import RepeatedNames

MAX_BLOCK_BYTES = 1_000_000
MAX_METRICS = 20_000
MAX_TICKS = 100_000
MAX_SPAN_NS = 3600 * 1_000_000_000
"""Newest minus oldest tick of one block: bounds how many windows a single message can open."""

_VERSION_1 = {
    "type": "record",
    "namespace": "pulsetrain.v1",
    "name": "SampleBlock",
    "doc": "Raw samples of one collector and entity: ticks x metrics.",
    "fields": [
        {"name": "node", "type": "string"},
        {"name": "session", "type": "string", "doc": "New at each start of the agent."},
        {"name": "boot_id", "type": "string"},
        {"name": "collector", "type": "string"},
        {"name": "entity", "type": "string", "doc": "Global name, e.g. <node>/host or <node>/gpu:<uuid>."},
        {"name": "labels", "type": {"type": "map", "values": "string"}},
        {
            "name": "sequence",
            "type": "long",
            "doc": "Counts the blocks of this session and collector from 0.",
        },
        {
            "name": "sent_until_ns",
            "type": ["null", "long"],
            "doc": "Newest tick that this session had sent for this node before this block; null in its first.",
        },
        {"name": "interval_ns", "type": "long", "doc": "Distance of the grid points of this source."},
        {"name": "ticks_ns", "type": "bytes", "doc": "int64 little-endian, Unix nanoseconds, ascending."},
        {"name": "metrics", "type": {"type": "array", "items": "string"}},
        {"name": "values", "type": "bytes", "doc": "float64 little-endian, ticks x metrics; NaN = missing."},
        {
            "name": "missing",
            "type": {"type": "map", "values": "string"},
            "doc": "Why a metric's missing values are missing: metric to reason.",
        },
    ],
}


def _metrics_problem(metrics: Sequence[str]) -> str | None:
    """The first rule that the names break, as a sentence."""
    if not 1 <= len(metrics) <= MAX_METRICS:
        return f"{len(metrics)} metrics; 1 to {MAX_METRICS} are allowed"
    if not names_fit(metrics):
        return f"a metric name must have 1 to {MAX_NAME_CHARACTERS} characters"
    if len(set(metrics)) != len(metrics):
        return "a metric is named twice"
    return None


CODEC = AvroCodec([_VERSION_1], MAX_BLOCK_BYTES, [RepeatedNames("metrics", ("entity", "collector"), _metrics_problem)])


class SampleBlock(msgspec.Struct, frozen=True):
    """Samples of one collector and entity.

    `ticks_ns` has shape (ticks,), `values` (ticks, metrics) with NaN for a missing sample. `sent_until_ns` is the
    newest tick that this session had sent for this node before this block, None in the session's first block.
    """

    node: str
    session: str
    boot_id: str
    collector: str
    entity: str
    sequence: int
    sent_until_ns: int | None
    interval_ns: int
    ticks_ns: IntArray
    metrics: tuple[str, ...]
    values: FloatArray
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    missing: Mapping[str, str] = msgspec.field(default_factory=dict)


def encode_sample_block(block: SampleBlock) -> bytes:
    """One message of the samples topic.

    Raises:
        EncodeError: the block breaks a rule of the record, so that every reader would refuse it.
    """
    problem = _problem(block)
    if problem:
        raise EncodeError(f"SampleBlock of {block.node or '(no node)'}: {problem}")
    return CODEC.encode(
        {
            "node": block.node,
            "session": block.session,
            "boot_id": block.boot_id,
            "collector": block.collector,
            "entity": block.entity,
            "labels": dict(block.labels),
            "sequence": block.sequence,
            "sent_until_ns": block.sent_until_ns,
            "interval_ns": block.interval_ns,
            "ticks_ns": int_bytes(block.ticks_ns),
            "metrics": block.metrics,
            "values": float_bytes(block.values),
            "missing": dict(block.missing),
        }
    )


def decode_sample_block(message: bytes | None) -> SampleBlock:
    """The block of a message; arrays are read-only views of it.

    Raises:
        DecodeError: the bytes are no valid SampleBlock.
    """
    record = CODEC.decode(message)
    metrics = record["metrics"]
    ticks = len(record["ticks_ns"]) // 8
    block = SampleBlock(
        node=record["node"],
        session=record["session"],
        boot_id=record["boot_id"],
        collector=record["collector"],
        entity=record["entity"],
        sequence=record["sequence"],
        sent_until_ns=record["sent_until_ns"],
        interval_ns=record["interval_ns"],
        ticks_ns=ints_from(record["ticks_ns"], (ticks,), "ticks_ns"),
        metrics=metrics,
        values=floats_from(record["values"], (ticks, len(metrics)), "values"),
        labels=record["labels"],
        missing=record["missing"],
    )
    problem = _problem(block)
    if problem:
        raise DecodeError(DecodeFailure.INVALID, problem)
    return block


def _problem(block: SampleBlock) -> str | None:
    """The first rule that the block breaks, as a sentence; the codec looks at the names of the metrics."""
    problem = (
        name_problem("node", block.node)
        or name_problem("session", block.session)
        or name_problem("collector", block.collector)
        or name_problem("entity", block.entity, MAX_ENTITY_CHARACTERS)
        or label_problem(block.labels)
    )
    if problem:
        return problem
    ticks = block.ticks_ns
    if ticks.ndim != 1 or not 1 <= len(ticks) <= MAX_TICKS:
        return f"1 to {MAX_TICKS} ticks are allowed"
    if block.values.shape != (len(ticks), len(block.metrics)):
        return f"values have shape {block.values.shape} for {len(ticks)} ticks of {len(block.metrics)} metrics"
    if int(ticks[0]) <= 0 or np.count_nonzero(ticks[1:] > ticks[:-1]) != len(ticks) - 1:
        return "tick times must be positive and ascending"
    if int(ticks[-1]) - int(ticks[0]) > MAX_SPAN_NS:
        return f"the ticks span more than {MAX_SPAN_NS // 1_000_000_000} s"
    if block.interval_ns <= 0:
        return "the interval must be positive"
    if block.sequence < 0 or (block.sent_until_ns is not None and block.sent_until_ns <= 0):
        return "sequence and sent_until_ns must not be negative"
    return None
