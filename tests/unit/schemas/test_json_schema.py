"""The published JSON Schemas: current, true of what is sent, and strict with what is not."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pulsetrain.schemas.json_schema import FOLDER, json_schemas, schema_text

GOLDEN = Path(__file__).parents[2] / "data" / "golden" / "v1"
RECORDS = {
    "anomaly.json": "anomaly.schema.json",
    "label.json": "label.schema.json",
    "label_missed.json": "label.schema.json",
    "status.json": "status.schema.json",
}


def validator(file_name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((FOLDER / file_name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def golden(name: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((GOLDEN / name).read_bytes())
    return record


def test_the_committed_schemas_are_those_of_the_records() -> None:
    current = {name: schema_text(schema) for name, schema in json_schemas().items()}
    committed = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert committed == current, "write them anew: python -m pulsetrain.schemas.json_schema"


@pytest.mark.parametrize("file_name", sorted(set(RECORDS.values())))
def test_a_schema_says_what_it_is_and_describes_every_record_in_it(file_name: str) -> None:
    schema = json.loads((FOLDER / file_name).read_text(encoding="utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:pulsetrain:v1:{file_name.removesuffix('.schema.json')}"
    assert all(definition["description"] for definition in schema["$defs"].values())


@pytest.mark.parametrize("record", RECORDS)
def test_what_is_sent_is_valid(record: str) -> None:
    validator(RECORDS[record]).validate(golden(record))


@pytest.mark.parametrize("record", RECORDS)
def test_an_additional_field_of_a_newer_producer_is_valid(record: str) -> None:
    validator(RECORDS[record]).validate(golden(record) | {"shift": "night"})


@pytest.mark.parametrize(
    ("record", "changes"),
    [
        ("anomaly.json", {"id": ""}),
        ("anomaly.json", {"revision": -1}),
        ("anomaly.json", {"revision": "1"}),
        ("anomaly.json", {"state": "maybe"}),
        ("anomaly.json", {"score": "high"}),
        ("anomaly.json", {"labels": {"rank": 3}}),
        ("anomaly.json", {"votes": [{"detector": "zscore"}]}),
        ("anomaly.json", {"data_quality": None}),
        ("label.json", {"verdict": "maybe"}),
        ("label.json", {"by": 5}),
        ("label.json", {"by": None}),
        ("label.json", {"note": "n" * 4097}),
        ("label.json", {"entity": "node-00/host"}),
        ("label_missed.json", {"start": None}),
        ("label_missed.json", {"verdict": "true_positive"}),
        ("status.json", {"event": "unheard_of"}),
        ("status.json", {"severity": "fatal"}),
        ("status.json", {"details": {"dropped": [1]}}),
    ],
)
def test_a_record_with_a_wrong_field_is_not_valid(record: str, changes: dict[str, Any]) -> None:
    assert not validator(RECORDS[record]).is_valid(golden(record) | changes)


REQUIRED = {
    "anomaly.json": list(golden("anomaly.json")),
    "label.json": ["anomaly_id", "verdict", "by", "at"],
    "label_missed.json": ["anomaly_id", "verdict", "by", "at", "entity", "start", "end"],
    "status.json": ["source", "event", "severity", "at", "message"],
}


@pytest.mark.parametrize("record", REQUIRED)
def test_a_record_needs_its_required_fields_and_no_others(record: str) -> None:
    whole = golden(record)
    needed = [
        field
        for field in whole
        if not validator(RECORDS[record]).is_valid({name: value for name, value in whole.items() if name != field})
    ]
    assert needed == REQUIRED[record]
