"""When a trouble counts as detected: a verdict that came with it and whose evidence names what it moves."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pulsetrain.cli.demo.troubles import Trouble
from pulsetrain.schemas.anomaly import Anomaly, AnomalyState, Evidence


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision of an anomaly and when it was read, in Unix seconds."""

    anomaly: Anomaly
    read_at: float


@dataclass(slots=True)
class Injection:
    """A trouble that was started, at Unix seconds; `ended_at` None while it goes on."""

    trouble: Trouble
    started_at: float
    ended_at: float | None = None

    def overlaps(self, anomaly: Anomaly) -> bool:
        """Whether the window of a revision shares time with the trouble."""
        began_before_end = self.ended_at is None or anomaly.window_start.timestamp() < self.ended_at
        return began_before_end and anomaly.window_end.timestamp() > self.started_at


@dataclass(frozen=True, slots=True)
class Detection:
    """The verdict that found a trouble, how long after its start, and the evidence that names it."""

    anomaly: Anomaly
    after_seconds: float
    evidence: Evidence


def find_detection(injection: Injection, revisions: Sequence[Revision]) -> Detection | None:
    """The first verdict about a trouble.

    It is a flagged window that shares time with the trouble, and its evidence names a metric that the trouble moves.
    An anomaly that named one already before the trouble began is about something else, and so is an anomaly that
    names only other metrics: a false alarm is no detection.

    Args:
        revisions: in the order in which they were read.
    """
    family = injection.trouble.family
    started = datetime.fromtimestamp(injection.started_at, UTC)
    about_something_else = {
        one.anomaly.id
        for one in revisions
        if one.anomaly.window_end <= started and family.named_in(one.anomaly.evidence) is not None
    }
    for one in revisions:
        anomaly = one.anomaly
        if anomaly.state is AnomalyState.CLOSED or anomaly.id in about_something_else:
            continue
        evidence = family.named_in(anomaly.evidence)
        if evidence is not None and injection.overlaps(anomaly):
            return Detection(anomaly, one.read_at - injection.started_at, evidence)
    return None
