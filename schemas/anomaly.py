"""Anomaly: a verdict about one entity, with the evidence for it and the quality of the data behind it."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import msgspec

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class AnomalyState(StrEnum):
    """An anomaly is open while its windows are flagged."""

    OPEN = "open"
    CLOSED = "closed"


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One metric that deviates, by the feature of it that deviates most."""

    metric: Text
    feature: Text
    value: float | None
    expected: float | None
    deviation_sigma: float | None


class Vote(msgspec.Struct, frozen=True, kw_only=True):
    """What one detector said: flagged where the score is above the threshold. High scores are anomalous."""

    detector: Text
    score: float | None
    threshold: float | None
    flagged: bool


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """The model that scored."""

    name: Text
    version: Count


class DataQuality(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of the samples expected in the window, and the model's columns that had to be imputed."""

    missing: Share
    filled: Share
    late: Share
    out_of_order: Share
    invalid: Share
    imputed_columns: Count


class Anomaly(msgspec.Struct, frozen=True, kw_only=True):
    """One revision of a verdict. Of two messages with the same id the one with the higher revision holds."""

    id: Text
    revision: Count
    state: AnomalyState
    stage: Text
    entity: Text
    node: Text
    labels: dict[str, str]
    first_window_end: datetime
    window_start: datetime
    window_end: datetime
    flagged_windows: Count
    score: float | None
    votes: list[Vote]
    evidence: list[Evidence]
    model: Model
    data_quality: DataQuality


def utc_time(time_ns: int) -> datetime:
    """Unix nanoseconds as UTC, rounded down to a microsecond."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)


def anomaly_id(entity: str, first_window_end_ns: int, stage: str) -> str:
    """`<entity>@<first window end, UTC>:<stage>`, a name that is the same whoever computes it."""
    end = utc_time(first_window_end_ns)
    return f"{entity}@{end:%Y%m%dT%H%M%S}.{end.microsecond // 1000:03d}Z:{stage}"
