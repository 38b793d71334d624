"""One training: everything it needs, and the pure function that runs it off the event loop."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from pulsetrain.models.columns import DEFAULT_MAX_COLUMNS
from pulsetrain.models.errors import AbsentColumnError, ModelError, NothingLearnedError
from pulsetrain.models.feedback import MAX_FAULT_ROWS, MAX_LABELLED_ROWS, Lesson
from pulsetrain.models.fitting import FittedModel, fit, with_feedback
from pulsetrain.models.graph import IR_VERSION, OPSETS
from pulsetrain.models.labels import LabelledEpisode
from pulsetrain.models.parity import check_parity
from pulsetrain.models.preparation import plan_assembly
from pulsetrain.models.release import Release, new_release
from pulsetrain.models.selection.summary import summary
from pulsetrain.models.selection.windows import FaultWindows
from pulsetrain.models.trainer_state import MAX_EPISODE_WINDOWS, LearnedEpisode, TrainerState, encode_trainer_state
from pulsetrain.models.training_matrix import TrainingMatrix
from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.schemas.label import LabelVerdict

MAX_PARITY_ROWS = 1024


class TrainingReason(StrEnum):
    """Why a version is trained; it travels in the manifest."""

    WARM_UP = "warm_up"
    LABELS = "labels"
    SELECTION = "selection"


@dataclass(frozen=True, slots=True)
class TrainerSettings:
    """How models are learned: durations in event time, a false-alarm rate per entity, and the width of a model."""

    window_ns: int
    hop_ns: int
    warm_up_ns: int
    activation_delay_ns: int
    false_alarms_per_day: float = 1.0
    max_columns: int = DEFAULT_MAX_COLUMNS


@dataclass(frozen=True, slots=True)
class EpisodeWindows:
    """A labelled episode and those of its windows that are still kept."""

    episode: LabelledEpisode
    windows: TrainingMatrix


@dataclass(frozen=True, slots=True)
class TrainingTask:
    """A training to run.

    Without a `base` a model is fitted on the `normal` windows. Then the benign stage is learned from all labels: the
    `episodes`, and those of the base, or of the version `replaced`, whose windows are no longer kept. The `faults` are
    for the choice of columns.
    """

    name: str
    version: int
    reason: TrainingReason
    created_ns: int
    settings: TrainerSettings
    normal: TrainingMatrix
    base: TrainerState | None
    episodes: tuple[EpisodeWindows, ...]
    replaced: TrainerState | None = None
    faults: tuple[FaultWindows, ...] = ()


@dataclass(frozen=True, slots=True)
class Trained:
    """A version that passed its gates and is ready to be published, and what it learned, as a sentence."""

    release: Release
    message: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a training gave no version; the live one stays."""

    name: str
    reason: TrainingReason
    message: str


TrainingResult = Trained | Refused


def execute(task: TrainingTask) -> TrainingResult:
    """Trains, exports and checks one version. Nothing is shared and nothing raised: it can run in another process."""
    try:
        return _train(task)
    except ModelError as error:
        return _refused(task, str(error))
    except Exception as error:  # numerical libraries raise whatever the data provoke; the live version has to stay
        return _refused(task, f"{type(error).__name__}: {error}")


def _refused(task: TrainingTask, why: str) -> Refused:
    message = f"version {task.version} of model {task.name} ({task.reason}) was not trained: {why}"
    return Refused(task.name, task.reason, message)


def _train(task: TrainingTask) -> Trained:
    settings, normal = task.settings, task.normal
    model = (
        task.base.model
        if task.base
        else fit(
            normal.rows,
            normal.names,
            normal.ends_ns,
            window_ns=settings.window_ns,
            hop_ns=settings.hop_ns,
            entities=normal.entities,
            false_alarms_per_day=settings.false_alarms_per_day,
            max_columns=settings.max_columns,
            faults=task.faults,
        )
    )
    learned = _learned(model, task)
    benign, faults = _labelled_rows(model, learned, of_faults=False), _labelled_rows(model, learned, of_faults=True)
    learning = "nothing is labelled"
    if len(benign) or model.benign.profiles:
        try:
            model, lesson = with_feedback(model, benign, faults)
            learning = _summary(lesson, len(faults))
        except NothingLearnedError as error:
            if task.reason is TrainingReason.LABELS:
                raise
            learning = str(error)
    elif task.reason is TrainingReason.LABELS:
        raise NothingLearnedError("no window that is still kept is labelled false positive")
    graph = model.graph()
    check_parity(model, graph, np.concatenate([_normal_rows(model, normal), benign, faults]))
    release = new_release(
        name=task.name,
        version=task.version,
        created_ns=task.created_ns,
        reason=task.reason.value,
        columns=model.columns,
        medians=model.medians.tolist(),
        opsets=OPSETS,
        ir_version=IR_VERSION,
        graph=graph,
        state=encode_trainer_state(TrainerState(model, {each.episode.id: each for each in learned})),
        training_start_ns=model.training_start_ns,
        training_end_ns=model.training_end_ns,
        training_windows=model.training_windows,
        labels_used=sum(len(each.rows) > 0 for each in learned),
        selection=summary(model.selection),
    )
    message = (
        f"version {task.version} of model {task.name} ({task.reason}): {len(model.columns)} columns of "
        f"{model.training_windows} windows; {learning}"
    )
    return Trained(release, message)


