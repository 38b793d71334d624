"""ModelRelease: what the compacted models topic carries so that every worker can load the same model.

Three records share the topic: the manifest (key `name/version/manifest`), the chunks of its payload (key
`name/version/0`, `/1` ...) and the pointer (key `name`) that says from when on which version scores.
The payload is the ONNX graph followed by the trainer's state, from which a restarted trainer learns on.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pulsetrain.schemas.avro import AvroCodec
from pulsetrain.schemas.errors import DecodeError, DecodeFailure, EncodeError
from pulsetrain.schemas.feature_selection import (
    AVRO,
    FeatureSelection,
    selection_fields,
    selection_from,
    selection_problem,
)

CHUNK_BYTES = 512 * 1024
MAX_MESSAGE_BYTES = 900_000
MAX_POINTER_BYTES = 64 * 1024
MAX_PAYLOAD_BYTES = 64 * 1024 * 1024
KEPT_VERSIONS = 5

_MANIFEST_1: dict[str, Any] = {
    "type": "record",
    "namespace": "pulsetrain.v1",
    "name": "ModelManifest",
    "fields": [
        {"name": "name", "type": "string", "doc": "The entity kind that the model scores, e.g. host."},
        {"name": "version", "type": "long"},
        {"name": "created_ns", "type": "long"},
        {"name": "reason", "type": "string", "doc": "Why it was trained: warm_up, labels ..."},
        {"name": "columns", "type": {"type": "array", "items": "string"}, "doc": "Input columns, in order."},
        {
            "name": "medians",
            "type": {"type": "array", "items": "double"},
            "doc": "Imputed where a value is missing.",
        },
        {"name": "opsets", "type": {"type": "map", "values": "long"}},
        {"name": "ir_version", "type": "long"},
        {"name": "graph_bytes", "type": "long"},
        {"name": "state_bytes", "type": "long"},
        {"name": "sha256", "type": "string", "doc": "Of the whole payload: graph, then state."},
        {"name": "training_start_ns", "type": "long"},
        {"name": "training_end_ns", "type": "long"},
        {"name": "training_windows", "type": "long"},
        {"name": "labels_used", "type": "long"},
    ],
}

_MANIFEST_2 = _MANIFEST_1 | {
    "fields": [*_MANIFEST_1["fields"], {"name": "selection", "type": ["null", AVRO], "default": None}]
}
"""Version 1 does not tell how the columns were chosen."""

_CHUNK_1 = {
    "type": "record",
    "namespace": "pulsetrain.v1",
    "name": "ModelChunk",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "version", "type": "long"},
        {"name": "index", "type": "long"},
        {"name": "data", "type": "bytes"},
    ],
}

_POINTER_1 = {
    "type": "record",
    "namespace": "pulsetrain.v1",
    "name": "ModelPointer",
    "fields": [
        {"name": "name", "type": "string"},
        {
            "name": "releases",
            "doc": "Oldest first. A window is scored by the last one that is effective at the window's end.",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "EffectiveRelease",
                    "fields": [
                        {"name": "version", "type": "long"},
                        {"name": "effective_from_ns", "type": "long"},
                    ],
                },
            },
        },
    ],
}

_MANIFEST_CODEC = AvroCodec([_MANIFEST_1, _MANIFEST_2], MAX_MESSAGE_BYTES)
_CHUNK_CODEC = AvroCodec([_CHUNK_1], MAX_MESSAGE_BYTES)
_POINTER_CODEC = AvroCodec([_POINTER_1], MAX_POINTER_BYTES)


@dataclass(frozen=True, slots=True)
class ModelManifest:
    """What a worker must know to verify and feed one version."""

    name: str
    version: int
    created_ns: int
    reason: str
    columns: tuple[str, ...]
    medians: tuple[float, ...]
    opsets: Mapping[str, int]
    ir_version: int
    graph_bytes: int
    state_bytes: int
    sha256: str
    training_start_ns: int
    training_end_ns: int
    training_windows: int
    labels_used: int
    selection: FeatureSelection | None = None

    @property
    def key(self) -> str:
        return f"{self.name}/{self.version}/manifest"

    @property
    def chunk_count(self) -> int:
        return -(-(self.graph_bytes + self.state_bytes) // CHUNK_BYTES)


@dataclass(frozen=True, slots=True)
class ModelChunk:
    """One piece of a version's payload, at most `CHUNK_BYTES` long."""

    name: str
    version: int
    index: int
    data: bytes

    @property
    def key(self) -> str:
        return f"{self.name}/{self.version}/{self.index}"


