"""The report of a selection as a manifest carries it: everything counted, the first features named."""

from dataclasses import replace

from pulsetrain.models.selection.report import ColumnReport, DroppedColumn, DropReason
from pulsetrain.schemas.feature_selection import (
    MAX_DETAIL_CHARACTERS,
    MAX_NAMED,
    MAX_NAMED_BYTES,
    DroppedFeature,
    DroppedFeatures,
    FeatureSelection,
    SelectionStep,
)


def summary(report: ColumnReport) -> FeatureSelection:
    """The report within the bounds of a manifest; the features of each reason in alphabetical order."""
    told = named_first(report)
    groups = {reason: [each for each in told.dropped if each.reason is reason] for reason in DropReason}
    counts = {reason: len(group) + told.unnamed.get(reason, 0) for reason, group in groups.items()}
    return FeatureSelection(
        offered=len(report.columns) + sum(counts.values()),
        steps=tuple(
            SelectionStep(outcome.step.value, outcome.applied, outcome.detail[:MAX_DETAIL_CHARACTERS])
            for outcome in report.steps
        ),
        dropped=tuple(
            DroppedFeatures(
                reason.value, counts[reason], tuple(DroppedFeature(each.name, each.figure, each.kept) for each in group)
            )
            for reason, group in groups.items()
            if counts[reason]
        ),
    )


def named_first(report: ColumnReport) -> ColumnReport:
    """The report with the first features of each reason alone, within the bounds of a manifest, and the rest counted.

    Every reason gives at least one name that is within `MAX_NAME_CHARACTERS` and stands for itself.
    """
    dropped: list[DroppedColumn] = []
    unnamed = dict(report.unnamed)
    for reason in DropReason:
        group = [each for each in report.dropped if each.reason is reason]
        named = _first(group)
        dropped += named
        if len(named) < len(group):
            unnamed[reason] = unnamed.get(reason, 0) + len(group) - len(named)
    return replace(report, dropped=tuple(dropped), unnamed=unnamed)


def _first(group: list[DroppedColumn]) -> list[DroppedColumn]:
    named = []
    room = MAX_NAMED_BYTES // len(DropReason)
    for each in sorted(group, key=lambda each: each.name)[:MAX_NAMED]:
        room -= len(each.name.encode()) + len((each.kept or "").encode())
        if room < 0:
            break
        named.append(each)
    return named
