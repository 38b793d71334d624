"""The report as a manifest carries it: everything counted, within bounds whatever the names are."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pulsetrain.models.selection.report import ColumnReport, DroppedColumn, DropReason, Step, StepOutcome
from pulsetrain.models.selection.summary import named_first, summary
from pulsetrain.schemas.feature_selection import (
    MAX_NAMED,
    DroppedFeature,
    DroppedFeatures,
    FeatureSelection,
    SelectionStep,
    selection_problem,
)
from pulsetrain.schemas.identity import MAX_NAME_CHARACTERS
from pulsetrain.schemas.model_release import MAX_MESSAGE_BYTES, encode_model_record
from tests.unit.schemas.test_model_release import MANIFEST

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


def test_a_report_of_which_the_first_names_were_kept_is_told_alike() -> None:
    dropped = tuple(DroppedColumn(f"m{number:04}__mean", DropReason.OVER_LIMIT) for number in range(3600))
    report = ColumnReport(("load__mean",), dropped, STEPS)

    kept = named_first(report)

    assert len(kept.dropped) == MAX_NAMED
    assert kept.unnamed == {DropReason.OVER_LIMIT: 3600 - MAX_NAMED}
    assert named_first(kept) == kept
    assert summary(kept) == summary(report)


# A metric and a feature of the greatest length, every underscore of the metric escaped; some take four bytes a letter.
longest = st.sampled_from([letter * MAX_NAME_CHARACTERS + "__" + "🔥" * MAX_NAME_CHARACTERS for letter in ("~1", "🔥")])
names = st.builds(lambda name, number: name[:-1] + str(number), longest, st.integers(0, 9)) | st.just("a__mean")


@settings(deadline=None)
@given(st.lists(st.builds(DroppedColumn, names, st.sampled_from(DropReason), st.none() | names, st.floats(0, 1))))
def test_whatever_was_dropped_the_manifest_stays_one_message(dropped: list[DroppedColumn]) -> None:
    told = summary(ColumnReport(("load__mean",), tuple(dropped * 20)))
    manifest = replace(MANIFEST, columns=("load__mean",), medians=(0.0,), selection=told)

    assert selection_problem(told, ["load__mean"]) is None
    # The rest is for the columns: an eighth of a message is enough for what was dropped.
    assert len(encode_model_record(manifest)) < MAX_MESSAGE_BYTES / 6
    assert {group.reason for group in told.dropped} == {each.reason.value for each in dropped}


def test_names_of_too_many_bytes_together_break_a_rule() -> None:
    named = tuple(DroppedFeature("🔥" * 2000 + str(number)) for number in range(20))
    told = FeatureSelection(21, (), (DroppedFeatures("late", 20, named),))

    assert "bytes" in (selection_problem(told, ["load__mean"]) or "")
