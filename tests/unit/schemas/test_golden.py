"""Golden messages: bytes written once by `python -m tests.golden`, readable by this and every later version."""

import io
import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pytest

from pulsetrain.schemas.anomaly import Anomaly, AnomalyState, Evidence, Model, Vote
from pulsetrain.schemas.feature_window import decode_feature_window
from pulsetrain.schemas.json_record import decode_json
from pulsetrain.schemas.label import Label, LabelVerdict
from pulsetrain.schemas.model_release import (
    EffectiveRelease,
    ModelChunk,
    ModelManifest,
    ModelPointer,
    decode_model_record,
)
from pulsetrain.schemas.sample_block import decode_sample_block
from pulsetrain.schemas.status import Severity, Status, StatusEvent

V1 = Path(__file__).parents[2] / "data" / "golden" / "v1"
V2 = V1.parent / "v2"

STRING, LONG, BYTES = '"string"', '"long"', '"bytes"'
STRINGS = '{"type":"array","items":"string"}'
STRING_MAP = '{"type":"map","values":"string"}'


def canonical(name: str, /, **fields: str) -> str:
    """A record's Parsing Canonical Form (Avro specification), put together by hand."""
    members = ",".join(f'{{"name":"{field}","type":{type_}}}' for field, type_ in fields.items())
    return f'{{"name":"pulsetrain.v1.{name}","type":"record","fields":[{members}]}}'


# Version 1 as it was published; never edit.
CANONICAL_V1 = {
    "sample_block.bin": canonical(
        "SampleBlock",
        node=STRING,
        session=STRING,
        boot_id=STRING,
        collector=STRING,
        entity=STRING,
        labels=STRING_MAP,
        sequence=LONG,
        sent_until_ns='["null","long"]',
        interval_ns=LONG,
        ticks_ns=BYTES,
        metrics=STRINGS,
        values=BYTES,
        missing=STRING_MAP,
    ),
    "feature_window.bin": canonical(
        "FeatureWindow",
        node=STRING,
        session=STRING,
        entity=STRING,
        labels=STRING_MAP,
        start_ns=LONG,
        end_ns=LONG,
        complete='"boolean"',
        metrics=STRINGS,
        features=STRINGS,
        values=BYTES,
        count_names=STRINGS,
        counts=BYTES,
    ),
    "model_manifest.bin": canonical(
        "ModelManifest",
        name=STRING,
        version=LONG,
        created_ns=LONG,
        reason=STRING,
        columns=STRINGS,
        medians='{"type":"array","items":"double"}',
        opsets='{"type":"map","values":"long"}',
        ir_version=LONG,
        graph_bytes=LONG,
        state_bytes=LONG,
        sha256=STRING,
        training_start_ns=LONG,
        training_end_ns=LONG,
        training_windows=LONG,
        labels_used=LONG,
    ),
    "model_chunk.bin": canonical("ModelChunk", name=STRING, version=LONG, index=LONG, data=BYTES),
    "model_pointer.bin": canonical(
        "ModelPointer",
        name=STRING,
        releases=(
            '{"type":"array","items":' + canonical("EffectiveRelease", version=LONG, effective_from_ns=LONG) + "}"
        ),
    ),
}


FEATURE_WINDOW_V2 = CANONICAL_V1["feature_window.bin"].removesuffix("]}") + (
    ',{"name":"clock_offset_ns","type":["null","long"]}]}'
)


def golden(name: str, version: Path = V1) -> bytes:
    return (version / name).read_bytes()


def crc_64_avro(text: str) -> int:
    """The Rabin fingerprint as the Avro specification gives it, bit by bit."""
    empty = 0xC15D213AA4D7A795
    fingerprint = empty
    for byte in text.encode():
        low = (fingerprint ^ byte) & 0xFF
        for _ in range(8):
            low = (low >> 1) ^ (empty if low & 1 else 0)
        fingerprint = (fingerprint >> 8) ^ low
    return fingerprint


def test_the_fingerprint_algorithm_gives_the_published_value_of_the_schema_null() -> None:
    assert crc_64_avro('"null"') == 7195948357588979594


@pytest.mark.parametrize("name", CANONICAL_V1)
def test_a_golden_avro_message_begins_with_the_marker_and_the_fingerprint_of_its_schema(name: str) -> None:
    header = golden(name)[:10]
    assert header == b"\xc3\x01" + crc_64_avro(CANONICAL_V1[name]).to_bytes(8, "little")


def test_the_second_version_of_a_feature_window_begins_with_its_own_fingerprint() -> None:
    header = golden("feature_window.bin", V2)[:10]
    assert header == b"\xc3\x01" + crc_64_avro(FEATURE_WINDOW_V2).to_bytes(8, "little")


