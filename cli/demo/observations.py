"""All that the demo has seen on the topics so far; every view and every decision of the demo is made of it."""

from collections import deque
from collections.abc import Callable, Set
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from pulsetrain.cli.decoding import DeadLetter, Record
from pulsetrain.cli.demo.detection import Revision
from pulsetrain.cli.demo.journal import Journal, Tone
from pulsetrain.cli.demo.wording import verdict_text
from pulsetrain.cli.rendering import printable
from pulsetrain.schemas.anomaly import Anomaly, AnomalyState
from pulsetrain.schemas.feature_window import FeatureWindow
from pulsetrain.schemas.sample_block import SampleBlock
from pulsetrain.schemas.status import Severity, Status, StatusEvent


class Shown(StrEnum):
    """The metrics whose course is shown, as means of windows: counters have become rates."""

    CPU_BUSY = "CPU busy"
    MEMORY_USED = "memory used"
    DISK_WRITTEN = "disk written"
    IP_PACKETS = "IP packets"


_METRICS = {
    Shown.CPU_BUSY: "system.cpu.utilization",
    Shown.MEMORY_USED: "system.memory.usage{system.memory.state=used}",
    Shown.DISK_WRITTEN: "system.disk.io{disk.io.direction=write}",
    Shown.IP_PACKETS: "system.network.ip.packets{network.io.direction=receive}",
}

HISTORY_WINDOWS = 120
NS = 1_000_000_000

_RATE_SECONDS = 5.0
_UNTOLD = frozenset({StatusEvent.HEARTBEAT, StatusEvent.NOT_SCORED, StatusEvent.MODEL_ACTIVATED})


@dataclass(frozen=True, slots=True)
class PublishedModel:
    """A version that the trainer published: what it was learned from, and the window end from which on it scores."""

    version: int
    effective_from_seconds: float
    windows: int
    labels: int


class Rate:
    """How much came in a second, over the last five."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, int]] = deque()

    def add(self, at: float, amount: int) -> None:
        """Takes note of an amount."""
        self._recent.append((at, amount))
        self._forget(at)

    def per_second(self, now: float) -> float:
        """The rate at this moment."""
        self._forget(now)
        return sum(amount for _, amount in self._recent) / _RATE_SECONDS

    def _forget(self, now: float) -> None:
        while self._recent and self._recent[0][0] <= now - _RATE_SECONDS:
            self._recent.popleft()


class Observations:
    """Takes record by record and knows the state of the whole; `stages` are those that have sent a heartbeat.

    Args:
        clock: Unix seconds; the time at which a record is taken is the time at which it was read.
        journal: gets what is worth telling.
    """

    def __init__(self, clock: Callable[[], float], journal: Journal) -> None:
        self._clock = clock
        self._journal = journal
        self.samples = 0
        self.windows = 0
        self.dead_letters = 0
        self.scored = 0
        self.flagged = 0
        self.excused = 0
        self.sample_rate = Rate()
        self.window_rate = Rate()
        self.entity = ""
        self.newest_start_seconds = 0.0
        self.newest_end_seconds = 0.0
        self.history: dict[Shown, deque[float]] = {shown: deque(maxlen=HISTORY_WINDOWS) for shown in Shown}
        self.revisions: list[Revision] = []
        self.published: list[PublishedModel] = []
        self.loaded_versions: set[int] = set()
        self.setbacks: list[str] = []
        self.stages: set[str] = set()
        self._first_end_seconds: float | None = None
        self._open: set[str] = set()

    def take(self, record: Record) -> None:
        """Takes the next record of any topic."""
        match record:
            case SampleBlock():
                self.samples += record.values.size
                self.sample_rate.add(self._clock(), record.values.size)
            case FeatureWindow():
                self._take_window(record)
            case Anomaly():
                self._take_anomaly(record)
            case Status():
                self._take_status(record)
            case DeadLetter():
                self.dead_letters += 1
                self._journal.write(Tone.PROBLEM, f"dead letter from {record.topic}: {record.reason}")

    @property
    def event_seconds(self) -> float:
        """How much event time the windows cover so far, by their ends."""
        return self.newest_end_seconds - (self._first_end_seconds or self.newest_end_seconds)

    def mean_of(self, shown: Shown) -> float:
        """The mean of what is remembered of a metric's course; 0 where nothing is."""
        return float(np.mean(self.history[shown] or [0.0]))

    def is_scoring(self, model: PublishedModel) -> bool:
        """Whether a version is loaded, and windows from its effective-from time on have come."""
        return model.version in self.loaded_versions and self.newest_end_seconds >= model.effective_from_seconds

    def open_anomalies(self) -> Set[str]:
        """Ids of the anomalies that are not closed."""
        return self._open

    def _take_window(self, window: FeatureWindow) -> None:
        self.windows += 1
        self.window_rate.add(self._clock(), 1)
        self.entity = window.entity
        start, end = window.start_ns / NS, window.end_ns / NS
        self._first_end_seconds = self._first_end_seconds or end
        self.newest_start_seconds = max(self.newest_start_seconds, start)
        self.newest_end_seconds = max(self.newest_end_seconds, end)
        mean = window.features.index("mean")
        for shown, metric in _METRICS.items():
            if metric in window.metrics:
                value = float(window.values[window.metrics.index(metric), mean])
                if np.isfinite(value):
                    self.history[shown].append(value)

    def _take_anomaly(self, anomaly: Anomaly) -> None:
        self.revisions.append(Revision(anomaly, self._clock()))
        if anomaly.state is AnomalyState.CLOSED:
            self._open.discard(anomaly.id)
        else:
            self._open.add(anomaly.id)
        if anomaly.revision == 0 or anomaly.state is AnomalyState.CLOSED:
            self._journal.write(Tone.VERDICT, verdict_text(anomaly))

    def _take_status(self, status: Status) -> None:
        details = status.details
        speaker = printable(status.source.partition("@")[0])
        if status.event is StatusEvent.HEARTBEAT:
            self.stages.add(speaker)
        match status.event:
            case StatusEvent.HEARTBEAT if "benign" in details:
                self.scored = _whole(details["scored"])
                self.flagged = _whole(details["flagged"])
                self.excused = _whole(details["benign"])
            case StatusEvent.MODEL_PUBLISHED:
                self.published.append(
                    PublishedModel(
                        version=_whole(details["version"]),
                        effective_from_seconds=_whole(details["effective_from_ns"]) / NS,
                        windows=_whole(details["windows"]),
                        labels=_whole(details["labels"]),
                    )
                )
            case StatusEvent.MODEL_LOADED:
                self.loaded_versions.add(_whole(details["version"]))
            case StatusEvent.TRAINING_REFUSED | StatusEvent.LABEL_REJECTED:
                self.setbacks.append(status.message)
        if status.event not in _UNTOLD:
            tone = Tone.EVENT if status.severity is Severity.INFO else Tone.PROBLEM
            self._journal.write(tone, f"{speaker}: {printable(status.message)}")


def _whole(value: str | int | float | None) -> int:
    return int(value or 0)
