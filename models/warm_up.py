"""How far the warm-up of a model is, and which windows it waits for."""

from pulsetrain.models.trainer_history import learned_otherwise
from pulsetrain.models.trainer_state import TrainerState
from pulsetrain.models.training_task import TrainerSettings
from pulsetrain.models.training_windows import TrainingWindows

MIN_WARM_UP_WINDOWS = 50
WARM_UP_SLOTS = 20
CHANGED_SHARE = 4
"""A version whose columns no window of this fraction of the warm-up time has is to be replaced."""


def awaited_columns(
    name: str, base: TrainerState | None, windows: TrainingWindows, settings: TrainerSettings
) -> tuple[str, ...] | None:
    """The columns that windows of the warm-up to come lack, () where any will do; None where none is needed.

    A model is learned anew where there is none to go on from, where the settings are no longer those that it was
    learned with, and where its columns no longer arrive. After another hop, windows of the old one count as well.
    """
    if base is None or learned_otherwise(base.model, settings):
        return ()
    newest_ns = settings.warm_up_ns // CHANGED_SHARE
    return base.model.columns if windows.has_lost(name, base.model.columns, newest_ns) else None


def warmed_up_share(name: str, lacking: tuple[str, ...], windows: TrainingWindows, settings: TrainerSettings) -> float:
    """How much of a warm-up, 0 to 1, there is in normal windows that lack one of the columns, if any are given."""
    span = windows.normal_span(name, lacking)
    if span is None:
        return 0.0
    slot_ns = max(settings.warm_up_ns // WARM_UP_SLOTS, settings.hop_ns)
    covered_ns = min(span.length_ns, windows.covered_ns(name, slot_ns, lacking))
    return min(1.0, covered_ns / settings.warm_up_ns, span.windows / MIN_WARM_UP_WINDOWS)
