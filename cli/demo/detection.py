"""When a trouble counts as detected: a verdict that came with it and whose evidence names what it moves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pulsetrain.cli.demo.troubles import Trouble
from pulsetrain.schemas.anomaly import Anomaly, AnomalyState, Evidence

GROWTH = 3.0
BEFORE_SECONDS = 10.0


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


def verdicts_about(
    injection: Injection, revisions: Sequence[Revision], strongest: int | None = None
) -> Iterator[Detection]:
    """The flagged windows that are about a trouble, the first one first.

    Such a window shares time with the trouble, and its evidence names a metric that the trouble moves. A verdict that
    names only other metrics is a false alarm. An anomaly that named such a metric shortly before the trouble began is
    about something else, unless it now names one `GROWTH` times as strongly.

    Args:
        revisions: in the order in which they were read.
        strongest: so many of a verdict's deviations are looked at, the strongest ones; None looks at all.
    """
    family = injection.trouble.family
    named_before: dict[str, float] = {}
    for one in revisions:
        anomaly = one.anomaly
        if anomaly.state is AnomalyState.CLOSED:
            continue
        evidence = family.named_in(anomaly.evidence[:strongest])
        if evidence is None:
            continue
        sigma = abs(evidence.deviation_sigma or 0.0)
        if injection.overlaps(anomaly):
            if sigma >= GROWTH * named_before.get(anomaly.id, 0.0):
                yield Detection(anomaly, one.read_at - injection.started_at, evidence)
        elif 0 <= injection.started_at - anomaly.window_end.timestamp() <= BEFORE_SECONDS:
            named_before[anomaly.id] = max(sigma, named_before.get(anomaly.id, 0.0))