def independently(name: str, version: Path = V1, canonical_form: str | None = None) -> dict[str, Any]:
    """The body of a golden message as fastavro alone reads it by the published schema."""
    schema = fastavro.parse_schema(json.loads(canonical_form or CANONICAL_V1[name]))
    body = io.BytesIO(golden(name, version)[10:])
    record = fastavro.schemaless_reader(body, schema, None)
    assert body.read() == b""
    assert isinstance(record, dict)
    return record


def test_the_golden_sample_block_has_its_values() -> None:
    block = decode_sample_block(golden("sample_block.bin"))
    assert (block.node, block.session, block.collector) == ("node-00", "0f8b2c4e", "host")
    assert block.boot_id == "6d1f0a52-7a1c-4b0e-9d57-2f1b1c9f7a10"
    assert block.entity == "node-00/host"
    assert block.labels == {"job": "llama", "rank": "3"}
    assert block.sequence == 42
    assert block.sent_until_ns == 1_767_225_599_900_000_000
    assert block.interval_ns == 100_000_000
    assert block.ticks_ns.tolist() == [1_767_225_600_000_000_000, 1_767_225_600_100_000_000]
    assert block.metrics == ("system.cpu.utilization", "system.memory.usage", "hw.gpu.temperature")
    assert block.values[0, :2].tolist() == [0.25, 8_589_934_592.0]
    assert math.isnan(block.values[0, 2])
    assert block.values[1].tolist() == [0.0, 5e-324, 71.3]
    assert math.copysign(1.0, block.values[1, 0]) == -1.0
    assert block.missing == {"hw.gpu.temperature": "not_supported"}


def test_fastavro_alone_reads_the_golden_sample_block() -> None:
    record = independently("sample_block.bin")
    assert record["node"] == "node-00"
    assert record["sent_until_ns"] == 1_767_225_599_900_000_000
    assert np.frombuffer(record["ticks_ns"], "<i8").tolist() == [
        1_767_225_600_000_000_000,
        1_767_225_600_100_000_000,
    ]
    assert np.frombuffer(record["values"], "<f8")[[0, 1, 5]].tolist() == [0.25, 8_589_934_592.0, 71.3]


def test_the_golden_feature_window_has_its_values() -> None:
    window = decode_feature_window(golden("feature_window.bin"))
    assert (window.node, window.session, window.entity) == ("node-00", "0f8b2c4e", "node-00/gpu:GPU-é")
    assert window.labels == {"job": "llama"}
    assert window.start_ns == 1_767_225_600_000_000_000
    assert window.end_ns == 1_767_225_630_000_000_000
    assert window.complete is False
    assert window.metrics == ("system.cpu.utilization", "hw.gpu.temperature")
    assert window.features == ("mean", "autocorrelation__lag_1", "c3__lag_3")
    assert window.values[0].tolist() == [0.5, -1.0, 1e300]
    assert window.values[1, 0] == 71.3
    assert np.isnan(window.values[1, 1:]).all()
    assert window.counts[:, :7].tolist() == [[300, 297, 1, 2, 3, 4, 5], [30, 0, 0, 0, 0, 0, 30]]


def test_version_1_of_a_feature_window_knows_no_reasons_and_no_clock_offset() -> None:
    window = decode_feature_window(golden("feature_window.bin"))
    assert window.counts[:, 7:].tolist() == [[0, 0, 0], [0, 0, 0]]
    assert window.clock_offset_ns is None


def test_fastavro_alone_reads_the_golden_feature_window() -> None:
    record = independently("feature_window.bin")
    assert record["complete"] is False
    assert record["count_names"] == [
        "expected",
        "measured",
        "resampled",
        "filled",
        "late",
        "out_of_order",
        "invalid",
    ]
    assert np.frombuffer(record["counts"], "<i8")[:3].tolist() == [300, 297, 1]
    assert np.frombuffer(record["values"], "<f8")[:4].tolist() == [0.5, -1.0, 1e300, 71.3]


def test_the_second_version_of_a_feature_window_has_reasons_and_a_clock_offset() -> None:
    window = decode_feature_window(golden("feature_window.bin", V2))
    assert window.counts.tolist() == [[300, 297, 1, 2, 3, 4, 5, 2, 0, 3], [30, 0, 0, 0, 0, 0, 30, 0, 30, 0]]
    assert window.clock_offset_ns == -1_250_000
    record = independently("feature_window.bin", V2, FEATURE_WINDOW_V2)
    assert record["count_names"][6:] == ["invalid", "not_finite", "sentinel", "out_of_range"]
    assert record["clock_offset_ns"] == -1_250_000


