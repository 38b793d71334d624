"""Releases: sizes, order of publishing, pointers."""

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.models.release import (
    Release,
    ReleaseError,
    new_release,
    release_records,
    tombstone_keys,
    updated_pointer,
)
from pulsetrain.schemas.model_release import (
    KEPT_VERSIONS,
    MAX_MESSAGE_BYTES,
    MAX_PAYLOAD_BYTES,
    EffectiveRelease,
    ModelChunk,
    ModelPointer,
    encode_model_record,
)

LIBRDKAFKA_DEFAULT_LIMIT = 1_000_000
"""message.max.bytes of a producer that sets nothing."""


def release(graph: bytes = b"graph", state: bytes = b"state", name: str = "host", version: int = 1) -> Release:
    return new_release(
        name=name,
        version=version,
        created_ns=1_700_000_000_000_000_000,
        reason="warm_up",
        columns=("cpu__mean",),
        medians=(0.5,),
        opsets={"": 18, "ai.onnx.ml": 3},
        ir_version=9,
        graph=graph,
        state=state,
        training_start_ns=1,
        training_end_ns=2,
        training_windows=100,
        labels_used=0,
    )


def test_a_model_of_1_100_000_bytes_travels_in_chunks_that_every_producer_accepts() -> None:
    payload = bytes(range(256)) * 4297
    graph, state = payload[:1_000_000], payload[1_000_000:1_100_000]

    *chunks, manifest = release_records(release(graph, state))

    assert [len(chunk.data) for chunk in chunks if isinstance(chunk, ModelChunk)] == [524_288, 524_288, 51_424]
    assert all(len(encode_model_record(record)) < LIBRDKAFKA_DEFAULT_LIMIT for record in [*chunks, manifest])
    assert b"".join(chunk.data for chunk in chunks if isinstance(chunk, ModelChunk)) == graph + state


def test_the_manifest_follows_its_chunks_and_no_key_is_empty() -> None:
    records = release_records(release(bytes(600_000)))

    assert [record.key for record in records] == ["host/1/0", "host/1/1", "host/1/manifest"]


def test_the_manifest_carries_the_hash_of_graph_and_state() -> None:
    manifest = release(b"abc", b"def").manifest

    assert manifest.sha256 == hashlib.sha256(b"abcdef").hexdigest()
    assert (manifest.graph_bytes, manifest.state_bytes) == (3, 3)


def test_a_payload_above_the_limit_is_refused_before_anything_is_published() -> None:
    with pytest.raises(ReleaseError, match=f"both together may have {MAX_PAYLOAD_BYTES} bytes"):
        release(bytes(MAX_PAYLOAD_BYTES), b"x")


def test_a_payload_at_the_limit_is_published() -> None:
    assert release(bytes(MAX_PAYLOAD_BYTES - 1), b"x").manifest.chunk_count == 128


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"graph": b""}, "a graph is needed"),
        ({"name": ""}, "can't name a model"),
        ({"name": "node/host"}, "can't name a model"),
        ({"version": 0}, "count from 1"),
    ],
)
def test_what_readers_would_refuse_is_refused_with_a_reason(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ReleaseError, match=message):
        release(**arguments)


def test_a_manifest_too_large_for_a_message_is_refused() -> None:
    columns = tuple(f"{index:0500d}" for index in range(MAX_MESSAGE_BYTES // 500))

    with pytest.raises(ReleaseError, match="can't be described"):
        new_release(
            name="host",
            version=1,
            created_ns=0,
            reason="warm_up",
            columns=columns,
            medians=[0.0] * len(columns),
            opsets={},
            ir_version=9,
            graph=b"graph",
            state=b"",
            training_start_ns=0,
            training_end_ns=0,
            training_windows=0,
            labels_used=0,
        )


def test_the_first_version_makes_a_pointer() -> None:
    pointer, expired = updated_pointer("host", None, 1, 1000)

    assert pointer == ModelPointer("host", (EffectiveRelease(1, 1000),))
    assert expired == ()


def test_the_last_five_versions_stay() -> None:
    pointer, _ = updated_pointer("host", None, 1, 100)
    for version in range(2, 7):
        pointer, _ = updated_pointer("host", pointer, version, version * 100)

    pointer, expired = updated_pointer("host", pointer, 7, 700)

    assert [entry.version for entry in pointer.releases] == [3, 4, 5, 6, 7]
    assert expired == (2,)


def test_a_version_does_not_become_effective_before_the_one_it_follows() -> None:
    first, _ = updated_pointer("host", None, 1, 1000)

    second, _ = updated_pointer("host", first, 2, 400)

    assert second.releases[-1] == EffectiveRelease(2, 1000)
    assert second.version_at(1000) == 2
    assert second.version_at(999) is None


def test_a_version_that_is_not_newer_is_refused() -> None:
    pointer, _ = updated_pointer("host", None, 3, 1000)

    with pytest.raises(ReleaseError, match="version 3 of model host is not newer than version 3"):
        updated_pointer("host", pointer, 3, 2000)


def test_another_models_pointer_is_refused() -> None:
    pointer, _ = updated_pointer("gpu", None, 1, 1000)

    with pytest.raises(ReleaseError, match="pointer of model gpu"):
        updated_pointer("host", pointer, 2, 2000)


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=12))
def test_every_version_of_a_pointer_has_its_turn_in_order(times_ns: list[int]) -> None:
    pointer = None
    for version, effective_from_ns in enumerate(times_ns, start=1):
        pointer, _ = updated_pointer("host", pointer, version, effective_from_ns)

    assert pointer is not None
    assert len(pointer.releases) == min(len(times_ns), KEPT_VERSIONS)
    assert pointer.version_at(max(times_ns)) == len(times_ns)
    encode_model_record(pointer)


def test_an_expired_version_is_deleted_chunk_by_chunk_and_its_manifest_last() -> None:
    assert tombstone_keys(release(bytes(600_000), version=7).manifest) == ["host/7/0", "host/7/1", "host/7/manifest"]
