"""The label book: what operators said of which anomalies, the same in whatever order and however often it arrives."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

import msgspec

from pulsetrain.schemas.anomaly import Anomaly, AnomalyState
from pulsetrain.schemas.label import Label, LabelVerdict

DEFAULT_MAX_ANOMALIES = 20_000
DEFAULT_MAX_LABELS = 5_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MICROSECOND_NS = 1000


def unix_ns(time: datetime) -> int:
    """Unix nanoseconds of a time with an offset."""
    return (time - _EPOCH) // _MICROSECOND * _MICROSECOND_NS


class LabelOutcome(StrEnum):
    """What became of a label."""

    ACCEPTED = "accepted"
    REPEATED = "repeated"
    OUTDATED = "outdated"
    UNKNOWN_ANOMALY = "unknown anomaly"


@dataclass(frozen=True, slots=True)
class KnownAnomaly:
    """The newest revision of an anomaly: the ends of its first and of its last flagged window."""

    id: str
    entity: str
    first_end_ns: int
    last_end_ns: int
    revision: int
    is_closed: bool


@dataclass(frozen=True, slots=True)
class LabelledEpisode:
    """A label and the time it speaks about.

    Of an anomaly `start_ns` and `end_ns` are the ends of its first and last flagged window, of a missed fault its
    start and end. While an anomaly is open (`is_settled` false), it can still grow.
    """

    label: Label
    entity: str
    start_ns: int
    end_ns: int
    is_settled: bool

    @property
    def id(self) -> str:
        return self.label.anomaly_id

    @property
    def is_missed_fault(self) -> bool:
        return self.label.verdict is LabelVerdict.MISSED


class LabelBook:
    """Keeps the newest label of each anomaly and of each missed fault.

    Bounded: beyond `max_anomalies` the unlabelled anomaly that was heard of longest ago is forgotten, beyond
    `max_labels` the oldest label.
    """

    def __init__(self, max_anomalies: int = DEFAULT_MAX_ANOMALIES, max_labels: int = DEFAULT_MAX_LABELS) -> None:
        self._max_anomalies = max_anomalies
        self._max_labels = max_labels
        self._anomalies: dict[str, KnownAnomaly] = {}
        self._labels: dict[str, Label] = {}
        self._restored: dict[str, LabelledEpisode] = {}

    def observe(self, anomaly: Anomaly) -> KnownAnomaly | None:
        """Takes a revision of an anomaly and returns what is now known of it; None where it is not newer."""
        known = self._anomalies.get(anomaly.id)
        if known is not None and anomaly.revision <= known.revision:
            return None
        is_closed = anomaly.state is AnomalyState.CLOSED
        last_end_ns = _window_end_ns(anomaly.window_end)
        if is_closed:
            # The windows that close an anomaly are no longer flagged.
            last_end_ns = known.last_end_ns if known else last_end_ns
        current = KnownAnomaly(
            id=anomaly.id,
            entity=anomaly.entity,
            first_end_ns=unix_ns(anomaly.first_window_end),
            last_end_ns=last_end_ns,
            revision=anomaly.revision,
            is_closed=is_closed,
        )
        self._anomalies.pop(anomaly.id, None)
        self._anomalies[anomaly.id] = current
        if len(self._anomalies) > self._max_anomalies:
            unlabelled = (known_id for known_id in self._anomalies if known_id not in self._labels)
            del self._anomalies[next(unlabelled, anomaly.id)]
        return current

    def add(self, label: Label) -> LabelOutcome:
        """Takes a label. Of two labels of one id the one with the newer `at` holds, whichever comes first."""
        held = self._labels.get(label.anomaly_id)
        if label.verdict is not LabelVerdict.MISSED and not self._knows(label.anomaly_id):
            return LabelOutcome.UNKNOWN_ANOMALY
        if held == label:
            return LabelOutcome.REPEATED
        if held is not None and _precedence(label) <= _precedence(held):
            return LabelOutcome.OUTDATED
        self._labels[label.anomaly_id] = label
        if len(self._labels) > self._max_labels:
            del self._labels[min(self._labels.values(), key=_precedence).anomaly_id]
        return LabelOutcome.ACCEPTED

    def restore(self, episodes: Iterable[LabelledEpisode]) -> None:
        """Takes up what a model has learned from, whose anomalies may no longer be on their topic."""
        for episode in episodes:
            earlier = self._restored.get(episode.id)
            if earlier is None or earlier.end_ns <= episode.end_ns:
                self._restored[episode.id] = episode
            self.add(episode.label)

    def holding(self, anomaly_id: str) -> Label | None:
        """The label that holds for an anomaly or a missed fault; None where there is none."""
        return self._labels.get(anomaly_id)

    def episodes(self) -> tuple[LabelledEpisode, ...]:
        """All labels with their times, the oldest label first."""
        labels = sorted(self._labels.values(), key=_precedence)
        return tuple(episode for label in labels if (episode := self._episode(label)) is not None)

    def episode(self, anomaly_id: str) -> LabelledEpisode | None:
        """The label of one anomaly or missed fault with its time; None where there is none."""
        label = self._labels.get(anomaly_id)
        return None if label is None else self._episode(label)

    def _knows(self, anomaly_id: str) -> bool:
        return anomaly_id in self._anomalies or anomaly_id in self._restored

    def _episode(self, label: Label) -> LabelledEpisode | None:
        if label.entity is not None and label.start is not None and label.end is not None:
            return LabelledEpisode(label, label.entity, unix_ns(label.start), unix_ns(label.end), is_settled=True)
        known, restored = self._anomalies.get(label.anomaly_id), self._restored.get(label.anomaly_id)
        if known is not None:
            return LabelledEpisode(label, known.entity, known.first_end_ns, known.last_end_ns, known.is_closed)
        if restored is not None:
            return LabelledEpisode(label, restored.entity, restored.start_ns, restored.end_ns, is_settled=True)
        return None


def _window_end_ns(end: datetime) -> int:
    """The latest time that a window end may have had before it was rounded down to a microsecond."""
    return unix_ns(end) + _MICROSECOND_NS - 1


def _precedence(label: Label) -> tuple[datetime, bytes]:
    """Newer labels are greater; of two with the same time one holds, always the same one."""
    return label.at, msgspec.json.encode(label)
