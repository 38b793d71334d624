"""When models are trained, from what, and what they then do: through the release that is published."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from pulsetrain.models.labels import LabelOutcome
from pulsetrain.models.release import Release
from pulsetrain.models.runtime import Scorer
from pulsetrain.models.trainer import Activation, Trainer
from pulsetrain.models.training_task import Refused, Trained, TrainerSettings, TrainingReason, TrainingTask, execute
from pulsetrain.schemas.anomaly import Anomaly, AnomalyState, DataQuality, Model, anomaly_id, utc_time
from pulsetrain.schemas.feature_window import FeatureWindow, SampleCount
from pulsetrain.schemas.label import Label, LabelVerdict
from pulsetrain.schemas.model_release import ModelPointer

NS = 1_000_000_000
HOP = 5
START = 1_740_830_400
NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
METRICS = ("cpu", "disk", "memory", "network")
FEATURES = ("maximum", "mean")
HOST = "node7/host"
SETTINGS = TrainerSettings(window_ns=HOP * NS, hop_ns=HOP * NS, warm_up_ns=600 * NS, activation_delay_ns=10 * NS)

BENIGN_JOB = (12.0, 0.0, 12.0, 0.0)
"""By how many sigma each metric deviates during a job that means no harm: CPU and memory."""

FAULT = (0.0, 20.0, 0.0, 0.0)


class Clock:
    """Unix nanoseconds that move only when told to."""

    def __init__(self) -> None:
        self.now_ns = (START + 100_000) * NS

    def __call__(self) -> int:
        return self.now_ns

    def advance(self, seconds: float) -> None:
        self.now_ns += int(seconds * NS)


def ns(second: float) -> int:
    return int((START + second) * NS)


def window(second: int, sigma: Sequence[float] = (0, 0, 0, 0), entity: str = HOST) -> FeatureWindow:
    """A window ending `second` after START: normal noise of its own, plus so many sigma on each metric."""
    noise = np.random.default_rng([second, len(entity), ord(entity[4])]).normal(size=(len(METRICS), len(FEATURES)))
    counts = np.zeros((len(METRICS), len(SampleCount)), dtype=np.int64)
    counts[:, :2] = 50
    return FeatureWindow(
        node=entity.partition("/")[0],
        session="s1",
        entity=entity,
        labels={},
        start_ns=ns(second - HOP),
        end_ns=ns(second),
        complete=True,
        metrics=METRICS,
        features=FEATURES,
        values=noise + np.array(sigma, dtype=np.float64)[:, None],
        counts=counts,
    )


def windows(first: int, last: int, sigma: Sequence[float] = (0, 0, 0, 0), entity: str = HOST) -> list[FeatureWindow]:
    """Windows that end at first, first + HOP .. last."""
    return [window(second, sigma, entity) for second in range(first, last + 1, HOP)]


def anomaly(first: int, last: int, entity: str = HOST, state: AnomalyState = AnomalyState.OPEN) -> Anomaly:
    """An anomaly whose flagged windows end at first .. last; closed three windows later."""
    closed = state is AnomalyState.CLOSED
    end = last + 3 * HOP if closed else last
    return Anomaly(
        id=anomaly_id(entity, ns(first), "detect"),
        revision=(end - first) // HOP,
        state=state,
        stage="detect",
        entity=entity,
        node="node7",
        labels={},
        first_window_end=utc_time(ns(first)),
        window_start=utc_time(ns(end - HOP)),
        window_end=utc_time(ns(end)),
        flagged_windows=(last - first) // HOP + 1,
        score=9.0,
        votes=[],
        evidence=[],
        model=Model(name="host", version=1),
        data_quality=DataQuality(missing=0, filled=0, late=0, out_of_order=0, invalid=0, imputed_columns=0),
    )


def label(first: int, verdict: LabelVerdict = LabelVerdict.FALSE_POSITIVE, minute: int = 0) -> Label:
    """A label of the anomaly whose first window ends at `first`."""
    return Label(
        anomaly_id=anomaly_id(HOST, ns(first), "detect"), verdict=verdict, by="ana", at=NOON + timedelta(minutes=minute)
    )


def feed(trainer: Trainer, stream: Sequence[FeatureWindow]) -> None:
    for each in stream:
        trainer.add_window(each)


def feed_anomaly(trainer: Trainer, first: int, last: int, sigma: Sequence[float] = BENIGN_JOB) -> None:
    """Windows of an anomaly, every revision of it, and the three windows that close it."""
    for second in range(first, last + 1, HOP):
        trainer.add_window(window(second, sigma))
        trainer.observe_anomaly(anomaly(first, second))
    feed(trainer, windows(last + HOP, last + 3 * HOP))
    trainer.observe_anomaly(anomaly(first, last, state=AnomalyState.CLOSED))


def task_of(trainer: Trainer) -> TrainingTask:
    task = trainer.due()
    assert task is not None
    return task


def publish(trainer: Trainer) -> tuple[Release, Activation]:
    """Runs the training that is due and publishes it."""
    result = execute(task_of(trainer))
    assert isinstance(result, Trained), result.message
    activation = trainer.activation(result.release)
    trainer.published(result.release, activation.pointer)
    return result.release, activation


def refuse(trainer: Trainer) -> Refused:
    """Runs the training that is due, which has to be refused."""
    result = execute(task_of(trainer))
    assert isinstance(result, Refused)
    trainer.refused(result)
    return result


def trained(clock: Clock) -> tuple[Trainer, Release, ModelPointer]:
    """A trainer after its warm-up of 600 s."""
    trainer = Trainer(SETTINGS, clock)
    feed(trainer, windows(0, 600))
    release, activation = publish(trainer)
    return trainer, release, activation.pointer


def flagged(release: Release, stream: Sequence[FeatureWindow]) -> list[bool]:
    """What the published graph says of windows."""
    names = [f"{metric}__{feature}" for metric in METRICS for feature in FEATURES]
    positions = [names.index(column) for column in release.manifest.columns]
    rows = np.array([each.values.ravel()[positions] for each in stream])
    return [bool(verdict) for verdict in Scorer(release.graph, release.manifest.columns).score(rows).flagged]


def test_the_first_version_is_trained_when_the_warm_up_is_over() -> None:
    trainer = Trainer(SETTINGS, Clock())
    feed(trainer, windows(0, 595))
    assert trainer.due() is None
    assert 0.9 < trainer.warm_up_share("host") < 1

    trainer.add_window(window(600))
    release, _ = publish(trainer)

    assert (release.manifest.name, release.manifest.version, release.manifest.reason) == ("host", 1, "warm_up")
    assert (release.manifest.training_start_ns, release.manifest.training_end_ns) == (ns(0), ns(600))
    assert flagged(release, windows(1000, 1100, BENIGN_JOB)) == [True] * 21
    assert trainer.warm_up_share("host") == 1
    assert trainer.due() is None


def test_the_warm_up_is_a_time_and_no_number_of_windows() -> None:
    """Ten nodes give in a minute as many windows as one in ten minutes."""
    trainer = Trainer(SETTINGS, Clock())
    for node in range(10):
        feed(trainer, windows(0, 60, entity=f"node{node}/host"))

    assert trainer.due() is None
    assert trainer.warm_up_share("host") == pytest.approx(0.1)


def test_a_pause_is_no_part_of_the_warm_up() -> None:
    trainer = Trainer(SETTINGS, Clock())
    feed(trainer, windows(0, 300))
    feed(trainer, windows(1500, 1600))

    assert trainer.due() is None


def test_each_entity_kind_has_a_warm_up_and_a_model_of_its_own() -> None:
    trainer = Trainer(SETTINGS, Clock())
    feed(trainer, windows(0, 600))
    feed(trainer, windows(0, 300, entity="node7/gpu:GPU-5f"))
    release, _ = publish(trainer)
    assert release.manifest.name == "host"
    assert trainer.due() is None

    feed(trainer, windows(305, 600, entity="node7/gpu:GPU-5f"))
    release, _ = publish(trainer)

    assert (release.manifest.name, release.manifest.version) == ("gpu", 1)


def test_constant_windows_are_refused_as_degenerate_and_tried_again_only_with_more_of_them() -> None:
    """A forest trained on ones calls one and a million equally normal."""
    trainer = Trainer(SETTINGS, Clock())
    feed(trainer, [replace(each, values=np.ones_like(each.values)) for each in windows(0, 600)])

    refusal = refuse(trainer)

    assert refusal.reason is TrainingReason.WARM_UP
    assert "none of 8 features varies" in refusal.message
    assert trainer.due() is None
    feed(trainer, windows(605, 745))
    assert trainer.due() is None
    trainer.add_window(window(750))
    assert trainer.due() is not None


def test_a_false_positive_leads_to_a_version_that_no_longer_flags_the_behaviour_but_still_its_excess() -> None:
    clock = Clock()
    trainer, first, _ = trained(clock)
    feed_anomaly(trainer, 1000, 1050)
    assert trainer.add_label(label(1000)) is LabelOutcome.ACCEPTED
    clock.advance(2)

    second, _ = publish(trainer)

    assert (second.manifest.version, second.manifest.reason, second.manifest.labels_used) == (2, "labels", 1)
    assert second.graph != first.graph
    again = windows(2000, 2050, BENIGN_JOB)
    assert flagged(first, again) == [True] * 11
    assert flagged(second, again) == [False] * 11
    assert flagged(second, windows(2000, 2050, FAULT)) == [True] * 11
    assert flagged(second, windows(2000, 2050, [3 * sigma for sigma in BENIGN_JOB])) == [True] * 11
    assert flagged(second, windows(2000, 2050, np.add(BENIGN_JOB, FAULT).tolist())) == [True] * 11


def test_a_label_delivered_twice_and_an_older_contrary_one_give_one_training_after_which_all_is_normal() -> None:
    clock = Clock()
    trainer, _, _ = trained(clock)
    feed_anomaly(trainer, 1000, 1050)
    outcomes = [
        trainer.add_label(label(1000, minute=10)),
        trainer.add_label(label(1000, minute=10)),
        trainer.add_label(label(1000, LabelVerdict.TRUE_POSITIVE, minute=5)),
    ]
    clock.advance(2)

    release, _ = publish(trainer)
    clock.advance(60)

    assert outcomes == [LabelOutcome.ACCEPTED, LabelOutcome.REPEATED, LabelOutcome.OUTDATED]
    assert trainer.holding_label(label(1000).anomaly_id) == label(1000, minute=10)
    assert flagged(release, windows(2000, 2050, BENIGN_JOB)) == [False] * 11
    assert trainer.due() is None


def test_a_label_of_an_unknown_anomaly_is_told_apart_and_teaches_nothing() -> None:
    clock = Clock()
    trainer, _, _ = trained(clock)

    assert trainer.add_label(label(1000)) is LabelOutcome.UNKNOWN_ANOMALY
    clock.advance(60)
    assert trainer.due() is None


def test_labels_that_come_together_are_learned_together() -> None:
    clock = Clock()
    trainer, _, _ = trained(clock)
    for first in (1000, 1500):
        feed_anomaly(trainer, first, first + 50)
        trainer.add_label(label(first))
        assert trainer.due() is None
        clock.advance(1)
    assert trainer.due() is None
    clock.advance(1)

    release, _ = publish(trainer)

    assert release.manifest.labels_used == 2
    assert trainer.due() is None


def test_labels_that_never_stop_do_not_put_training_off_for_ever() -> None:
    clock = Clock()
    trainer, _, _ = trained(clock)
    for number in range(40):
        feed_anomaly(trainer, 1000 + 100 * number, 1050 + 100 * number)
        trainer.add_label(label(1000 + 100 * number))
        clock.advance(1)
        if trainer.due() is not None:
            break

    assert number == 29


def test_a_label_waits_for_the_windows_of_its_anomaly() -> None:
    clock = Clock()
    trainer, _, _ = trained(clock)
    for second in range(1000, 1051, HOP):
        trainer.observe_anomaly(anomaly(1000, second))
    trainer.add_label(label(1000))
    clock.advance(60)
    assert trainer.due() is None

    feed(trainer, windows(1000, 1045, BENIGN_JOB))
    assert trainer.due() is None
    trainer.add_window(window(1050, BENIGN_JOB))

    assert task_of(trainer).reason is TrainingReason.LABELS


def test_a_label_whose_windows_never_came_is_refused_with_a_reason() -> None:
    clock = Clock()
    trainer, _, _ = trained(clock)
    trainer.observe_anomaly(anomaly(1000, 1000))
    trainer.add_label(label(1000))
    clock.advance(60)
    feed(trainer, windows(1065, 1070, entity="node8/host"))

    refusal = refuse(trainer)

    assert "no window that is still kept is labelled false positive" in refusal.message
    assert trainer.due() is None


def test_windows_of_an_anomaly_that_nobody_labelled_are_never_learned() -> None:
    trainer = Trainer(SETTINGS, Clock())
    feed(trainer, windows(0, 300))
    feed_anomaly(trainer, 305, 400, FAULT)
    feed(trainer, windows(420, 800))

    task = task_of(trainer)

    ends = task.normal.ends_ns // NS - START
    assert ends.min() == 0
    assert not ((ends >= 300) & (ends <= 405)).any()
    assert np.abs(task.normal.rows).max() < 6


def test_a_label_that_teaches_nothing_gives_no_version_and_is_not_tried_again() -> None:
    clock = Clock()
    trainer, _, _ = trained(clock)
    feed_anomaly(trainer, 1000, 1050, sigma=(0, 0, 0, 0))
    trainer.add_label(label(1000))
    clock.advance(2)

    refusal = refuse(trainer)
    clock.advance(60)

    assert refusal.reason is TrainingReason.LABELS
    assert "teach nothing new" in refusal.message
    assert trainer.due() is None


def test_a_confirmed_fault_alone_needs_no_training() -> None:
    clock = Clock()
    trainer, _, _ = trained(clock)
    feed_anomaly(trainer, 1000, 1050, FAULT)
    trainer.add_label(label(1000, LabelVerdict.TRUE_POSITIVE))
    clock.advance(60)

    assert trainer.due() is None


def test_an_operator_who_changes_his_mind_gets_the_verdict_back() -> None:
    clock = Clock()
    trainer, _, _ = trained(clock)
    feed_anomaly(trainer, 1000, 1050)
    trainer.add_label(label(1000))
    clock.advance(2)
    publish(trainer)

    trainer.add_label(label(1000, LabelVerdict.TRUE_POSITIVE, minute=30))
    clock.advance(2)
    release, _ = publish(trainer)

    assert release.manifest.version == 3
    assert flagged(release, windows(2000, 2050, BENIGN_JOB)) == [True] * 11
    assert trainer.due() is None


def test_an_anomaly_labelled_while_it_lasts_is_learned_again_once_it_has_ended() -> None:
    clock = Clock()
    trainer, _, _ = trained(clock)
    for second in range(1000, 1026, HOP):
        trainer.add_window(window(second, BENIGN_JOB))
        trainer.observe_anomaly(anomaly(1000, second))
    trainer.add_label(label(1000))
    clock.advance(2)
    publish(trainer)

    for second in range(1030, 1101, HOP):
        trainer.add_window(window(second, [1.8 * sigma for sigma in BENIGN_JOB]))
        trainer.observe_anomaly(anomaly(1000, second))
        assert trainer.due() is None
    feed(trainer, windows(1105, 1115))
    trainer.observe_anomaly(anomaly(1000, 1100, state=AnomalyState.CLOSED))

    release, _ = publish(trainer)

    assert release.manifest.version == 3
    assert trainer.due() is None


def test_a_restarted_trainer_learns_on_from_the_release_and_nothing_twice() -> None:
    clock = Clock()
    before, _, _ = trained(clock)
    feed_anomaly(before, 1000, 1050)
    before.add_label(label(1000))
    clock.advance(2)
    second, activation = publish(before)

    after = Trainer(SETTINGS, clock)
    assert after.observe_release(second) is None
    after.observe_pointer(activation.pointer)
    other_job = (0.0, 12.0, 0.0, 12.0)
    feed_anomaly(after, 3000, 3050, other_job)
    assert after.add_label(label(1000)) is LabelOutcome.REPEATED
    clock.advance(60)
    assert after.due() is None

    after.add_label(label(3000, minute=60))
    clock.advance(2)
    third, _ = publish(after)

    assert (third.manifest.version, third.manifest.labels_used) == (3, 2)
    assert flagged(third, windows(4000, 4050, other_job)) == [False] * 11
    assert flagged(third, windows(4000, 4050, BENIGN_JOB)) == [False] * 11
    assert flagged(third, windows(4000, 4050, FAULT)) == [True] * 11


def test_two_trainers_that_read_the_same_topics_train_the_same_bytes() -> None:
    clock = Clock()
    releases = []
    for _ in range(2):
        trainer, _, _ = trained(clock)
        feed_anomaly(trainer, 1000, 1050)
        trainer.add_label(label(1000))
        clock.now_ns += 2 * NS
        task = task_of(trainer)
        result = execute(replace(task, created_ns=1))
        assert isinstance(result, Trained)
        releases.append(result.release)

    assert releases[0] == releases[1]


def test_without_a_sound_state_the_model_is_learned_anew_and_its_labels_too() -> None:
    clock = Clock()
    before, first, pointer = trained(clock)
    del before
    after = Trainer(SETTINGS, clock)
    after.observe_pointer(pointer)
    reason = after.observe_release(replace(first, state=first.state[:-10]))
    assert reason is not None
    assert "training can't go on from version 1 of model host" in reason

    feed(after, windows(0, 600))
    feed_anomaly(after, 1000, 1050)
    after.add_label(label(1000))
    release, _ = publish(after)

    assert (release.manifest.version, release.manifest.reason, release.manifest.labels_used) == (2, "warm_up", 1)
    assert flagged(release, windows(2000, 2050, BENIGN_JOB)) == [False] * 11


def test_a_model_of_windows_of_another_length_is_no_base_to_learn_on() -> None:
    clock = Clock()
    _, first, pointer = trained(clock)
    after = Trainer(replace(SETTINGS, window_ns=10 * NS), clock)
    after.observe_release(first)
    after.observe_pointer(pointer)
    feed(after, [replace(each, start_ns=each.end_ns - 10 * NS) for each in windows(0, 600)])

    task = task_of(after)

    assert (task.version, task.reason, task.base) == (2, TrainingReason.WARM_UP, None)


@pytest.mark.parametrize(
    "changed",
    [
        replace(SETTINGS, hop_ns=1 * NS),
        replace(SETTINGS, false_alarms_per_day=0.1),
        replace(SETTINGS, max_columns=4),
    ],
)
def test_a_model_learned_with_other_settings_is_learned_anew_and_its_labels_with_it(changed: TrainerSettings) -> None:
    clock = Clock()
    before, _, _ = trained(clock)
    feed_anomaly(before, 1000, 1050)
    before.add_label(label(1000))
    clock.advance(2)
    second, activation = publish(before)
    after = Trainer(changed, clock)
    after.observe_release(second)
    after.observe_pointer(activation.pointer)
    feed(after, windows(1070, 1665))
    assert after.due() is None
    assert after.warm_up_share("host") < 1

    feed(after, windows(1670, 1670))
    third, _ = publish(after)

    assert (third.manifest.version, third.manifest.reason, third.manifest.labels_used) == (3, "warm_up", 1)
    assert len(third.manifest.columns) == min(8, changed.max_columns)
    assert flagged(third, windows(2000, 2050, BENIGN_JOB)) == [False] * 11
    assert flagged(third, windows(2000, 2050, FAULT)) == [True] * 11
    clock.advance(60)
    assert after.due() is None
    assert after.warm_up_share("host") == 1


def test_room_for_more_columns_than_there_are_is_no_other_setting() -> None:
    clock = Clock()
    _, first, pointer = trained(clock)
    after = Trainer(replace(SETTINGS, max_columns=8), clock)
    after.observe_release(first)
    after.observe_pointer(pointer)
    feed(after, windows(0, 600))

    assert after.due() is None


def test_labels_are_learned_while_the_next_warm_up_lasts() -> None:
    clock = Clock()
    _, first, pointer = trained(clock)
    after = Trainer(replace(SETTINGS, false_alarms_per_day=0.1), clock)
    after.observe_release(first)
    after.observe_pointer(pointer)
    feed_anomaly(after, 1000, 1050)
    after.add_label(label(1000))
    clock.advance(2)

    assert task_of(after).reason is TrainingReason.LABELS


def test_a_refused_warm_up_leaves_its_labels_to_the_version_that_stays() -> None:
    clock = Clock()
    _, first, pointer = trained(clock)
    after = Trainer(replace(SETTINGS, false_alarms_per_day=0.1), clock)
    after.observe_release(first)
    after.observe_pointer(pointer)
    for second in range(1000, 1051, HOP):
        after.add_window(window(second, BENIGN_JOB))
        after.observe_anomaly(anomaly(1000, second))
    after.add_label(label(1000))
    feed(after, [replace(each, values=np.ones_like(each.values)) for each in windows(1060, 1670)])
    assert refuse(after).reason is TrainingReason.WARM_UP
    clock.advance(2)

    task = task_of(after)

    assert task.reason is TrainingReason.LABELS
    assert [len(each.windows) for each in task.episodes] == [11]


def test_what_was_labelled_benign_does_not_widen_what_a_later_warm_up_calls_normal() -> None:
    clock = Clock()
    before, _, _ = trained(clock)
    feed_anomaly(before, 1000, 1050)
    before.add_label(label(1000))
    clock.advance(2)
    second, activation = publish(before)
    after = Trainer(replace(SETTINGS, false_alarms_per_day=0.1), clock)
    after.observe_release(second)
    after.observe_pointer(activation.pointer)
    feed(after, windows(600, 995))
    feed_anomaly(after, 1000, 1050)
    feed(after, windows(1070, 1400))

    task = task_of(after)

    assert task.reason is TrainingReason.WARM_UP
    assert np.abs(task.normal.rows).max() < 6


def without_disk(stream: Sequence[FeatureWindow]) -> list[FeatureWindow]:
    """The windows as a host without that metric gives them."""
    kept = [index for index, metric in enumerate(METRICS) if metric != "disk"]
    names = tuple(METRICS[index] for index in kept)
    return [replace(each, metrics=names, values=each.values[kept], counts=each.counts[kept]) for each in stream]


def test_a_model_whose_columns_no_longer_arrive_is_learned_anew_from_windows_without_them() -> None:
    trainer, _, _ = trained(Clock())
    feed(trainer, without_disk(windows(605, 1200)))
    assert trainer.due() is None
    assert 0.9 < trainer.warm_up_share("host") < 1

    feed(trainer, without_disk(windows(1205, 1205)))
    task = task_of(trainer)

    assert (task.version, task.reason, task.base) == (2, TrainingReason.WARM_UP, None)
    assert task.normal.ends_ns.min() == ns(605)
    result = execute(task)
    assert isinstance(result, Trained)
    trainer.published(result.release, trainer.activation(result.release).pointer)
    assert not any(column.startswith("disk") for column in result.release.manifest.columns)
    assert trainer.due() is None


def test_a_node_without_some_columns_beside_one_that_has_them_needs_no_other_model() -> None:
    trainer, _, _ = trained(Clock())
    feed(trainer, without_disk(windows(605, 1300)))
    feed(trainer, windows(1200, 1200, entity="node8/host"))

    assert trainer.due() is None
    assert trainer.warm_up_share("host") == 1


def test_what_was_learned_as_benign_is_normal_again_also_after_a_restart() -> None:
    clock = Clock()
    before, _, _ = trained(clock)
    feed_anomaly(before, 1000, 1050)
    before.add_label(label(1000))
    clock.advance(2)
    second, activation = publish(before)
    after = Trainer(SETTINGS, clock)
    after.observe_release(second)
    feed_anomaly(after, 1000, 1050)
    feed(after, windows(1070, 1200))
    after.observe_pointer(activation.pointer)
    feed_anomaly(after, 1205, 1300, FAULT)
    after.add_label(label(1205, LabelVerdict.TRUE_POSITIVE, minute=60))
    clock.advance(2)

    ends = task_of(after).normal.ends_ns // NS - START

    assert ((ends >= 1000) & (ends <= 1050)).sum() == 11
    assert ((ends >= 1200) & (ends <= 1305)).sum() == 0


def test_a_version_becomes_effective_after_the_newest_window_seen() -> None:
    trainer = Trainer(SETTINGS, Clock())
    feed(trainer, windows(0, 600))
    task = task_of(trainer)
    trainer.add_window(window(640))
    result = execute(task)
    assert isinstance(result, Trained)

    activation = trainer.activation(result.release)

    assert activation.pointer.version_at(ns(650)) == 1
    assert activation.pointer.version_at(ns(650) - 1) is None


def test_a_window_far_in_the_future_does_not_move_event_time() -> None:
    clock = Clock()
    trainer = Trainer(SETTINGS, clock)
    feed(trainer, windows(0, 600))

    assert not trainer.add_window(window(100_000 + 605))
    _, activation = publish(trainer)

    assert activation.pointer.releases[0].effective_from_ns == ns(610)


def test_a_node_whose_clock_is_fast_does_not_put_a_version_off() -> None:
    clock = Clock()
    clock.now_ns = ns(600)
    trainer = Trainer(SETTINGS, clock)
    feed(trainer, windows(0, 600))

    assert trainer.add_window(window(900, entity="node8/host"))
    _, activation = publish(trainer)

    assert activation.pointer.releases[0].effective_from_ns == ns(610)


def test_windows_of_another_length_are_no_training_data() -> None:
    trainer = Trainer(SETTINGS, Clock())

    assert not trainer.add_window(replace(window(0), start_ns=ns(-30)))


def test_the_version_that_falls_out_of_the_pointer_is_deleted() -> None:
    clock = Clock()
    trainer, first, _ = trained(clock)
    activations = []
    for number in range(5):
        verdict = LabelVerdict.FALSE_POSITIVE if number % 2 == 0 else LabelVerdict.TRUE_POSITIVE
        if number == 0:
            feed_anomaly(trainer, 1000, 1050)
        trainer.add_label(label(1000, verdict, minute=number))
        clock.advance(2)
        activations.append(publish(trainer)[1])

    assert [entry.version for entry in activations[-1].pointer.releases] == [2, 3, 4, 5, 6]
    assert activations[3].tombstone_keys == ()
    assert activations[4].tombstone_keys == (
        *(f"host/1/{i}" for i in range(first.manifest.chunk_count)),
        "host/1/manifest",
    )


def test_while_a_training_runs_no_other_is_due() -> None:
    trainer = Trainer(SETTINGS, Clock())
    feed(trainer, windows(0, 600))

    assert trainer.due() is not None
    assert trainer.due() is None


def test_a_training_that_could_not_be_published_is_due_again_under_another_number() -> None:
    trainer = Trainer(SETTINGS, Clock())
    feed(trainer, windows(0, 600))
    assert task_of(trainer).version == 1

    trainer.abandoned()

    assert task_of(trainer).version == 2


def test_a_number_that_is_on_the_topic_already_is_not_used_again() -> None:
    trainer = Trainer(SETTINGS, Clock())
    trainer.observe_version("host", 7)
    feed(trainer, windows(0, 600))

    assert task_of(trainer).version == 8


def test_a_missed_fault_bounds_what_a_false_positive_may_excuse() -> None:
    clock = Clock()
    trainer, _, _ = trained(clock)
    twice = [2 * sigma for sigma in BENIGN_JOB]
    feed_anomaly(trainer, 1000, 1050)
    trainer.add_label(label(1000))
    clock.advance(2)
    generous, _ = publish(trainer)
    assert flagged(generous, windows(1200, 1240, twice)) == [False] * 9

    feed(trainer, [*windows(1200, 1240, twice), window(1245)])
    trainer.add_label(
        Label(
            anomaly_id=f"{HOST}@missed",
            verdict=LabelVerdict.MISSED,
            by="ana",
            at=NOON,
            entity=HOST,
            start=utc_time(ns(1195)),
            end=utc_time(ns(1240)),
        )
    )
    clock.advance(2)
    bounded, _ = publish(trainer)

    assert bounded.manifest.labels_used == 2
    assert flagged(bounded, windows(1200, 1240, twice)) == [True] * 9
    assert flagged(bounded, windows(2000, 2050, BENIGN_JOB)) == [False] * 11
