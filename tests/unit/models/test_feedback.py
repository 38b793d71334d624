"""What labels teach: the job that was called benign is muted when it recurs, and nothing else is."""

from functools import cache

import numpy as np
import pytest

from pulsetrain.models.errors import NothingLearnedError
from pulsetrain.models.feedback import Lesson
from pulsetrain.models.fitting import FittedModel, fit, with_feedback
from pulsetrain.models.preparation import plan_assembly
from pulsetrain.models.runtime import Scorer, Scores
from pulsetrain.schemas.arrays import FloatArray
from tests.unit.models.telemetry import (
    BENIGN_JOB,
    HOP_NS,
    NAMES,
    WARM_UP_SECONDS,
    WINDOW_NS,
    Change,
    add,
    ends,
    samples,
    windows,
)

EPISODE_SECONDS = 40
JOB_START_S, JOB_SECONDS = 12.0, 14.0
NO_ROWS = np.empty((0, len(NAMES)))
CPU_HOG = {"cpu.user": 0.75, "run_queue": 4.0}
RETRANSMITS = {"tcp.retransmits": 60.0}


@cache
def _model() -> FittedModel:
    rows = windows(samples(WARM_UP_SECONDS, 0))
    return fit(rows, NAMES, ends(len(rows)), window_ns=WINDOW_NS, hop_ns=HOP_NS)


def _rows(seed: int, *changes: Change) -> FloatArray:
    return (
        plan_assembly(_model().columns, _model().medians, NAMES)
        .assemble(windows(samples(EPISODE_SECONDS, seed, *changes)))
        .rows
    )


def _job(start_s: float = JOB_START_S, seconds: float = JOB_SECONDS, size: float = 1.0, seed: int = 0) -> Change:
    return add(BENIGN_JOB, start_s, seconds, size, seed)


def _flagged(rows: FloatArray, model: FittedModel) -> FloatArray:
    return rows[Scorer(model.graph(), model.columns).score(rows).flagged]


@cache
def _taught() -> tuple[FittedModel, Lesson]:
    labelled = _flagged(_rows(1, _job()), _model())
    return with_feedback(_model(), labelled, NO_ROWS[:, : len(_model().columns)])


def _score(rows: FloatArray) -> Scores:
    model, _ = _taught()
    return Scorer(model.graph(), model.columns).score(rows)


def test_the_job_is_flagged_before_anybody_labels_it_and_a_calm_host_is_not() -> None:
    assert len(_flagged(_rows(1, _job()), _model())) >= JOB_SECONDS
    assert len(_flagged(_rows(7), _model())) == 0


def test_all_its_windows_are_learned_from_its_start_to_its_end() -> None:
    _, lesson = _taught()

    assert lesson.muted.all()
    assert not lesson.conflicting.any()
    assert lesson.recurrence > 0.9


