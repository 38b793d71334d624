"""The feature windows that models learn from: bounded in time and in memory, anomalies set apart.

Time bounds what is "normal", never a number of samples: sources of different rates must have the same past. Where a
fleet gives more windows than memory allows, the past is thinned and not cut: the windows with the lowest hash of their
id stay (bottom-k sampling, Cohen and Kaplan, "Summarizing data using bottom-k sketches", PODC 2007), which is an even
sample of the whole span and the same one in whatever order the windows came.
"""

import heapq
from collections.abc import Collection
from dataclasses import dataclass

from pulsetrain.models.anomaly_marks import AnomalyMarks
from pulsetrain.models.preparation import MAX_MISSING_SHARE
from pulsetrain.models.training_matrix import TrainingMatrix, WindowRow, as_matrix, as_row, lacking_any
from pulsetrain.schemas.feature_window import FeatureWindow, SampleCount

DEFAULT_MAX_ROWS = 4096
"""Normal windows of an entity kind. With 1,800 columns they are 59 MB, and twice that before they are thinned."""

MAX_KINDS = 32


def entity_kind(entity: str) -> str:
    """What kind of thing an entity is, which names its model: `node7/gpu:GPU-5f` is a `gpu`, `node7/host` a `host`."""
    return entity.rpartition("/")[2].partition(":")[0]