def _learned(model: FittedModel, task: TrainingTask) -> list[LearnedEpisode]:
    """All episodes with their rows, the oldest label first; beyond the stage's limits the oldest ones lose theirs."""
    before = task.base or task.replaced
    learned: list[LearnedEpisode] = []
    room = {True: MAX_FAULT_ROWS, False: MAX_LABELLED_ROWS}
    for each in reversed(task.episodes):
        rows = _episode_rows(model, each.windows)
        earlier = _earlier_rows(model, before, each.episode.id)
        rows = earlier if len(earlier) > len(rows) else rows
        rows = rows[-room[_is_fault(each.episode)] :] if room[_is_fault(each.episode)] else rows[:0]
        room[_is_fault(each.episode)] -= len(rows)
        learned.append(LearnedEpisode(each.episode, rows))
    return learned[::-1]


def _earlier_rows(model: FittedModel, before: TrainerState | None, label_id: str) -> FloatArray:
    """What an earlier version learned from a label, as rows (windows, columns of the model).

    Columns that it did not have are imputed as in a window that lacks them, within the same limit.
    """
    if before is None or label_id not in before.learned:
        return np.empty((0, len(model.columns)))
    absent = tuple(set(model.columns) - set(before.model.columns))
    rows = before.learned[label_id].rows
    values = np.concatenate([rows, np.full((len(rows), len(absent)), np.nan)], axis=1)
    assembled = plan_assembly(model.columns, model.medians, (*before.model.columns, *absent)).assemble(values)
    return assembled.rows[assembled.scorable]


def _episode_rows(model: FittedModel, windows: TrainingMatrix) -> FloatArray:
    """At most `MAX_EPISODE_WINDOWS` of the windows as rows (windows, columns of the model), imputed."""
    try:
        assembled = plan_assembly(model.columns, model.medians, windows.names).assemble(windows.rows)
    except AbsentColumnError:
        return np.empty((0, len(model.columns)))
    rows = assembled.rows[assembled.scorable]
    if len(rows) > MAX_EPISODE_WINDOWS:
        rows = rows[np.linspace(0, len(rows) - 1, MAX_EPISODE_WINDOWS).round().astype(np.int64)]
    return rows


def _normal_rows(model: FittedModel, normal: TrainingMatrix) -> FloatArray:
    """Rows to compare the graph on; the expected row where no window has the model's columns any more."""
    try:
        rows = plan_assembly(model.columns, model.medians, normal.names).assemble(normal.rows[-MAX_PARITY_ROWS:]).rows
    except AbsentColumnError:
        rows = np.empty((0, len(model.columns)))
    return np.concatenate([rows, model.ensemble.standardisation.center[None, :]])


def _labelled_rows(model: FittedModel, learned: Iterable[LearnedEpisode], *, of_faults: bool) -> FloatArray:
    rows = [each.rows for each in learned if _is_fault(each.episode) is of_faults]
    return np.concatenate([np.empty((0, len(model.columns))), *rows])


def _is_fault(episode: LabelledEpisode) -> bool:
    return episode.label.verdict is not LabelVerdict.FALSE_POSITIVE


def _summary(lesson: Lesson, fault_rows: int) -> str:
    return (
        f"of {len(lesson.muted)} windows labelled benign {int(lesson.muted.sum())} are no longer flagged, "
        f"{int(lesson.unflagged.sum())} never were, {int(lesson.conflicting.sum())} can't be told from a fault; "
        f"{fault_rows} windows of faults set the bounds"
    )
