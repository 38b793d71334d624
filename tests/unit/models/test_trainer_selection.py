"""Labelled faults and the choice of columns: when it is made anew, and what a release tells of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from pulsetrain.models.errors import AbsentColumnError
from pulsetrain.models.preparation import plan_assembly
from pulsetrain.models.release import Release
from pulsetrain.models.trainer import Trainer
from pulsetrain.models.training_task import TrainingReason, execute
from pulsetrain.schemas.anomaly import AnomalyState
from pulsetrain.schemas.columns import column_names
from pulsetrain.schemas.feature_selection import FeatureSelection
from pulsetrain.schemas.feature_window import FeatureWindow
from pulsetrain.schemas.label import Label, LabelVerdict
from pulsetrain.schemas.model_release import decode_model_record, encode_model_record
from tests.unit.models.test_trainer import (
    BENIGN_JOB,
    FEATURES,
    METRICS,
    Clock,
    anomaly,
    feed,
    feed_anomaly,
    flagged,
    label,
    publish,
    refuse,
    task_of,
    trained,
    window,
    windows,
)

SILENT = f"disk__{FEATURES[1]}"


def _disk_fault(second: int) -> FeatureWindow:
    """A window of a fault that shows in the disk's maximum alone."""
    normal = window(second)
    values = normal.values.copy()
    values[METRICS.index("disk"), 0] += 20.0
    return replace(normal, values=values)


def _confirm_fault(trainer: Trainer, first: int) -> None:
    """A fault of five windows that an operator confirms, with the minute before and after."""
    feed(trainer, windows(first - 60, first - 5))
    for second in range(first, first + 25, 5):
        trainer.add_window(_disk_fault(second))
        trainer.observe_anomaly(anomaly(first, second))
    feed(trainer, windows(first + 25, first + 85))
    trainer.observe_anomaly(anomaly(first, first + 20, state=AnomalyState.CLOSED))
    trainer.add_label(label(first, LabelVerdict.TRUE_POSITIVE))


def _selection(release: Release) -> FeatureSelection:
    assert release.manifest.selection is not None
    return release.manifest.selection


def _with_faults(clock: Clock, count: int) -> Trainer:
    trainer, _, _ = trained(clock)
    for number in range(count):
        _confirm_fault(trainer, 1000 + 200 * number)
    clock.advance(60)
    return trainer


def test_the_first_version_tells_that_no_fault_is_labelled() -> None:
    _, release, _ = trained(Clock())

    selection = _selection(release)

    assert selection.offered == len(METRICS) * len(FEATURES)
    assert [(step.name, step.applied) for step in selection.steps] == [
        ("stability", True),
        ("discrimination", False),
        ("timeliness", False),
    ]
    assert selection.steps[1].detail == "no fault is labelled"
    assert decode_model_record(encode_model_record(release.manifest)) == release.manifest


def test_two_confirmed_faults_leave_the_columns_as_they_are() -> None:
    assert _with_faults(Clock(), 2).due() is None


def test_missed_faults_of_an_entity_without_windows_leave_the_columns_as_they_are() -> None:
    clock = Clock()
    trainer = _with_faults(clock, 2)
    start = datetime(2025, 1, 1, tzinfo=UTC)
    for second in range(70):
        missed = Label(
            anomaly_id=f"missed-{second}",
            verdict=LabelVerdict.MISSED,
            by="ana",
            at=start,
            entity="nobody/host",
            start=start + timedelta(seconds=60 * second),
            end=start + timedelta(seconds=60 * second + 30),
        )
        trainer.add_label(missed)
    clock.advance(60)
    assert trainer.due() is None

    _confirm_fault(trainer, 1400)
    clock.advance(60)

    task = task_of(trainer)
    assert (task.reason, len(task.faults)) == (TrainingReason.SELECTION, 3)


def test_three_confirmed_faults_let_the_columns_be_chosen_anew_and_once() -> None:
    clock = Clock()
    trainer = _with_faults(clock, 3)

    release, _ = publish(trainer)

    assert release.manifest.reason == "selection"
    assert SILENT not in release.manifest.columns
    (group,) = [group for group in _selection(release).dropped if group.reason == "indistinct"]
    assert [each.name for each in group.named] == [SILENT]
    assert 0 <= (group.named[0].figure or 0.0) <= 10
    assert all(step.applied for step in _selection(release).steps)
    assert flagged(release, [_disk_fault(second) for second in range(3000, 3050, 5)]) == [True] * 10
    assert not any(flagged(release, windows(3000, 3100)))
    clock.advance(60)
    assert trainer.due() is None


def test_the_columns_are_chosen_again_when_twice_as_many_faults_are_labelled() -> None:
    clock = Clock()
    trainer = _with_faults(clock, 3)
    publish(trainer)
    for number in (3, 4):
        _confirm_fault(trainer, 1000 + 200 * number)
    clock.advance(60)
    assert trainer.due() is None

    _confirm_fault(trainer, 2000)
    clock.advance(60)

    assert task_of(trainer).reason is TrainingReason.SELECTION


def test_labels_learned_before_are_not_forgotten_when_the_columns_are_chosen_anew() -> None:
    clock = Clock()
    trainer, _, _ = trained(clock)
    feed_anomaly(trainer, 800, 850)
    trainer.add_label(label(800))
    clock.advance(60)
    publish(trainer)
    for number in range(3):
        _confirm_fault(trainer, 1000 + 200 * number)
    clock.advance(60)

    release, _ = publish(trainer)

    assert release.manifest.reason == "selection"
    assert flagged(release, windows(3000, 3050, BENIGN_JOB)) == [False] * 11


def test_a_version_learned_from_a_benign_label_keeps_its_columns_and_their_report() -> None:
    clock = Clock()
    trainer = _with_faults(clock, 3)
    before, _ = publish(trainer)
    feed_anomaly(trainer, 2600, 2650)
    trainer.add_label(label(2600))
    clock.advance(60)

    after, _ = publish(trainer)

    assert after.manifest.reason == "labels"
    assert after.manifest.columns == before.manifest.columns
    assert _selection(after) == _selection(before)


def test_the_same_task_gives_the_same_release() -> None:
    task = task_of(_with_faults(Clock(), 3))

    assert execute(task) == execute(task)


def test_a_refused_choice_is_tried_again_only_with_more_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = _with_faults(Clock(), 3)
    with monkeypatch.context() as small:
        small.setattr("pulsetrain.models.release.MAX_PAYLOAD_BYTES", 1000)
        assert refuse(trainer).reason is TrainingReason.SELECTION

    assert trainer.due() is None
    feed(trainer, windows(1500, 1650))
    assert task_of(trainer).reason is TrainingReason.SELECTION


def test_a_window_that_lacks_a_selected_feature_is_refused_and_never_shifted() -> None:
    release, _ = publish(_with_faults(Clock(), 3))
    manifest = release.manifest
    names = column_names(METRICS, FEATURES)
    assert len(manifest.columns) == len(names) - 1

    without = [name for name in names if name != manifest.columns[2]]

    with pytest.raises(AbsentColumnError, match="the model needs columns that the features do not have") as caught:
        plan_assembly(manifest.columns, manifest.medians, without)
    assert caught.value.columns == (manifest.columns[2],)
    # With one more column than the model, in another order, each value still goes to its name.
    values = np.arange(float(len(names)))[None, ::-1]
    rows = plan_assembly(manifest.columns, manifest.medians, names[::-1]).assemble(values).rows
    assert rows[0].tolist() == [float(names.index(column)) for column in manifest.columns]