def missing_share(window: FeatureWindow) -> float:
    """Share of the samples expected in a window that were neither measured nor resampled; 1 if none was expected."""
    totals = dict(zip(SampleCount, window.counts.sum(axis=0).tolist(), strict=True))
    expected = int(totals[SampleCount.EXPECTED])
    if expected <= 0:
        return 1.0
    present = int(totals[SampleCount.MEASURED] + totals[SampleCount.RESAMPLED])
    return min(max(1 - present / expected, 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Ends of the first and of the last of `windows` windows."""

    first_end_ns: int
    last_end_ns: int
    windows: int

    @property
    def length_ns(self) -> int:
        return self.last_end_ns - self.first_end_ns


_WindowId = tuple[str, str, int]


class TrainingWindows:
    """Remembers the windows of every entity kind.

    Args:
        span_ns: how far back, from the newest window of a kind, a window counts as normal.
        anomalous_span_ns: how far back windows of anomalies are kept for the labels that may still come.
        max_rows: normal windows kept of a kind; a quarter of it each for the newest ones, which an anomaly may yet
            claim, and for anomalous ones.
    """

    def __init__(self, span_ns: int, anomalous_span_ns: int, max_rows: int = DEFAULT_MAX_ROWS) -> None:
        self._span_ns = span_ns
        self._anomalous_span_ns = anomalous_span_ns
        self._max_rows = max_rows
        self._kinds: dict[str, dict[_WindowId, WindowRow]] = {}
        self._newest_end_ns: dict[str, int] = {}
        self._marks = AnomalyMarks()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The entity kinds of which there are windows, in alphabetical order."""
        return tuple(sorted(self._kinds))

    @property
    def marks(self) -> int:
        """How many anomalies' spans are remembered."""
        return len(self._marks)

    def add(self, window: FeatureWindow) -> bool:
        """Takes a window; False where it is no training data: incomplete, full of gaps, too old, or known already."""
        kind = entity_kind(window.entity)
        if not kind or not window.complete or missing_share(window) > MAX_MISSING_SHARE:
            return False
        if kind not in self._kinds and len(self._kinds) >= MAX_KINDS:
            return False
        rows = self._kinds.setdefault(kind, {})
        identity = (window.entity, window.session, window.end_ns)
        newest_ns = max(self._newest_end_ns.get(kind, 0), window.end_ns)
        row = as_row(window)
        if identity in rows or not self._is_in_span(row, newest_ns):
            return False
        self._newest_end_ns[kind] = newest_ns
        rows[identity] = row
        if len(rows) > 2 * self._max_rows:
            self._kinds[kind] = self._trimmed(rows, newest_ns)
            self._forget_old_marks(kind, newest_ns)
        return True

    def mark_anomalous(self, entity: str, first_end_ns: int, last_end_ns: int) -> None:
        """Sets windows apart: those that end in the span, and those that end within a window's length around it.

        A later call with the same first end replaces the mark, so that it can grow with its anomaly.
        """
        self._marks.mark(entity, first_end_ns, last_end_ns)

    def mark_normal(self, entity: str, first_end_ns: int) -> None:
        """Takes a mark back, e.g. of an anomaly that was none."""
        self._marks.unmark(entity, first_end_ns)

    def normal_span(self, kind: str, lacking: Collection[str] = ()) -> TimeSpan | None:
        """What there is of normal windows of a kind; None where there are none.

        With `lacking`, here and below, only of those that lack at least one of these columns.
        """
        ends = [row.end_ns for row in self._normal(kind, lacking)]
        return TimeSpan(min(ends), max(ends), len(ends)) if ends else None

    def covered_ns(self, kind: str, slot_ns: int, lacking: Collection[str] = ()) -> int:
        """How much event time normal windows of a kind cover, in slots of which at least one window ends in each."""
        return len({row.end_ns // slot_ns for row in self._normal(kind, lacking)}) * slot_ns

    def has_lost(self, kind: str, columns: Collection[str], newest_ns: int) -> bool:
        """Whether every window that ends in the newest `newest_ns` of a kind lacks at least one of the columns."""
        oldest_ns = self._newest_end_ns.get(kind, 0) - newest_ns
        newest = [row for row in self._kinds.get(kind, {}).values() if row.end_ns >= oldest_ns]
        return bool(newest) and len(lacking_any(newest, columns)) == len(newest)

    def newest_end_ns(self, entity: str) -> int | None:
        """End of the newest window of an entity; None where there is none."""
        rows = self._kinds.get(entity_kind(entity), {}).values()
        return max((row.end_ns for row in rows if row.entity == entity), default=None)

    def ends_ns(self, kind: str) -> dict[str, list[int]]:
        """Ends of all windows of a kind that are kept, whatever they were marked, by the entity."""
        ends_ns: dict[str, list[int]] = {}
        for row in self._kinds.get(kind, {}).values():
            ends_ns.setdefault(row.entity, []).append(row.end_ns)
        return ends_ns

    def matrix(self, kind: str, start_ns: int, end_ns: int, lacking: Collection[str] = ()) -> TrainingMatrix:
        """Normal windows of a kind that end in start_ns .. end_ns, an even sample of at most `max_rows` of them.

        A column is in it if `MIN_COLUMN_SHARE` of the windows have it; a window that lacks one of those is not.
        """
        rows = [row for row in self._normal(kind, lacking) if start_ns <= row.end_ns <= end_ns]
        return as_matrix(heapq.nsmallest(self._max_rows, rows, key=lambda row: row.rank))

    def windows_of(self, entity: str, first_end_ns: int, last_end_ns: int) -> TrainingMatrix:
        """All windows of an entity that end in first_end_ns .. last_end_ns, whatever they were marked."""
        return as_matrix(
            row
            for row in self._kinds.get(entity_kind(entity), {}).values()
            if row.entity == entity and first_end_ns <= row.end_ns <= last_end_ns
        )

    def windows_during(self, entity: str, start_ns: int, end_ns: int) -> TrainingMatrix:
        """All windows of an entity that share with start_ns .. end_ns at least half of the shorter of the two."""
        return as_matrix(
            row
            for row in self._kinds.get(entity_kind(entity), {}).values()
            if row.entity == entity
            and 2 * (min(row.end_ns, end_ns) - max(row.start_ns, start_ns))
            >= min(row.end_ns - row.start_ns, end_ns - start_ns)
        )

    def _normal(self, kind: str, lacking: Collection[str] = ()) -> list[WindowRow]:
        newest_ns = self._newest_end_ns.get(kind, 0)
        rows = [
            row
            for row in self._kinds.get(kind, {}).values()
            if row.end_ns >= newest_ns - self._span_ns and not self._is_near_anomaly(row)
        ]
        return lacking_any(rows, lacking) if lacking else rows

    def _is_anomalous(self, row: WindowRow) -> bool:
        return self._marks.is_near(row.entity, row.end_ns)

    def _is_near_anomaly(self, row: WindowRow) -> bool:
        """Whether the window shares samples with one of an anomaly."""
        return self._marks.is_near(row.entity, row.end_ns, margin_ns=row.end_ns - row.start_ns)

    def _is_in_span(self, row: WindowRow, newest_ns: int) -> bool:
        span_ns = self._anomalous_span_ns if self._is_anomalous(row) else self._span_ns
        return row.end_ns >= newest_ns - span_ns

    def _trimmed(self, rows: dict[_WindowId, WindowRow], newest_ns: int) -> dict[_WindowId, WindowRow]:
        """At most one and a half times `max_rows` of the rows: the sample, the newest and the anomalous ones."""
        anomalous, others, normal = [], [], []
        for identity, row in rows.items():
            if not self._is_in_span(row, newest_ns):
                continue
            if self._is_anomalous(row):
                anomalous.append(identity)
                continue
            others.append(identity)
            if not self._is_near_anomaly(row):
                normal.append(identity)

        def end_ns(identity: _WindowId) -> int:
            return rows[identity].end_ns

        kept = set(heapq.nsmallest(self._max_rows, normal, key=lambda identity: rows[identity].rank))
        kept.update(heapq.nlargest(self._max_rows // 4, others, key=end_ns))
        kept.update(heapq.nlargest(self._max_rows // 4, anomalous, key=end_ns))
        return {identity: row for identity, row in rows.items() if identity in kept}

    def _forget_old_marks(self, kind: str, newest_ns: int) -> None:
        """Drops the marks that end before every window of the kind that may still be kept."""
        oldest_ns = newest_ns - max(self._span_ns, self._anomalous_span_ns)
        lengths_ns = (row.end_ns - row.start_ns for row in self._kinds[kind].values())
        before_ns = oldest_ns - max(lengths_ns, default=0)
        for entity in self._marks.entities:
            if entity_kind(entity) == kind:
                self._marks.forget_before(entity, before_ns)
