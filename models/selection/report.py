"""What became of every feature that was offered to a model, and of every step of the selection."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pulsetrain.models.preparation import BoolArray
from pulsetrain.schemas.arrays import FloatArray


class DropReason(StrEnum):
    """Why a feature is not among a model's columns."""

    NOT_JUDGED = "not_judged"
    MISSING = "missing"
    DEGENERATE = "degenerate"
    VOLATILE = "volatile"
    INDISTINCT = "indistinct"
    LATE = "late"
    DUPLICATE = "duplicate"
    OVER_LIMIT = "over_limit"


class Step(StrEnum):
    """The steps that ask for a feature's use, in the order in which they are taken."""

    STABILITY = "stability"
    DISCRIMINATION = "discrimination"
    TIMELINESS = "timeliness"


DROPPED_BY: Mapping[Step, DropReason] = {
    Step.STABILITY: DropReason.VOLATILE,
    Step.DISCRIMINATION: DropReason.INDISTINCT,
    Step.TIMELINESS: DropReason.LATE,
}


NO_FAULT = "no fault is labelled"


@dataclass(frozen=True, slots=True)
class DroppedColumn:
    """A feature that was left out.

    `figure` is what decided: the share of windows that have it, its volatility, its F or its correlation, and of a
    duplicate the correlation with `kept`, the column that stands for it. None where no figure decided.
    """

    name: str
    reason: DropReason
    kept: str | None = None
    figure: float | None = None


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """Whether a step was taken, and on what; or why not, as a sentence."""

    step: Step
    applied: bool
    detail: str


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step says of each column: `dropped` and `figures`, both (columns,), and how it came about."""

    outcome: StepOutcome
    dropped: BoolArray
    figures: FloatArray


@dataclass(frozen=True, slots=True)
class ColumnReport:
    """The columns chosen, in model order, every other one with the reason, and the steps.

    `faults` is how many labelled faults were known when the columns were chosen, and `newest_fault_end_ns` the end of
    the last window of the newest one, 0 where there was none. `unnamed` counts what was dropped beside `dropped`,
    where only the first features of a reason are named.
    """

    columns: tuple[str, ...]
    dropped: tuple[DroppedColumn, ...]
    steps: tuple[StepOutcome, ...] = ()
    faults: int = 0
    newest_fault_end_ns: int = 0
    unnamed: Mapping[DropReason, int] = field(default_factory=dict)
