"""The registry: never without a model once there was one, and a function of the topic alone."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulsetrain.models.fitting import fit
from pulsetrain.models.graph import IR_VERSION, OPSETS
from pulsetrain.models.registry import LoadedModel, ModelRegistry, NoModel, RegistryChange, RegistryEvent
from pulsetrain.models.release import Release, new_release, release_records, tombstone_keys, updated_pointer
from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.schemas.model_release import ModelPointer, ModelRecord, encode_model_record
from tests.model_releases import warm_up_release

NS = 1_000_000_000
NAMES = ("cpu__mean", "cpu__variance", "memory__mean", "memory__variance")
Message = tuple[bytes, bytes | None]


@lru_cache
def release(version: int = 1) -> Release:
    """A version that learned from 120 rows of its own."""
    rows = np.random.default_rng(version).normal(size=(120, len(NAMES)))
    ends_ns = np.arange(1, 121, dtype=np.int64) * 5 * NS
    model = fit(rows, NAMES, ends_ns, window_ns=5 * NS, hop_ns=5 * NS)
    return warm_up_release(model, "host", version, b"state")


def message(record: ModelRecord) -> Message:
    return record.key.encode(), encode_model_record(record)


def messages(released: Release) -> list[Message]:
    return [message(record) for record in release_records(released)]


def pointer(*effective: tuple[int, int]) -> ModelPointer:
    """A pointer to (version, second from which it is effective)."""
    current = None
    for version, second in effective:
        current, _ = updated_pointer("host", current, version, second * NS)
    assert current is not None
    return current


def apply_all(registry: ModelRegistry, records: list[Message]) -> list[RegistryEvent]:
    return [event for key, value in records for event in registry.apply(key, value)]


def registry_with(*versions: int) -> ModelRegistry:
    """A registry with these versions, each effective from 100 times its number in seconds."""
    registry = ModelRegistry()
    for version in versions:
        apply_all(registry, messages(release(version)))
    apply_all(registry, [message(pointer(*((version, 100 * version) for version in versions)))])
    return registry


def version_at(registry: ModelRegistry, second: float) -> int | None:
    model = registry.scorer_at("host", int(second * NS))
    return model.version if isinstance(model, LoadedModel) else None


def test_a_release_and_its_pointer_give_a_model_that_scores() -> None:
    registry = ModelRegistry()

    events = apply_all(registry, [*messages(release()), message(pointer((1, 100)))])
    model = registry.scorer_at("host", 100 * NS)

    assert [event.change for event in events] == [RegistryChange.LOADED, RegistryChange.POINTER_MOVED]
    assert events[0].release == release()
    assert isinstance(model, LoadedModel)
    far = np.full((1, len(model.scorer.columns)), 50.0)
    assert model.scorer.score(far).flagged.tolist() == [True]


def test_a_window_is_scored_by_the_version_effective_at_its_end() -> None:
    registry = registry_with(1, 2)

    assert [version_at(registry, second) for second in (99.9, 100, 199.9, 200, 10_000)] == [None, 1, 1, 2, 2]


def test_before_the_first_version_a_window_is_not_scored_and_the_reason_is_told() -> None:
    assert ModelRegistry().scorer_at("gpu", 0) == NoModel("there is no model of gpu yet")
    assert registry_with(1).scorer_at("host", 99 * NS) == NoModel(
        "the first version of model host is effective only later than this window"
    )


@settings(max_examples=15, deadline=None)
@given(st.permutations([*messages(release(1)), *messages(release(2)), message(pointer((1, 100), (2, 200)))]))
def test_the_same_records_in_any_order_end_in_the_same_models(order: list[Message]) -> None:
    registry = ModelRegistry()
    apply_all(registry, order)

    assert [version_at(registry, second) for second in (50, 150, 250)] == [None, 1, 2]


def damaged_ir_version() -> list[Message]:
    return [message(r) for r in (*release_records(release(2))[:-1], replace(release(2).manifest, ir_version=99))]


def truncated_graph() -> list[Message]:
    whole = release(2)
    manifest = whole.manifest
    return messages(
        new_release(
            name="host",
            version=2,
            created_ns=1,
            reason="labels",
            columns=manifest.columns,
            medians=manifest.medians,
            opsets=OPSETS,
            ir_version=IR_VERSION,
            graph=whole.graph[: len(whole.graph) // 2],
            state=b"",
            training_start_ns=0,
            training_end_ns=0,
            training_windows=1,
            labels_used=0,
        )
    )


def wrong_sha256() -> list[Message]:
    return [message(r) for r in (*release_records(release(2))[:-1], replace(release(2).manifest, sha256="0" * 64))]


def missing_chunk() -> list[Message]:
    return messages(release(2))[1:]


def unknown_opset() -> list[Message]:
    return [message(r) for r in (*release_records(release(2))[:-1], replace(release(2).manifest, opsets={"": 99}))]


def columns_in_another_order() -> list[Message]:
    manifest = release(2).manifest
    shifted = replace(manifest, columns=manifest.columns[::-1])
    return [message(r) for r in (*release_records(release(2))[:-1], shifted)]


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        (damaged_ir_version(), "ir_version 99"),
        (truncated_graph(), "not an ONNX model"),
        (wrong_sha256(), "sha256"),
        (missing_chunk(), "chunks have not arrived"),
        (unknown_opset(), "opsets"),
        (columns_in_another_order(), "columns are not those of its manifest"),
    ],
)
def test_a_damaged_version_is_rejected_with_the_reason_and_the_earlier_one_goes_on(
    records: list[Message], reason: str
) -> None:
    registry = registry_with(1)

    events = apply_all(registry, [*records, message(pointer((1, 100), (2, 200)))])

    (rejected,) = [event for event in events if event.change is RegistryChange.REJECTED]
    assert rejected.version == 2
    assert rejected.message.startswith("version 2 of model host rejected: ")
    assert reason in rejected.message
    assert rejected.message.endswith("version 1 stays")
    assert version_at(registry, 250) == 1


def test_a_rejected_version_says_why_there_is_no_model() -> None:
    registry = ModelRegistry()
    apply_all(registry, [*wrong_sha256(), message(pointer((2, 100)))])

    outcome = registry.scorer_at("host", 100 * NS)

    assert isinstance(outcome, NoModel)
    assert "version 2 of model host can't be used: its payload has sha256" in outcome.reason


def test_a_version_whose_last_chunk_comes_after_the_pointer_is_taken_up() -> None:
    registry = registry_with(1)
    last, *others = messages(release(2))
    apply_all(registry, [*others, message(pointer((1, 100), (2, 200)))])
    assert version_at(registry, 250) == 1

    (event,) = registry.apply(*last)

    assert event.change is RegistryChange.LOADED
    assert version_at(registry, 250) == 2


def test_the_tombstones_of_the_live_version_are_ignored() -> None:
    registry = registry_with(1)

    events = apply_all(registry, [(key.encode(), None) for key in [*tombstone_keys(release(1).manifest), "host"]])

    assert {event.change for event in events} == {RegistryChange.TOMBSTONE_IGNORED}
    assert "it stays" in events[0].message
    assert version_at(registry, 100) == 1


def test_the_tombstones_of_an_expired_version_remove_it_quietly() -> None:
    registry = registry_with(1, 2)
    apply_all(registry, [message(pointer((2, 200)))])

    assert apply_all(registry, [(key.encode(), None) for key in tombstone_keys(release(1).manifest)]) == []
    assert version_at(registry, 250) == 2


def test_a_pointer_to_versions_that_are_all_unusable_leaves_the_last_good_one_scoring() -> None:
    registry = registry_with(1)

    apply_all(registry, [*wrong_sha256(), message(pointer((2, 200)))])
    apply_all(registry, [(key.encode(), None) for key in tombstone_keys(release(1).manifest)])

    assert version_at(registry, 250) == 1


def test_a_pointer_that_names_no_version_is_refused() -> None:
    registry = registry_with(1)

    (event,) = registry.apply(*message(ModelPointer("host", ())))

    assert event.change is RegistryChange.REJECTED
    assert version_at(registry, 100) == 1


def test_a_version_that_no_pointer_names_does_not_score() -> None:
    registry = registry_with(1)
    apply_all(registry, messages(release(2)))

    assert version_at(registry, 10_000) == 1
    newest = registry.newest("host")
    assert newest is not None
    assert newest.version == 1


def test_a_new_version_is_tested_on_recent_windows_beside_the_live_one() -> None:
    registry = registry_with(1)
    asked = []

    def recent(name: str, columns: tuple[str, ...]) -> FloatArray:
        asked.append((name, columns))
        rows = np.zeros((5, len(columns)))
        rows[0] = 50.0
        rows[1, 0] = np.nan
        return rows

    events = [event for key, value in messages(release(2)) for event in registry.apply(key, value, recent)]

    assert events[-1].message == ("version 2 of model host loaded; it agrees with version 1 on 5 of 5 recent windows")
    assert asked == [("host", release(2).manifest.columns), ("host", release(1).manifest.columns)]


def test_without_recent_windows_a_version_is_tested_on_its_medians() -> None:
    registry = registry_with(1)

    (event,) = [event for key, value in messages(release(2)) for event in registry.apply(key, value, lambda *_: None)]

    assert event.change is RegistryChange.LOADED


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"x"),
        (b"", b"x"),
        (b"\xff\xfe", b"x"),
        (b"host", b""),
        (b"host", b"garbage"),
        (b"host/1/manifest", message(pointer((1, 100)))[1]),
        (b"host/2/0", messages(release(1))[0][1]),
    ],
)
def test_what_can_not_be_read_is_told_and_changes_nothing(key: bytes | None, value: bytes) -> None:
    registry = registry_with(1)

    (event,) = registry.apply(key, value)

    assert event.change is RegistryChange.UNREADABLE
    assert version_at(registry, 100) == 1


@pytest.mark.parametrize("key", [b"host/1", b"host/" + b"9" * 5000 + b"/0", b"host/-1/0", b"host/1/0/0", b"gpu/1/0"])
def test_a_tombstone_under_a_key_that_is_none_of_ours_changes_nothing(key: bytes) -> None:
    registry = registry_with(1)

    assert registry.apply(key, None) == []
    assert version_at(registry, 100) == 1


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=40), st.none() | st.binary(max_size=200))
def test_no_bytes_whatever_raise_or_remove_the_model(key: bytes, value: bytes | None) -> None:
    registry = warm_registry()

    registry.apply(key, value)

    assert version_at(registry, 100) == 1


@lru_cache
def warm_registry() -> ModelRegistry:
    return registry_with(1)


def test_the_number_of_a_release_that_was_cut_short_counts_as_used() -> None:
    registry = registry_with(1)
    chunk, *_ = messages(release(7))
    registry.apply(*chunk)

    assert registry.highest_version("host") == 7
    assert version_at(registry, 100) == 1


def test_a_version_that_only_the_pointer_names_counts_as_used_and_nothing_does_where_there_is_nothing() -> None:
    registry = ModelRegistry()
    apply_all(registry, [message(pointer((4, 100)))])

    assert registry.highest_version("host") == 4
    assert registry.highest_version("gpu") == 0


def test_versions_beyond_those_that_are_kept_are_forgotten() -> None:
    registry = ModelRegistry()
    effective: list[tuple[int, int]] = []
    for version in range(1, 10):
        effective.append((version, 100 * version))
        apply_all(registry, [*messages(replace_version(version)), message(pointer(*effective))])

    assert [version_at(registry, 100 * version) for version in range(1, 10)] == [None] * 4 + [5, 6, 7, 8, 9]


def replace_version(version: int) -> Release:
    return replace(release(1), manifest=replace(release(1).manifest, version=version))


def test_the_number_of_models_is_bounded() -> None:
    registry = ModelRegistry()
    for number in range(100):
        registry.apply(*message(updated_pointer(f"kind{number}", None, 1, 0)[0]))

    (event,) = registry.apply(*message(updated_pointer("one-more", None, 1, 0)[0]))

    assert event.change is RegistryChange.UNREADABLE
    assert "64 models are known already" in event.message
