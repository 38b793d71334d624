"""The labelled faults that have a say in which columns a model gets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pulsetrain.models.labels import LabelledEpisode
from pulsetrain.models.selection.discrimination import MIN_FAULTS
from pulsetrain.models.selection.report import ColumnReport
from pulsetrain.models.selection.timeliness import LAG_WINDOWS
from pulsetrain.models.selection.windows import FaultWindows
from pulsetrain.models.training_windows import TrainingWindows
from pulsetrain.schemas.label import LabelVerdict

MAX_FAULTS = 64
"""The newest faults count."""


@dataclass(frozen=True, slots=True)
class FaultSpan:
    """A fault of an entity, and the ends of its first and last window."""

    entity: str
    first_end_ns: int
    last_end_ns: int


def settled_faults(episodes: Iterable[LabelledEpisode], window_ns: int) -> tuple[FaultSpan, ...]:
    """The faults among the episodes that no longer grow, the oldest first; those of an entity that overlap are one."""
    spans: list[FaultSpan] = []
    for span in sorted(_spans(episodes, window_ns), key=lambda span: (span.entity, span.first_end_ns)):
        last = spans[-1] if spans else None
        if last is not None and last.entity == span.entity and span.first_end_ns <= last.last_end_ns:
            spans[-1] = FaultSpan(span.entity, last.first_end_ns, max(last.last_end_ns, span.last_end_ns))
        else:
            spans.append(span)
    return tuple(sorted(spans, key=lambda span: (span.last_end_ns, span.first_end_ns, span.entity)))


def with_windows(spans: Iterable[FaultSpan], ends_ns: Mapping[str, Sequence[int]]) -> tuple[FaultSpan, ...]:
    """The newest `MAX_FAULTS` of the spans in which an entity has a window that is kept; `ends_ns` has their ends."""
    kept = [
        span
        for span in spans
        if any(span.first_end_ns <= end_ns <= span.last_end_ns for end_ns in ends_ns.get(span.entity, ()))
    ]
    return tuple(kept[-MAX_FAULTS:])


def call_for_selection(chosen: ColumnReport, spans: Sequence[FaultSpan]) -> bool:
    """Whether there are faults enough, and as many new ones as were known when the columns were chosen.

    Where `MAX_FAULTS` leave no room for twice as many, half of them have to be newer than all that were known.
    """
    if len(spans) >= max(MIN_FAULTS, 2 * chosen.faults):
        return True
    newer = sum(span.last_end_ns > chosen.newest_fault_end_ns for span in spans)
    return newer >= max(MIN_FAULTS, min(chosen.faults, MAX_FAULTS // 2))


def fault_windows(windows: TrainingWindows, spans: Iterable[FaultSpan], window_ns: int) -> tuple[FaultWindows, ...]:
    """The faults with all windows that are kept of them, and of the time around that a late column needs."""
    around_ns = (LAG_WINDOWS + 1) * window_ns
    return tuple(
        FaultWindows(
            windows.windows_of(span.entity, span.first_end_ns - around_ns, span.last_end_ns + around_ns),
            span.first_end_ns,
            span.last_end_ns,
        )
        for span in spans
    )


def _spans(episodes: Iterable[LabelledEpisode], window_ns: int) -> Iterable[FaultSpan]:
    for each in episodes:
        if each.is_settled and each.label.verdict is not LabelVerdict.FALSE_POSITIVE:
            yield FaultSpan(each.entity, *_ends(each, window_ns))


def _ends(fault: LabelledEpisode, window_ns: int) -> tuple[int, int]:
    """Ends of a fault's first and last window; those of a missed one share half of the shorter of the two."""
    if not fault.is_missed_fault:
        return fault.start_ns, fault.end_ns
    half_ns = min(window_ns, fault.end_ns - fault.start_ns) // 2
    return fault.start_ns + half_ns, fault.end_ns + window_ns - half_ns
