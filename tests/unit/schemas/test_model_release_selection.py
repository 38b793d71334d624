"""The report of the selection in a manifest: bounded, checked on both ends, and absent from older manifests."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.schemas.errors import DecodeError, DecodeFailure, EncodeError
from pulsetrain.schemas.feature_selection import (
    MAX_REASONS,
    MAX_STEPS,
    DroppedFeature,
    DroppedFeatures,
    FeatureSelection,
    SelectionStep,
)
from pulsetrain.schemas.model_release import ModelManifest, decode_model_record, encode_model_record
from tests.unit.schemas.test_golden import (
    CANONICAL_V1,
    LONG,
    STRING,
    V2,
    canonical,
    crc_64_avro,
    golden,
    independently,
)
from tests.unit.schemas.test_model_release import MANIFEST

SELECTION = FeatureSelection(
    offered=4,
    steps=(SelectionStep("stability", True, "40 windows"), SelectionStep("timeliness", False, "no fault is labelled")),
    dropped=(
        DroppedFeatures("volatile", 2, (DroppedFeature("load__variance", 0.5),)),
        DroppedFeatures("duplicate", 1, (DroppedFeature("load__median", 0.99, "load__mean"),)),
    ),
)

names = st.text(min_size=1, max_size=20)
features = st.builds(
    DroppedFeature,
    name=names,
    figure=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    kept=st.none() | names,
)
groups = st.lists(features, max_size=4).flatmap(
    lambda named: st.builds(
        DroppedFeatures, reason=names, count=st.integers(len(named), 10_000), named=st.just(tuple(named))
    )
)
selections = st.lists(groups, max_size=4).flatmap(
    lambda dropped: st.builds(
        FeatureSelection,
        offered=st.just(len(MANIFEST.columns) + sum(group.count for group in dropped)),
        steps=st.lists(
            st.builds(SelectionStep, name=names, applied=st.booleans(), detail=st.text(max_size=40)), max_size=3
        ).map(tuple),
        dropped=st.just(tuple(dropped)),
    )
)


# Version 2 as it was published, in Parsing Canonical Form (Avro specification) put together by hand; never edit.
SELECTION_V2 = canonical(
    "FeatureSelection",
    offered=LONG,
    steps='{"type":"array","items":'
    + canonical("SelectionStep", name=STRING, applied='"boolean"', detail=STRING)
    + "}",
    dropped='{"type":"array","items":'
    + canonical(
        "DroppedFeatures",
        reason=STRING,
        count=LONG,
        named='{"type":"array","items":'
        + canonical("DroppedFeature", name=STRING, figure='["null","double"]', kept='["null","string"]')
        + "}",
    )
    + "}",
)
MANIFEST_V2 = CANONICAL_V1["model_manifest.bin"].removesuffix("]}") + (
    ',{"name":"selection","type":["null",' + SELECTION_V2 + "]}]}"
)


def test_the_golden_manifest_of_version_2_begins_with_the_fingerprint_of_its_schema_and_has_its_values() -> None:
    message = golden("model_manifest.bin", V2)

    assert message[:10] == b"\xc3\x01" + crc_64_avro(MANIFEST_V2).to_bytes(8, "little")
    manifest = decode_model_record(message)
    assert isinstance(manifest, ModelManifest)
    assert manifest.selection == FeatureSelection(
        offered=5,
        steps=(
            SelectionStep("stability", True, "120 windows that share no sample, in 4 spans of time"),
            SelectionStep("timeliness", False, "no fault is labelled"),
        ),
        dropped=(
            DroppedFeatures("volatile", 2, (DroppedFeature("system.memory.usage__mean", 0.5),)),
            DroppedFeatures(
                "duplicate",
                1,
                (DroppedFeature("system.memory.usage__median", 0.9921875, "system.memory.usage__maximum"),),
            ),
        ),
    )
    assert independently("model_manifest.bin", V2, MANIFEST_V2)["selection"]["dropped"][0] == {
        "reason": "volatile",
        "count": 2,
        "named": [{"name": "system.memory.usage__mean", "figure": 0.5, "kept": None}],
    }


def test_a_manifest_of_version_1_tells_nothing_of_a_selection() -> None:
    manifest = decode_model_record(golden("model_manifest.bin"))

    assert isinstance(manifest, ModelManifest)
    assert manifest.columns == ("system.cpu.utilization__mean", "system.memory.usage__maximum")
    assert manifest.selection is None


@given(selections)
def test_a_report_that_is_encoded_is_decoded(selection: FeatureSelection) -> None:
    manifest = replace(MANIFEST, selection=selection)

    assert decode_model_record(encode_model_record(manifest)) == manifest


def _dropped(**changes: Any) -> FeatureSelection:
    return replace(SELECTION, dropped=(replace(SELECTION.dropped[0], **changes), SELECTION.dropped[1]))


@pytest.mark.parametrize(
    ("selection", "reason"),
    [
        (replace(SELECTION, offered=5), "5 features are not 1 columns"),
        (replace(SELECTION, steps=SELECTION.steps[:1] * (MAX_STEPS + 1)), "at most 16 steps"),
        (replace(SELECTION, dropped=SELECTION.dropped[:1] * (MAX_REASONS + 1)), "32 reasons"),
        (replace(SELECTION, steps=(SelectionStep("", True, ""),)), "a step of a selection has a name"),
        (replace(SELECTION, steps=(SelectionStep("s", True, "d" * 513),)), "at most 512 characters of detail"),
        (_dropped(reason=""), "of 2 dropped features 1 are named"),
        (_dropped(count=-1), "of -1 dropped features 1 are named"),
        (_dropped(count=65, named=(DroppedFeature("a"),) * 65), "of 65 dropped features 65 are named; at most 64"),
        (_dropped(named=(DroppedFeature(""),)), "a dropped feature has a name"),
        (_dropped(named=(DroppedFeature("a", None, "m" * 2049),)), "at most 2048 characters"),
        (_dropped(named=(DroppedFeature("a", float("nan")),)), "a finite figure"),
    ],
)
def test_a_report_that_breaks_a_rule_is_refused_on_both_ends(
    selection: FeatureSelection, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = replace(MANIFEST, selection=selection)
    with pytest.raises(EncodeError, match=reason):
        encode_model_record(manifest)
    with monkeypatch.context() as without_rules:
        without_rules.setattr("pulsetrain.schemas.model_release._problem", lambda _record: None)
        message = encode_model_record(manifest)
    with pytest.raises(DecodeError, match=reason) as caught:
        decode_model_record(message)
    assert caught.value.failure is DecodeFailure.INVALID
