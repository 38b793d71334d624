"""Manifest, chunk and pointer: what they carry, and what is refused on both ends."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.schemas.errors import DecodeError, DecodeFailure, EncodeError
from pulsetrain.schemas.model_release import (
    CHUNK_BYTES,
    MAX_PAYLOAD_BYTES,
    EffectiveRelease,
    ModelChunk,
    ModelManifest,
    ModelPointer,
    ModelRecord,
    decode_model_record,
    encode_model_record,
)

MANIFEST = ModelManifest(
    name="host",
    version=1,
    created_ns=1,
    reason="warm_up",
    columns=("load__mean",),
    medians=(0.5,),
    opsets={"": 18},
    ir_version=10,
    graph_bytes=CHUNK_BYTES,
    state_bytes=0,
    sha256="0" * 64,
    training_start_ns=0,
    training_end_ns=1,
    training_windows=1,
    labels_used=0,
)

names = st.text(min_size=1, max_size=20)
longs = st.integers(-(2**63), 2**63 - 1)
chunks = st.builds(ModelChunk, name=names, version=longs, index=st.integers(0, 2**63 - 1), data=st.binary(max_size=100))
pointers = st.builds(
    ModelPointer,
    name=names,
    releases=st.lists(st.builds(EffectiveRelease, version=longs, effective_from_ns=longs), max_size=6).map(
        lambda releases: tuple(sorted(releases, key=lambda release: release.effective_from_ns))
    ),
)
manifests = st.lists(st.tuples(names, st.floats(allow_nan=False, allow_infinity=False)), max_size=5).flatmap(
    lambda columns: st.builds(
        ModelManifest,
        name=names,
        version=longs,
        created_ns=longs,
        reason=st.text(),
        columns=st.just(tuple(name for name, _ in columns)),
        medians=st.just(tuple(median for _, median in columns)),
        opsets=st.dictionaries(st.text(), longs, max_size=3),
        ir_version=longs,
        graph_bytes=st.integers(1, MAX_PAYLOAD_BYTES // 2),
        state_bytes=st.integers(0, MAX_PAYLOAD_BYTES // 2),
        sha256=st.text(),
        training_start_ns=longs,
        training_end_ns=longs,
        training_windows=longs,
        labels_used=longs,
    )
)


@given(chunks | pointers | manifests)
def test_what_is_encoded_is_decoded(record: ModelRecord) -> None:
    assert decode_model_record(encode_model_record(record)) == record


@pytest.mark.parametrize(
    ("payload_bytes", "chunk_count"),
    [(1, 1), (524_288, 1), (524_289, 2), (1_048_576, 2), (MAX_PAYLOAD_BYTES, 128)],
)
def test_a_payload_is_cut_into_chunks_of_half_a_mebibyte(payload_bytes: int, chunk_count: int) -> None:
    assert replace(MANIFEST, graph_bytes=1, state_bytes=payload_bytes - 1).chunk_count == chunk_count


def test_a_full_chunk_fits_into_a_message() -> None:
    chunk = ModelChunk("n" * 512, 1, 0, bytes(CHUNK_BYTES))
    assert decode_model_record(encode_model_record(chunk)) == chunk


def test_keys_name_the_record() -> None:
    assert MANIFEST.key == "host/1/manifest"
    assert ModelChunk("host", 1, 3, b"").key == "host/1/3"
    assert ModelPointer("host", ()).key == "host"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (replace(MANIFEST, name=""), "needs a name"),
        (replace(MANIFEST, medians=()), "one median a column"),
        (replace(MANIFEST, medians=(float("nan"),)), "must be a finite number"),
        (replace(MANIFEST, medians=(float("inf"),)), "must be a finite number"),
        (replace(MANIFEST, graph_bytes=0), "a payload has 1 to"),
        (replace(MANIFEST, state_bytes=-1), "a payload has 1 to"),
        (replace(MANIFEST, state_bytes=MAX_PAYLOAD_BYTES), "a payload has 1 to"),
        (replace(MANIFEST, graph_bytes=2**63 - 1, state_bytes=2**63 - 1), "a payload has 1 to"),
        (ModelChunk("host", 1, -1, b""), "chunk -1"),
        (ModelChunk("host", 1, 0, bytes(CHUNK_BYTES + 1)), "of 524289 bytes"),
        (ModelPointer("host", (EffectiveRelease(1, 5), EffectiveRelease(2, 4))), "not in order of time"),
    ],
)
def test_a_record_that_breaks_a_rule_is_refused_on_both_ends(
    record: ModelRecord, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EncodeError, match=reason):
        encode_model_record(record)
    with monkeypatch.context() as without_rules:
        without_rules.setattr("pulsetrain.schemas.model_release._problem", lambda _record: None)
        message = encode_model_record(record)
    with pytest.raises(DecodeError, match=reason) as caught:
        decode_model_record(message)
    assert caught.value.failure is DecodeFailure.INVALID


def test_a_pointer_of_many_thousand_releases_is_not_taken() -> None:
    many = tuple(EffectiveRelease(version, version) for version in range(30_000))
    with pytest.raises(EncodeError, match="exceeds the limit of 65536 bytes"):
        encode_model_record(ModelPointer("host", many))


@pytest.mark.parametrize(("window_end_ns", "version"), [(9, None), (10, 1), (19, 1), (20, 2), (10**18, 2)])
def test_a_window_is_scored_by_the_last_release_effective_at_its_end(window_end_ns: int, version: Any) -> None:
    pointer = ModelPointer("host", (EffectiveRelease(1, 10), EffectiveRelease(2, 20)))
    assert pointer.version_at(window_end_ns) == version


def test_of_two_releases_effective_from_the_same_time_the_later_one_scores() -> None:
    assert ModelPointer("host", (EffectiveRelease(1, 10), EffectiveRelease(2, 10))).version_at(10) == 2
