"""A release: one version of one model as it is published, and the pointer that says from when on it scores.

The order of publishing is what keeps a model alive at every moment: the chunks, then the manifest, and only when the
broker has confirmed them the pointer; last the tombstones of the versions that the pointer no longer names.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pulsetrain.models.errors import ModelError
from pulsetrain.schemas.errors import EncodeError
from pulsetrain.schemas.feature_selection import FeatureSelection
from pulsetrain.schemas.model_release import (
    CHUNK_BYTES,
    KEPT_VERSIONS,
    MAX_PAYLOAD_BYTES,
    EffectiveRelease,
    ModelChunk,
    ModelManifest,
    ModelPointer,
    encode_model_record,
)

KEY_SEPARATOR = "/"


class ReleaseError(ModelError):
    """A release can't be published as it is; the version that is live stays."""


@dataclass(frozen=True, slots=True)
class Release:
    """One version of one model: the ONNX graph, the state from which training goes on, and what describes them."""

    manifest: ModelManifest
    graph: bytes
    state: bytes


def new_release(
    *,
    name: str,
    version: int,
    created_ns: int,
    reason: str,
    columns: Sequence[str],
    medians: Sequence[float],
    opsets: Mapping[str, int],
    ir_version: int,
    graph: bytes,
    state: bytes,
    training_start_ns: int,
    training_end_ns: int,
    training_windows: int,
    labels_used: int,
    selection: FeatureSelection | None = None,
) -> Release:
    """A release with its sizes and its hash.

    Raises:
        ReleaseError: readers would refuse it: its name, its version or one of its sizes; the message says which.
    """
    if not name or KEY_SEPARATOR in name:
        raise ReleaseError(f"{name!r} can't name a model: its keys need a name without {KEY_SEPARATOR!r}")
    if version < 1:
        raise ReleaseError(f"version {version} of model {name}: versions count from 1")
    payload_bytes = len(graph) + len(state)
    if not graph or payload_bytes > MAX_PAYLOAD_BYTES:
        raise ReleaseError(
            f"version {version} of model {name} has a graph of {len(graph)} and a state of {len(state)} bytes: "
            f"a graph is needed, and both together may have {MAX_PAYLOAD_BYTES} bytes; learn fewer columns"
        )
    manifest = ModelManifest(
        name=name,
        version=version,
        created_ns=created_ns,
        reason=reason,
        columns=tuple(columns),
        medians=tuple(float(median) for median in medians),
        opsets=dict(opsets),
        ir_version=ir_version,
        graph_bytes=len(graph),
        state_bytes=len(state),
        sha256=hashlib.sha256(graph + state).hexdigest(),
        training_start_ns=training_start_ns,
        training_end_ns=training_end_ns,
        training_windows=training_windows,
        labels_used=labels_used,
        selection=selection,
    )
    try:
        encode_model_record(manifest)
    except EncodeError as error:
        raise ReleaseError(f"version {version} of model {name} can't be described: {error}") from error
    return Release(manifest, graph, state)


def release_records(release: Release) -> list[ModelChunk | ModelManifest]:
    """What to publish, in this order: the chunks of at most `CHUNK_BYTES`, then the manifest that makes them whole."""
    manifest = release.manifest
    payload = release.graph + release.state
    chunks = [
        ModelChunk(manifest.name, manifest.version, index, payload[index * CHUNK_BYTES : (index + 1) * CHUNK_BYTES])
        for index in range(manifest.chunk_count)
    ]
    return [*chunks, manifest]


def tombstone_keys(manifest: ModelManifest) -> list[str]:
    """Keys to delete an expired version; the manifest's comes last, so that what is cut short can be done again."""
    prefix = f"{manifest.name}{KEY_SEPARATOR}{manifest.version}{KEY_SEPARATOR}"
    return [*(f"{prefix}{index}" for index in range(manifest.chunk_count)), manifest.key]


def updated_pointer(
    name: str, pointer: ModelPointer | None, version: int, effective_from_ns: int
) -> tuple[ModelPointer, tuple[int, ...]]:
    """The pointer with one more version, and the versions that it no longer names, oldest first.

    The last `KEPT_VERSIONS` stay. A version never becomes effective before the one that it follows.

    Raises:
        ReleaseError: the version is not newer than those that the pointer names, or the pointer is another model's.
    """
    releases = pointer.releases if pointer else ()
    if pointer is not None and pointer.name != name:
        raise ReleaseError(f"the pointer of model {pointer.name} can't take a version of model {name}")
    newest = max((release.version for release in releases), default=0)
    if version <= newest:
        raise ReleaseError(f"version {version} of model {name} is not newer than version {newest}")
    if releases:
        effective_from_ns = max(effective_from_ns, releases[-1].effective_from_ns)
    updated = (*releases, EffectiveRelease(version, effective_from_ns))
    kept, expired = updated[-KEPT_VERSIONS:], updated[:-KEPT_VERSIONS]
    return ModelPointer(name, kept), tuple(release.version for release in expired)
