"""What a model's manifest tells of how its columns were chosen: the steps, and what was dropped and why.

Bounded, so that a manifest stays one message: of each reason all features are counted and the first ones named.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MAX_STEPS = 16
MAX_REASONS = 32
MAX_NAMED = 64
"""Features that are named of one reason."""

MAX_NAMED_BYTES = 128 * 1024
"""Of all names of all reasons, in UTF-8, so that the longest of them leave a manifest room for its columns."""

MAX_NAME_CHARACTERS = 2048
"""More than the longest metric, its underscores escaped, and the longest feature have together."""

MAX_DETAIL_CHARACTERS = 512

AVRO: dict[str, Any] = {
    "type": "record",
    "name": "FeatureSelection",
    "fields": [
        {"name": "offered", "type": "long", "doc": "Features that the windows had."},
        {
            "name": "steps",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "SelectionStep",
                    "fields": [
                        {"name": "name", "type": "string"},
                        {"name": "applied", "type": "boolean"},
                        {"name": "detail", "type": "string", "doc": "On what it was taken, or why not."},
                    ],
                },
            },
        },
        {
            "name": "dropped",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "DroppedFeatures",
                    "fields": [
                        {"name": "reason", "type": "string"},
                        {"name": "count", "type": "long"},
                        {
                            "name": "named",
                            "doc": "The first of them.",
                            "type": {
                                "type": "array",
                                "items": {
                                    "type": "record",
                                    "name": "DroppedFeature",
                                    "fields": [
                                        {"name": "name", "type": "string"},
                                        {"name": "figure", "type": ["null", "double"], "doc": "What decided."},
                                        {"name": "kept", "type": ["null", "string"], "doc": "Stands for it."},
                                    ],
                                },
                            },
                        },
                    ],
                },
            },
        },
    ],
}


@dataclass(frozen=True, slots=True)
class SelectionStep:
    """A step of the selection: whether it was taken, and on what, or why not."""

    name: str
    applied: bool
    detail: str


@dataclass(frozen=True, slots=True)
class DroppedFeature:
    """A feature that is not among the columns; `figure` decided, and `kept` is the column that stands for it."""

    name: str
    figure: float | None = None
    kept: str | None = None


@dataclass(frozen=True, slots=True)
class DroppedFeatures:
    """All features that were dropped for one reason: how many, and the first ones by name."""

    reason: str
    count: int
    named: tuple[DroppedFeature, ...]


@dataclass(frozen=True, slots=True)
class FeatureSelection:
    """How the columns of a model were chosen from the features that were `offered`."""

    offered: int
    steps: tuple[SelectionStep, ...]
    dropped: tuple[DroppedFeatures, ...]


def selection_fields(selection: FeatureSelection) -> dict[str, Any]:
    """The selection as the fields of its Avro record."""
    return {
        "offered": selection.offered,
        "steps": [{"name": step.name, "applied": step.applied, "detail": step.detail} for step in selection.steps],
        "dropped": [
            {
                "reason": group.reason,
                "count": group.count,
                "named": [{"name": each.name, "figure": each.figure, "kept": each.kept} for each in group.named],
            }
            for group in selection.dropped
        ],
    }


def selection_from(fields: dict[str, Any]) -> FeatureSelection:
    """The selection of the fields of its Avro record."""
    return FeatureSelection(
        offered=fields["offered"],
        steps=tuple(SelectionStep(**step) for step in fields["steps"]),
        dropped=tuple(
            DroppedFeatures(group["reason"], group["count"], tuple(DroppedFeature(**each) for each in group["named"]))
            for group in fields["dropped"]
        ),
    )


def selection_problem(selection: FeatureSelection, columns: Sequence[str]) -> str | None:
    """The first rule that a selection breaks which left these columns, as a sentence."""
    if len(selection.steps) > MAX_STEPS or len(selection.dropped) > MAX_REASONS:
        return f"a selection has at most {MAX_STEPS} steps and {MAX_REASONS} reasons"
    if not all(step.name and len(step.detail) <= MAX_DETAIL_CHARACTERS for step in selection.steps):
        return f"a step of a selection has a name, and at most {MAX_DETAIL_CHARACTERS} characters of detail"
    for group in selection.dropped:
        if not group.reason or not len(group.named) <= min(group.count, MAX_NAMED):
            return f"of {group.count} dropped features {len(group.named)} are named; at most {MAX_NAMED} may be"
        if not all(_is_sound(each) for each in group.named):
            return f"a dropped feature has a name of at most {MAX_NAME_CHARACTERS} characters and a finite figure"
    named_bytes = sum(_name_bytes(each) for group in selection.dropped for each in group.named)
    if named_bytes > MAX_NAMED_BYTES:
        return f"the names of dropped features have at most {MAX_NAMED_BYTES} bytes, these {named_bytes}"
    if selection.offered != len(columns) + sum(group.count for group in selection.dropped):
        return f"{selection.offered} features are not {len(columns)} columns and what was dropped"
    return None


def _is_sound(feature: DroppedFeature) -> bool:
    names = [feature.name] if feature.kept is None else [feature.name, feature.kept]
    is_finite = feature.figure is None or math.isfinite(feature.figure)
    return is_finite and all(0 < len(name) <= MAX_NAME_CHARACTERS for name in names)


def _name_bytes(feature: DroppedFeature) -> int:
    return len(feature.name.encode()) + len((feature.kept or "").encode())