@dataclass(frozen=True, slots=True)
class EffectiveRelease:
    """From `effective_from_ns` (event time of a window's end) on, `version` scores."""

    version: int
    effective_from_ns: int


@dataclass(frozen=True, slots=True)
class ModelPointer:
    """The versions of one model that may score, oldest first, with the times from which they do."""

    name: str
    releases: tuple[EffectiveRelease, ...]

    @property
    def key(self) -> str:
        return self.name

    def version_at(self, window_end_ns: int) -> int | None:
        """The version that scores a window ending at `window_end_ns`; None before the first one."""
        effective = [release for release in self.releases if release.effective_from_ns <= window_end_ns]
        return effective[-1].version if effective else None


ModelRecord = ModelManifest | ModelChunk | ModelPointer


def encode_model_record(record: ModelRecord) -> bytes:
    """One message of the models topic; its key is `record.key`.

    Raises:
        EncodeError: the record breaks a rule of its type, so that every reader would refuse it.
    """
    problem = _problem(record)
    if problem:
        raise EncodeError(f"{type(record).__name__} {record.key}: {problem}")
    match record:
        case ModelManifest():
            fields = {name: getattr(record, name) for name in ModelManifest.__slots__}
            return _MANIFEST_CODEC.encode(
                fields
                | {
                    "columns": list(record.columns),
                    "medians": list(record.medians),
                    "opsets": dict(record.opsets),
                    "selection": None if record.selection is None else selection_fields(record.selection),
                }
            )
        case ModelChunk():
            return _CHUNK_CODEC.encode({name: getattr(record, name) for name in ModelChunk.__slots__})
        case ModelPointer():
            releases = [
                {"version": release.version, "effective_from_ns": release.effective_from_ns}
                for release in record.releases
            ]
            return _POINTER_CODEC.encode({"name": record.name, "releases": releases})


def decode_model_record(message: bytes | None) -> ModelRecord:
    """The manifest, chunk or pointer of a message.

    Raises:
        DecodeError: the bytes are none of the three.
    """
    record = _decode(message)
    problem = _problem(record)
    if problem:
        raise DecodeError(DecodeFailure.INVALID, problem)
    return record


def _decode(message: bytes | None) -> ModelRecord:
    if message and _CHUNK_CODEC.matches(message):
        return ModelChunk(**_CHUNK_CODEC.decode(message))
    if message and _POINTER_CODEC.matches(message):
        fields = _POINTER_CODEC.decode(message)
        return ModelPointer(fields["name"], tuple(EffectiveRelease(**release) for release in fields["releases"]))
    fields = _MANIFEST_CODEC.decode(message)
    selection = fields["selection"]
    return ModelManifest(
        **fields
        | {
            "columns": tuple(fields["columns"]),
            "medians": tuple(fields["medians"]),
            "selection": None if selection is None else selection_from(selection),
        }
    )


def _problem(record: ModelRecord) -> str | None:
    """The first rule that the record breaks, as a sentence."""
    if not record.name:
        return "a model needs a name"
    match record:
        case ModelChunk():
            if len(record.data) > CHUNK_BYTES or record.index < 0:
                return f"chunk {record.index} of {len(record.data)} bytes; a chunk has at most {CHUNK_BYTES}"
        case ModelPointer():
            if any(late.effective_from_ns < early.effective_from_ns for early, late in pairwise(record.releases)):
                return f"the releases of {record.name} are not in order of time"
        case ModelManifest():
            if len(record.columns) != len(record.medians):
                return "a manifest needs one median a column"
            if not all(math.isfinite(median) for median in record.medians):
                return "a median must be a finite number: it stands in for what is missing"
            payload_bytes = record.graph_bytes + record.state_bytes
            if record.graph_bytes <= 0 or record.state_bytes < 0 or payload_bytes > MAX_PAYLOAD_BYTES:
                return f"a payload has 1 to {MAX_PAYLOAD_BYTES} bytes"
            if record.selection is not None:
                return selection_problem(record.selection, record.columns)
    return None
