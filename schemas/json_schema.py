"""The JSON Schemas of the JSON records, for people and programs that don't use this package.

`python -m pulsetrain.schemas.json_schema` writes them anew into `schemas/json/`; the wheel carries them there.
"""

import json
from pathlib import Path
from typing import Any

import msgspec

from pulsetrain.schemas.anomaly import Anomaly
from pulsetrain.schemas.label import Label, LabelVerdict
from pulsetrain.schemas.status import Status

FOLDER = Path(__file__).parent / "json"

_MISSED_FIELDS = ("entity", "start", "end")
# What `Label` checks in code, as far as JSON Schema can say it.
_MISSED_RULE = {
    "if": {"properties": {"verdict": {"const": LabelVerdict.MISSED.value}}},
    "then": {
        "required": list(_MISSED_FIELDS),
        "properties": {name: {"type": "string"} for name in _MISSED_FIELDS},
    },
    "else": {"properties": {name: {"type": "null"} for name in _MISSED_FIELDS}},
}


def json_schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema (draft 2020-12) of each JSON record, by file name."""
    return {
        "anomaly.schema.json": _schema("anomaly", Anomaly),
        "label.schema.json": _schema("label", Label) | _MISSED_RULE,
        "status.schema.json": _schema("status", Status),
    }


def schema_text(schema: dict[str, Any]) -> str:
    """A schema as the text of its file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _schema(name: str, record_type: type[msgspec.Struct]) -> dict[str, Any]:
    described = msgspec.json.schema(record_type)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:pulsetrain:v1:{name}",
        "title": record_type.__name__,
        **described,
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file_name, schema in json_schemas().items():
        (FOLDER / file_name).write_text(schema_text(schema), encoding="utf-8")
