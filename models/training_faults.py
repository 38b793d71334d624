"""The windows of labelled faults that have a say in which columns a model gets."""

from collections.abc import Callable, Iterable

from pulsetrain.models.labels import LabelledEpisode
from pulsetrain.models.selection.discrimination import MIN_FAULTS
from pulsetrain.models.selection.timeliness import LAG_WINDOWS
from pulsetrain.models.selection.windows import FaultWindows
from pulsetrain.models.trainer_state import TrainerState
from pulsetrain.models.training_windows import TrainingWindows
from pulsetrain.schemas.label import LabelVerdict

MAX_FAULTS = 64
"""The newest labels count."""

MORE = 2
"""With so many times as many labelled faults as before, the columns are chosen again."""


def settled_faults(episodes: Iterable[LabelledEpisode]) -> tuple[LabelledEpisode, ...]:
    """Those of the episodes, the oldest label first, that are faults and no longer grow; at most `MAX_FAULTS`."""
    faults = [each for each in episodes if each.is_settled and each.label.verdict is not LabelVerdict.FALSE_POSITIVE]
    return tuple(faults[-MAX_FAULTS:])


def call_for_selection(
    base: TrainerState, episodes: Iterable[LabelledEpisode], has_windows: Callable[[LabelledEpisode], bool]
) -> bool:
    """Whether faults were labelled, enough and many more than when the columns were chosen, to choose them anew.

    Those count whose windows have arrived, which is asked only where all together would be enough.
    """
    needed = max(MIN_FAULTS, MORE * base.model.selection.faults)
    faults = settled_faults(episodes)
    return len(faults) >= needed and sum(map(has_windows, faults)) >= needed


def fault_windows(
    windows: TrainingWindows, episodes: Iterable[LabelledEpisode], window_ns: int
) -> tuple[FaultWindows, ...]:
    """The settled faults with all windows that are kept of them, and of the time around that a late column needs."""
    around_ns = (LAG_WINDOWS + 1) * window_ns
    found = []
    for fault in settled_faults(episodes):
        first_end_ns, last_end_ns = _ends(fault, window_ns)
        around = windows.windows_of(fault.entity, first_end_ns - around_ns, last_end_ns + around_ns)
        found.append(FaultWindows(around, first_end_ns, last_end_ns))
    return tuple(found)


def _ends(fault: LabelledEpisode, window_ns: int) -> tuple[int, int]:
    """Ends of a fault's first and last window; those of a missed one share half of the shorter of the two."""
    if not fault.is_missed_fault:
        return fault.start_ns, fault.end_ns
    half_ns = min(window_ns, fault.end_ns - fault.start_ns) // 2
    return fault.start_ns + half_ns, fault.end_ns + window_ns - half_ns
