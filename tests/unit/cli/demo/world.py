"""A machine with its stream, as the demo's story sees it, on a clock that only the test moves.

Windows of five seconds come every second, two seconds after their end. A window that overlaps a load is flagged, with
the load's metric as evidence; three windows in a row without a flag close an anomaly.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from pulsetrain.cli.demo.journal import Journal
from pulsetrain.cli.demo.observations import Observations
from pulsetrain.cli.demo.run import drive
from pulsetrain.cli.demo.screen import Moment
from pulsetrain.cli.demo.story import NotClosedError, Story
from pulsetrain.cli.demo.troubles import Trouble
from pulsetrain.schemas.anomaly import Anomaly, AnomalyState, DataQuality, Evidence, Model, Vote
from pulsetrain.schemas.feature_window import FeatureWindow, SampleCount
from pulsetrain.schemas.status import Severity, Status, StatusEvent

BEGIN = 1_800_000_000.0
NS = 1_000_000_000
LATENCY_SECONDS = 2.0
WINDOW_SECONDS = 5.0
LOOK_SECONDS = 0.25
STARTED_SECONDS = 4.0

MOVED = {
    "cpu_hog": "system.cpu.utilization",
    "memory_leak": "system.memory.usage{system.memory.state=used}",
    "disk_hammer": "system.disk.io{disk.io.direction=write}",
    "network_copy": "system.network.ip.packets{network.io.direction=receive}",
}


def evidence(metric: str, sigma: float | None = 12.0, feature: str = "mean") -> Evidence:
    """One deviating metric."""
    return Evidence(metric=metric, feature=feature, value=1.0, expected=0.5, deviation_sigma=sigma)


def anomaly(
    *metrics: str | Evidence,
    end: float = BEGIN,
    first_end: float | None = None,
    revision: int = 0,
    state: AnomalyState = AnomalyState.OPEN,
) -> Anomaly:
    """A revision whose window ends at `end`, of the anomaly that began at `first_end`."""
    first = end if first_end is None else first_end
    return Anomaly(
        id=f"node-00/host@{first:.0f}:detect",
        revision=revision,
        state=state,
        stage="detect",
        entity="node-00/host",
        node="node-00",
        labels={},
        first_window_end=utc(first),
        window_start=utc(end - WINDOW_SECONDS),
        window_end=utc(end),
        flagged_windows=revision + 1,
        score=2.0,
        votes=[Vote(detector="zscore", score=12.0, threshold=6.0, flagged=True)],
        evidence=[one if isinstance(one, Evidence) else evidence(one) for one in metrics],
        model=Model(name="host", version=1),
        data_quality=DataQuality(missing=0, filled=0, late=0, out_of_order=0, invalid=0, imputed_columns=0),
    )


def window(end: float, busy: float = 0.5) -> FeatureWindow:
    """A feature window that ends then; the mean of every metric is `busy`."""
    metrics = tuple(MOVED.values())
    return FeatureWindow(
        node="node-00",
        session="s",
        entity="node-00/host",
        labels={},
        start_ns=round((end - WINDOW_SECONDS) * NS),
        end_ns=round(end * NS),
        complete=True,
        metrics=metrics,
        features=("mean",),
        values=np.full((len(metrics), 1), busy),
        counts=np.zeros((len(metrics), len(SampleCount)), dtype=np.int64),
    )


def status(
    event: StatusEvent, message: str = "", source: str = "learn@node-00:1", **details: str | int | float | None
) -> Status:
    """A status message of a worker."""
    return Status(
        source=source,
        event=event,
        severity=Severity.INFO,
        at=utc(BEGIN),
        message=message or event.value,
        details=details,
    )


def utc(seconds: float) -> datetime:
    """A time as records hold it."""
    return datetime.fromtimestamp(seconds, UTC)


@dataclass
class World:
    """The machine, its stream and the story that is told on it.

    `dead`: the workers do not start. `silent`: no samples come. `untrained`: no model comes. `unseen`: loads that are
    never flagged. `labels_needed`: until the job is excused. `refusal`: why the trainer learns nothing from a label.
    `busy`: share of CPU time in use. `noise`: metrics that other work makes deviate, by the times in seconds after the
    beginning.
    """

    dead: bool = False
    silent: bool = False
    untrained: bool = False
    unseen: set[str] = field(default_factory=set)
    labels_needed: int = 1
    refusal: str = ""
    busy: float = 0.2
    noise: dict[range, str] = field(default_factory=dict)

    now: float = BEGIN
    agent_started_at: float | None = None
    running: dict[str, float] = field(default_factory=dict)
    actions: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._loads: list[tuple[str, float, float | None]] = []
        self._newest_end = BEGIN + STARTED_SECONDS + WINDOW_SECONDS
        self._labels = 0
        self._version = 0
        self._open: Anomaly | None = None
        self._clear = 0
        self._excused = 0
        self.journal = Journal(lambda: self.now)
        self.seen = Observations(lambda: self.now, self.journal)
        self.story = Story(self.seen, self, self.journal, lambda: self.now)

    def run(self) -> str | None:
        """Tells the story to its end; why it could not go on, or None."""
        try:
            drive(self.story.tell(), self._look, self._show, lambda: self.now)
        except NotClosedError as error:
            return str(error)
        return None

    def results(self) -> dict[str, tuple[str, str]]:
        """State and result of each chapter."""
        return {one.name: (one.state.value, one.result) for one in self.story.chapters}

    def start_agent(self) -> None:
        self.agent_started_at = self.now

    def start(self, trouble: Trouble) -> None:
        self.actions.append(f"start {trouble.load}")
        self.running[trouble.load] = self.now

    def stop(self, trouble: Trouble) -> None:
        self.actions.append(f"stop {trouble.load}")
        self._loads.append((trouble.load, self.running.pop(trouble.load), self.now))

    def label_false_positive(self, anomaly_id: str) -> None:
        self.actions.append(f"label {anomaly_id}")
        self._labels += 1
        if self.refusal:
            self.seen.take(status(StatusEvent.TRAINING_REFUSED, self.refusal))
        else:
            self._publish()

    def _show(self, moment: Moment) -> None:
        if self.waits[-1:] != [moment.waiting]:
            self.waits.append(moment.waiting)
        assert 0 <= moment.share <= 1

    def _look(self) -> None:
        self.now += LOOK_SECONDS
        if not self.seen.stages and self.now >= BEGIN + STARTED_SECONDS and not self.dead:
            for stage in ("features", "detect", "learn"):
                self.seen.take(status(StatusEvent.HEARTBEAT, source=f"{stage}@node-00:1"))
        if self.silent or self.agent_started_at is None:
            return
        while self._newest_end + 1 <= self.now - LATENCY_SECONDS:
            self._newest_end += 1
            self._close_window(self._newest_end)

    def _close_window(self, end: float) -> None:
        self.seen.take(window(end, self.busy))
        if self._version == 0 and not self.untrained and end >= BEGIN + 70:
            self._publish()
            return
        if self._version:
            self._judge(end)

    def _publish(self) -> None:
        self._version += 1
        effective_ns = round((self._newest_end + 2) * NS)
        published = StatusEvent.MODEL_PUBLISHED
        self.seen.take(
            status(published, version=self._version, effective_from_ns=effective_ns, windows=60, labels=self._labels)
        )
        self.seen.take(status(StatusEvent.MODEL_LOADED, version=self._version))

    def _judge(self, end: float) -> None:
        metrics = self._moved(end)
        if metrics == [MOVED["network_copy"]] and self._labels >= self.labels_needed:
            self._excused += 1
            metrics = []
        self._clear = 0 if metrics else self._clear + 1
        if metrics:
            first = self._open.first_window_end.timestamp() if self._open else end
            revision = self._open.revision + 1 if self._open else 0
            self._open = anomaly(*metrics, end=end, first_end=first, revision=revision)
            self.seen.take(self._open)
        elif self._open is not None and self._clear == 3:
            first = self._open.first_window_end.timestamp()
            closed = AnomalyState.CLOSED
            self.seen.take(anomaly(end=end, first_end=first, revision=self._open.revision + 1, state=closed))
            self._open = None
        self.seen.take(status(StatusEvent.HEARTBEAT, scored=1, flagged=1, benign=self._excused))

    def _moved(self, end: float) -> list[str]:
        loads = [*self._loads, *((name, began, None) for name, began in self.running.items())]
        moved = {
            MOVED[name]: None
            for name, began, ended in loads
            if name not in self.unseen and end > began and (ended is None or end - WINDOW_SECONDS < ended)
        }
        noisy = [metric for times, metric in self.noise.items() if round(end - BEGIN) in times]
        return [*noisy, *moved]
