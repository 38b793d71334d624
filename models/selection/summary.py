"""The report of a selection as a manifest carries it: everything counted, the first features named."""

from pulsetrain.models.selection.report import ColumnReport, DroppedColumn, DropReason
from pulsetrain.schemas.feature_selection import (
    MAX_DETAIL_CHARACTERS,
    MAX_NAMED,
    DroppedFeature,
    DroppedFeatures,
    FeatureSelection,
    SelectionStep,
)

MAX_NAMED_CHARACTERS = 16 * 1024
"""Of all names under one reason, so that the longest of them leave a manifest room for its columns."""


def summary(report: ColumnReport) -> FeatureSelection:
    """The report within the bounds of a manifest; the features of each reason in alphabetical order."""
    groups = {reason: [each for each in report.dropped if each.reason is reason] for reason in DropReason}
    return FeatureSelection(
        offered=len(report.columns) + len(report.dropped),
        steps=tuple(
            SelectionStep(outcome.step.value, outcome.applied, outcome.detail[:MAX_DETAIL_CHARACTERS])
            for outcome in report.steps
        ),
        dropped=tuple(
            DroppedFeatures(reason.value, len(group), _named(group)) for reason, group in groups.items() if group
        ),
    )


def _named(group: list[DroppedColumn]) -> tuple[DroppedFeature, ...]:
    named = []
    room = MAX_NAMED_CHARACTERS
    for each in sorted(group, key=lambda each: each.name)[:MAX_NAMED]:
        room -= len(each.name) + len(each.kept or "")
        if room < 0:
            break
        named.append(DroppedFeature(each.name, each.figure, each.kept))
    return tuple(named)
