"""From scored windows to verdicts: an anomaly opens, is revised while it lasts, and closes.

Pure functions of (state, window, score), so that a window that is read again gives the same verdict. The state of an
entity is a plain JSON value, because it lives in a table whose changelog is Kafka's.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pulsetrain.schemas.anomaly import (
    Anomaly,
    AnomalyState,
    DataQuality,
    Evidence,
    Model,
    Vote,
    anomaly_id,
    utc_time,
)
from pulsetrain.schemas.feature_window import FeatureWindow, SampleCount

STAGE = "detect"

CLEAR_AFTER_WINDOWS = 3
"""So many scored windows in a row without a flag close an anomaly."""

REMEMBERED_SESSIONS = 16
"""Agent sessions of one entity whose newest window is remembered, to drop windows that come twice; as many as the
window engine remembers, for an agent that starts over and over."""

State = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the model said of one window.

    `score` is the score of the member whose vote decides, over its threshold: above 1 the vote is for an anomaly.
    `benign` marks a window that the vote flagged and that labels have taught the model to excuse.
    """

    flagged: bool
    benign: bool
    score: float
    votes: tuple[Vote, ...]
    evidence: tuple[Evidence, ...]
    model: Model
    imputed_columns: int


def is_repeated(state: State, window: FeatureWindow) -> bool:
    """Whether this window of this session, or a later one, was judged before."""
    last_end = state.get("sessions", {}).get(window.session)
    return last_end is not None and window.end_ns <= last_end


def judge(state: State, window: FeatureWindow, judgement: Judgement | None) -> tuple[State, Anomaly | None]:
    """The entity's next state, and the revision of its anomaly if there is one to publish.

    Args:
        judgement: None where the window was not scored; missing data neither opens nor closes an anomaly.
    """
    sessions = {name: end for name, end in state.get("sessions", {}).items() if name != window.session}
    while len(sessions) >= REMEMBERED_SESSIONS:
        del sessions[next(iter(sessions))]
    sessions[window.session] = window.end_ns
    episode: State | None = state.get("open")
    anomaly = None
    if judgement is not None and (judgement.flagged or episode is not None):
        episode = _continue(episode, window, judgement)
        closed = episode["clear_windows"] >= CLEAR_AFTER_WINDOWS
        if judgement.flagged or closed:
            anomaly = _anomaly(episode, window, judgement, closed=closed)
            episode["revision"] += 1
        if closed:
            episode = None
    return {"sessions": sessions, "open": episode}, anomaly


def _continue(episode: State | None, window: FeatureWindow, judgement: Judgement) -> State:
    if episode is None:
        episode = {"first_end": window.end_ns, "revision": 0, "flagged_windows": 0, "clear_windows": 0}
    if judgement.flagged:
        return episode | {"flagged_windows": episode["flagged_windows"] + 1, "clear_windows": 0}
    return episode | {"clear_windows": episode["clear_windows"] + 1}


def _anomaly(episode: State, window: FeatureWindow, judgement: Judgement, *, closed: bool) -> Anomaly:
    return Anomaly(
        id=anomaly_id(window.entity, episode["first_end"], STAGE),
        revision=episode["revision"],
        state=AnomalyState.CLOSED if closed else AnomalyState.OPEN,
        stage=STAGE,
        entity=window.entity,
        node=window.node,
        labels=dict(window.labels),
        first_window_end=utc_time(episode["first_end"]),
        window_start=utc_time(window.start_ns),
        window_end=utc_time(window.end_ns),
        flagged_windows=episode["flagged_windows"],
        score=judgement.score,
        votes=list(judgement.votes),
        evidence=list(judgement.evidence),
        model=judgement.model,
        data_quality=data_quality(window, judgement.imputed_columns),
    )


def data_quality(window: FeatureWindow, imputed_columns: int) -> DataQuality:
    """Shares of the samples that were expected in the window, over all its metrics."""
    totals = dict(zip(SampleCount, window.counts.sum(axis=0, dtype=np.int64).tolist(), strict=True))
    expected = max(totals[SampleCount.EXPECTED], 1)
    present = totals[SampleCount.MEASURED] + totals[SampleCount.RESAMPLED]

    def share(count: int) -> float:
        return float(min(max(count / expected, 0.0), 1.0))

    return DataQuality(
        missing=share(totals[SampleCount.EXPECTED] - present),
        filled=share(totals[SampleCount.FILLED]),
        late=share(totals[SampleCount.LATE]),
        out_of_order=share(totals[SampleCount.OUT_OF_ORDER]),
        invalid=share(totals[SampleCount.INVALID]),
        imputed_columns=imputed_columns,
    )
