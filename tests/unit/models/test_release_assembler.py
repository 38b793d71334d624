"""Releases put together from records in any order, damaged ones refused, memory bounded."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulsetrain.models import release_assembler
from pulsetrain.models.release import Release, new_release, release_records
from pulsetrain.models.release_assembler import MAX_VERSIONS_PER_NAME, RejectedRelease, ReleaseAssembler
from pulsetrain.schemas.model_release import CHUNK_BYTES, ModelChunk, ModelManifest

Record = ModelManifest | ModelChunk


def release(version: int = 1, graph_bytes: int = 3 * CHUNK_BYTES - 100, name: str = "host") -> Release:
    return new_release(
        name=name,
        version=version,
        created_ns=1,
        reason="warm_up",
        columns=("cpu__mean",),
        medians=(0.5,),
        opsets={"": 18, "ai.onnx.ml": 3},
        ir_version=9,
        graph=bytes([version]) * graph_bytes,
        state=b"state",
        training_start_ns=1,
        training_end_ns=2,
        training_windows=100,
        labels_used=0,
    )


RELEASES = {version: release(version) for version in (1, 2)}
RECORDS: list[Record] = [record for each in RELEASES.values() for record in release_records(each)]


def add_all(assembler: ReleaseAssembler, records: list[Record]) -> list[Release | RejectedRelease]:
    return [outcome for record in records for outcome in assembler.add(record)]


@settings(max_examples=30, deadline=None)
@given(st.permutations(RECORDS), st.lists(st.sampled_from(RECORDS), max_size=6))
def test_records_in_any_order_and_some_of_them_twice_give_each_release_once(
    order: list[Record], repeated: list[Record]
) -> None:
    outcomes = add_all(ReleaseAssembler(), order + repeated)

    assert sorted(outcomes, key=lambda outcome: outcome.manifest.version) == [RELEASES[1], RELEASES[2]]  # type: ignore[union-attr]


def test_a_missing_chunk_leaves_the_release_incomplete_and_named() -> None:
    assembler = ReleaseAssembler()
    records = release_records(RELEASES[1])

    assert add_all(assembler, [records[0], records[2], records[3]]) == []
    assert assembler.missing("host", 1) == "1 of its 3 chunks have not arrived: 1"


def test_what_has_no_manifest_yet_is_named() -> None:
    assembler = ReleaseAssembler()
    assembler.add(release_records(RELEASES[1])[0])

    assert assembler.missing("host", 1) == "its manifest has not arrived, 1 chunks have"
    assert assembler.missing("host", 2) == "nothing of it has arrived"


def test_a_wrong_sha256_is_refused_with_both_values() -> None:
    manifest = replace(RELEASES[1].manifest, sha256="0" * 64)

    (outcome,) = add_all(ReleaseAssembler(), [*release_records(RELEASES[1])[:-1], manifest])

    assert isinstance(outcome, RejectedRelease)
    assert "sha256" in outcome.reason
    assert "0" * 64 in outcome.reason


def test_a_chunk_with_the_content_of_another_version_is_refused() -> None:
    first, second = release_records(RELEASES[1]), release_records(RELEASES[2])
    foreign = second[1]
    assert isinstance(foreign, ModelChunk)
    assembler = ReleaseAssembler()

    (outcome,) = add_all(assembler, [first[0], replace(foreign, version=1), first[2], first[3]])

    assert isinstance(outcome, RejectedRelease)
    assert outcome.version == 1
    assert assembler.missing("host", 1) == outcome.reason


def test_a_truncated_chunk_is_refused_and_the_whole_one_completes_the_release() -> None:
    records = release_records(RELEASES[1])
    whole = records[1]
    assert isinstance(whole, ModelChunk)
    assembler = ReleaseAssembler()

    (outcome,) = add_all(assembler, [records[0], replace(whole, data=whole.data[:-1]), records[2], records[3]])

    assert isinstance(outcome, RejectedRelease)
    assert "bytes" in outcome.reason
    assert assembler.add(whole) == [RELEASES[1]]


def test_a_complete_release_does_not_change_any_more() -> None:
    records = release_records(RELEASES[1])
    assembler = ReleaseAssembler()
    add_all(assembler, list(records))
    chunk = records[0]
    assert isinstance(chunk, ModelChunk)

    (changed_chunk,) = assembler.add(replace(chunk, data=b"other"))
    (changed_manifest,) = assembler.add(replace(RELEASES[1].manifest, reason="labels"))

    assert isinstance(changed_chunk, RejectedRelease)
    assert isinstance(changed_manifest, RejectedRelease)
    assert assembler.missing("host", 1) is None


def test_a_chunk_index_beyond_every_release_is_refused() -> None:
    assembler = ReleaseAssembler()

    (outcome,) = assembler.add(ModelChunk("host", 1, 128, b"x"))

    assert outcome == RejectedRelease("host", 1, "chunk 128 is beyond the 128 chunks of a release")
    assert assembler.missing("host", 1) == "nothing of it has arrived"


def test_the_lowest_version_gives_way_and_is_reported_only_if_it_was_incomplete() -> None:
    assembler = ReleaseAssembler()
    add_all(assembler, list(release_records(release(1, graph_bytes=10))))
    assembler.add(ModelChunk("host", 2, 0, b"x"))
    for version in range(3, MAX_VERSIONS_PER_NAME + 1):
        assembler.add(ModelChunk("host", version, 0, b"x"))

    assert assembler.add(ModelChunk("host", 7, 0, b"x")) == []
    (outcome,) = assembler.add(ModelChunk("host", 8, 0, b"x"))

    assert isinstance(outcome, RejectedRelease)
    assert outcome.version == 2
    assert "dropped before it was complete" in outcome.reason


def test_pending_chunks_are_bounded_and_the_least_recently_touched_release_gives_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(release_assembler, "MAX_PENDING_BYTES", 250)
    assembler = ReleaseAssembler()
    assembler.add(ModelChunk("host", 1, 0, bytes(100)))
    assembler.add(ModelChunk("gpu", 1, 0, bytes(100)))
    assembler.add(ModelChunk("host", 1, 0, bytes(100)))

    (outcome,) = assembler.add(ModelChunk("rank", 1, 0, bytes(100)))

    assert isinstance(outcome, RejectedRelease)
    assert (outcome.name, outcome.version) == ("gpu", 1)


def test_the_number_of_names_is_bounded() -> None:
    assembler = ReleaseAssembler()
    outcomes = [outcome for number in range(500) for outcome in assembler.add(ModelChunk(f"kind{number}", 1, 0, b"x"))]

    assert len(outcomes) == 500 - release_assembler.MAX_VERSIONS


def test_a_forgotten_version_can_come_again() -> None:
    assembler = ReleaseAssembler()
    records = list(release_records(RELEASES[1]))
    add_all(assembler, records)

    assembler.forget("host", 1)

    assert add_all(assembler, records) == [RELEASES[1]]