MANIFEST = {
    "name": "host",
    "version": 7,
    "created_ns": 1_767_225_600_000_000_000,
    "reason": "labels",
    "columns": ["system.cpu.utilization__mean", "system.memory.usage__maximum"],
    "medians": [0.125, 8_589_934_592.0],
    "opsets": {"": 18, "ai.onnx.ml": 3},
    "ir_version": 10,
    "graph_bytes": 600_000,
    "state_bytes": 1_000,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "training_start_ns": 1_767_222_000_000_000_000,
    "training_end_ns": 1_767_225_600_000_000_000,
    "training_windows": 720,
    "labels_used": 2,
}


def test_the_golden_manifest_has_its_values_and_needs_two_chunks() -> None:
    manifest = decode_model_record(golden("model_manifest.bin"))
    assert isinstance(manifest, ModelManifest)
    assert {name: getattr(manifest, name) for name in MANIFEST} == MANIFEST | {
        "columns": ("system.cpu.utilization__mean", "system.memory.usage__maximum"),
        "medians": (0.125, 8_589_934_592.0),
    }
    assert manifest.key == "host/7/manifest"
    assert manifest.chunk_count == 2  # 601,000 bytes in pieces of 524,288
    assert independently("model_manifest.bin") == MANIFEST


def test_the_golden_chunk_has_its_values() -> None:
    every_byte = bytes(range(256))
    assert decode_model_record(golden("model_chunk.bin")) == ModelChunk("host", 7, 1, every_byte)
    assert independently("model_chunk.bin") == {"name": "host", "version": 7, "index": 1, "data": every_byte}


def test_the_golden_pointer_has_its_values() -> None:
    assert decode_model_record(golden("model_pointer.bin")) == ModelPointer(
        "host",
        (EffectiveRelease(6, 1_767_222_010_000_000_000), EffectiveRelease(7, 1_767_225_610_000_000_000)),
    )
    assert independently("model_pointer.bin") == {
        "name": "host",
        "releases": [
            {"version": 6, "effective_from_ns": 1_767_222_010_000_000_000},
            {"version": 7, "effective_from_ns": 1_767_225_610_000_000_000},
        ],
    }


def test_the_golden_anomaly_has_its_values() -> None:
    anomaly = decode_json(golden("anomaly.json"), Anomaly)
    assert anomaly.id == "node-00/host@20260101T000030.000Z:detect"
    assert (anomaly.revision, anomaly.state, anomaly.stage) == (1, AnomalyState.CLOSED, "detect")
    assert (anomaly.entity, anomaly.node, anomaly.labels) == ("node-00/host", "node-00", {"job": "llama"})
    assert anomaly.first_window_end == datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC)
    assert anomaly.window_start == datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert anomaly.window_end == datetime(2026, 1, 1, 0, 0, 35, tzinfo=UTC)
    assert (anomaly.flagged_windows, anomaly.score) == (2, 1.75)
    assert anomaly.votes == [
        Vote(detector="zscore", score=9.5, threshold=3.0, flagged=True),
        Vote(detector="mahalanobis", score=None, threshold=None, flagged=False),
    ]
    assert anomaly.evidence == [
        Evidence(metric="system.cpu.utilization", feature="mean", value=0.99, expected=0.25, deviation_sigma=9.5)
    ]
    assert anomaly.model == Model(name="host", version=7)
    quality = anomaly.data_quality
    assert (quality.missing, quality.filled, quality.late, quality.out_of_order) == (0.0, 0.01, 0.0, 0.0)
    assert (quality.invalid, quality.imputed_columns) == (1.0, 3)


def test_the_golden_labels_have_their_values() -> None:
    assert decode_json(golden("label.json"), Label) == Label(
        anomaly_id="node-00/host@20260101T000030.000Z:detect",
        verdict=LabelVerdict.FALSE_POSITIVE,
        by="olga",
        at=datetime(2026, 1, 1, 8, 15, tzinfo=UTC),
        note="nightly backup – no fault",
    )
    assert decode_json(golden("label_missed.json"), Label) == Label(
        anomaly_id="node-01/host@2026-01-01T02:00:00Z",
        verdict=LabelVerdict.MISSED,
        by="olga",
        at=datetime(2026, 1, 1, 8, 15, tzinfo=UTC),
        entity="node-01/host",
        start=datetime(2026, 1, 1, 2, 0, tzinfo=UTC),
        end=datetime(2026, 1, 1, 2, 5, tzinfo=UTC),
    )


def test_the_golden_status_has_its_values() -> None:
    assert decode_json(golden("status.json"), Status) == Status(
        source="node-00",
        event=StatusEvent.SAMPLES_DROPPED,
        severity=Severity.WARNING,
        at=datetime(2026, 1, 1, 0, 0, 0, 250_000, tzinfo=UTC),
        message="12 of 1200 blocks could not be sent",
        entity="node-00/host",
        details={"dropped": 12, "share": 0.01, "reason": "queue full", "oldest": None},
    )
