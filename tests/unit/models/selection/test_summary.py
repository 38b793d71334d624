"""The report as a manifest carries it: everything counted, within bounds whatever the names are."""

from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.models.selection.report import ColumnReport, DroppedColumn, DropReason, Step, StepOutcome
from pulsetrain.models.selection.summary import summary
from pulsetrain.schemas.feature_selection import (
    MAX_NAMED,
    DroppedFeature,
    DroppedFeatures,
    SelectionStep,
    selection_problem,
)
from pulsetrain.schemas.identity import MAX_NAME_CHARACTERS

STEPS = (StepOutcome(Step.STABILITY, True, "120 windows"),)


def test_each_reason_has_its_count_its_names_in_order_and_their_figures() -> None:
    report = ColumnReport(
        ("load__mean",),
        (
            DroppedColumn("b__mean", DropReason.VOLATILE, figure=0.4),
            DroppedColumn("used__mean", DropReason.DUPLICATE, kept="load__mean", figure=0.99),
            DroppedColumn("a__mean", DropReason.VOLATILE, figure=0.5),
        ),
        STEPS,
    )

    told = summary(report)

    assert told.offered == 4
    assert told.steps == (SelectionStep("stability", True, "120 windows"),)
    assert told.dropped == (
        DroppedFeatures("volatile", 2, (DroppedFeature("a__mean", 0.5), DroppedFeature("b__mean", 0.4))),
        DroppedFeatures("duplicate", 1, (DroppedFeature("used__mean", 0.99, "load__mean"),)),
    )


def test_of_thousands_of_features_the_first_ones_are_named_and_all_counted() -> None:
    dropped = tuple(DroppedColumn(f"m{number:04}__mean", DropReason.OVER_LIMIT) for number in range(3600))

    (group,) = summary(ColumnReport(("load__mean",), dropped)).dropped

    assert group.count == 3600
    assert [each.name for each in group.named] == [f"m{number:04}__mean" for number in range(MAX_NAMED)]


# A metric and a feature of the greatest length, every underscore of the metric escaped.
longest = st.sampled_from(["~1" * MAX_NAME_CHARACTERS + "__" + "é" * MAX_NAME_CHARACTERS, "a__mean"])
reasons = st.sampled_from(DropReason)


@given(st.lists(st.builds(DroppedColumn, longest, reasons, st.none() | longest, st.none() | st.floats(0, 1))))
def test_whatever_was_dropped_the_report_keeps_the_rules_of_a_manifest_and_leaves_it_room(
    dropped: list[DroppedColumn],
) -> None:
    told = summary(ColumnReport(("load__mean",), tuple(dropped * 20)))

    assert selection_problem(told, ["load__mean"]) is None
    assert sum(len(each.name) + len(each.kept or "") for group in told.dropped for each in group.named) < 150_000