@pytest.mark.parametrize("size", [0.8, 1.0, 1.2])
@pytest.mark.parametrize("phase_s", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("seconds", [10.0, 18.0])
def test_it_recurs_unflagged_at_another_phase_length_and_size(size: float, phase_s: float, seconds: float) -> None:
    recurred = _score(_rows(int(100 * size + 10 * phase_s), _job(JOB_START_S + phase_s, seconds, size, seed=3)))

    assert not recurred.flagged.any()
    assert recurred.benign.sum() >= seconds


def test_one_labelled_window_mutes_all_windows_that_lie_wholly_in_the_next_occurrence() -> None:
    labelled = _flagged(_rows(1, _job()), _model())
    model, _ = with_feedback(_model(), labelled[len(labelled) // 2][None, :], labelled[:0])

    recurred = _rows(5, _job(seed=5))
    wholly_inside = slice(int(JOB_START_S), int(JOB_START_S + JOB_SECONDS) - 4)
    assert len(_flagged(recurred[wholly_inside], _model())) == JOB_SECONDS - 4
    assert len(_flagged(recurred[wholly_inside], model)) == 0


def test_the_same_metrics_at_three_times_the_size_stay_flagged() -> None:
    full = _score(_rows(8, _job(size=3.0)))

    assert full.flagged.sum() >= JOB_SECONDS - 6


@pytest.mark.parametrize("fault", [RETRANSMITS, {"gpu.power": -200.0}, {"network.received": -4.5e6}])
def test_a_fault_in_other_metrics_during_the_job_stays_flagged(fault: dict[str, float]) -> None:
    rows = _rows(9, _job(), add(fault, JOB_START_S + 4, 8.0))

    assert _score(rows).flagged.sum() >= 8


@pytest.mark.parametrize(
    "part", [("cpu.user", "run_queue"), ("disk.written", "disk.operations"), ("cpu.user", "run_queue", "page_faults")]
)
def test_a_fault_that_moves_a_part_of_the_jobs_metrics_stays_flagged(part: tuple[str, ...]) -> None:
    fault = {name: BENIGN_JOB[name] for name in part}

    assert _score(_rows(10, add(fault, JOB_START_S, JOB_SECONDS))).flagged.sum() >= JOB_SECONDS - 4


def test_a_fault_in_the_opposite_direction_stays_flagged() -> None:
    fault = {"cpu.user": -0.19, "disk.written": -9.9e5, "context_switches": -8.9e3, "page_faults": -1.9e3}

    assert _score(_rows(11, add(fault, JOB_START_S, JOB_SECONDS))).flagged.sum() >= JOB_SECONDS - 4


def test_a_fault_alone_is_as_flagged_as_before() -> None:
    for seed, fault in ((12, CPU_HOG), (13, RETRANSMITS)):
        rows = _rows(seed, add(fault, JOB_START_S, JOB_SECONDS))
        assert len(_flagged(rows, _taught()[0])) == len(_flagged(rows, _model())) >= JOB_SECONDS - 2


def test_a_window_that_was_also_confirmed_as_a_fault_teaches_nothing_and_is_reported() -> None:
    labelled = _flagged(_rows(1, _job()), _model())

    with pytest.raises(NothingLearnedError, match=f"{len(labelled)} cannot be told from a fault"):
        with_feedback(_model(), labelled, labelled)


def test_confirmed_faults_bound_what_a_label_mutes() -> None:
    labelled = _flagged(_rows(1, _job()), _model())
    bigger = _flagged(_rows(14, _job(size=1.6)), _model())
    before = _score(bigger).flagged

    bounded, _ = with_feedback(_model(), labelled, bigger[~before])

    assert before.sum() < len(bigger)
    assert len(_flagged(bigger[~before], bounded)) == (~before).sum()


def test_two_kinds_of_job_are_learned_side_by_side() -> None:
    def transfer(start_s: float, seed: int) -> Change:
        return add({"network.received": 9e7, "network.sent": 6e6, "tcp.retransmits": 25.0}, start_s, 10.0, seed=seed)

    compression = _flagged(_rows(1, _job()), _model())
    transfers = _flagged(_rows(2, transfer(12.0, 1)), _model())
    model, lesson = with_feedback(_model(), np.concatenate([compression, transfers]), compression[:0])

    assert lesson.muted.all()
    assert len(_flagged(_rows(15, transfer(12.4, 4)), model)) == 0
    assert len(_flagged(_rows(16, _job(seed=9)), model)) == 0


def test_labels_of_windows_that_were_never_flagged_teach_nothing() -> None:
    with pytest.raises(NothingLearnedError, match="36 are not flagged anyway"):
        with_feedback(_model(), _rows(7), NO_ROWS[:, : len(_model().columns)])


def test_the_same_labels_again_teach_nothing() -> None:
    labelled = _flagged(_rows(1, _job()), _model())

    with pytest.raises(NothingLearnedError, match="teach nothing new"):
        with_feedback(_taught()[0], labelled, labelled[:0])
