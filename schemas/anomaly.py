"""Anomaly: a verdict about one entity, with the evidence for it and the quality of the data behind it."""

from enum import StrEnum
from typing import Annotated

import msgspec

from pulsetrain.schemas.times import AwareTime, check_times
from pulsetrain.schemas.times import utc_time as utc_time

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class AnomalyState(StrEnum):
    """An anomaly is open while its windows are flagged."""

    OPEN = "open"
    CLOSED = "closed"


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One metric that deviates, by the feature of it that deviates most."""

    metric: Annotated[Text, msgspec.Meta(description="Name of the metric catalogue, or the producer's own.")]
    feature: Annotated[Text, msgspec.Meta(description="tsfresh's column name without the kind.")]
    value: Annotated[float | None, msgspec.Meta(description="The feature's value in the window; null = missing.")]
    expected: Annotated[float | None, msgspec.Meta(description="Its mean in the windows the model learned from.")]
    deviation_sigma: Annotated[
        float | None, msgspec.Meta(description="(value - expected) in standard deviations of those windows.")
    ]


class Vote(msgspec.Struct, frozen=True, kw_only=True):
    """What one detector said: flagged where the score is above the threshold. High scores are anomalous."""

    detector: Text
    score: Annotated[float | None, msgspec.Meta(description="null = not scored.")]
    threshold: float | None
    flagged: bool


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """The model that scored."""

    name: Annotated[Text, msgspec.Meta(description="The entity kind that it scores, e.g. host.")]
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

    id: Annotated[Text, msgspec.Meta(description="<entity>@<first window end, UTC>:<stage>")]
    revision: Annotated[Count, msgspec.Meta(description="Counts the messages about this anomaly from 0.")]
    state: AnomalyState
    stage: Annotated[Text, msgspec.Meta(description="The stage of the stream that decided.")]
    entity: Annotated[Text, msgspec.Meta(description="Global name, e.g. <node>/host.")]
    node: Text
    labels: Annotated[dict[str, str], msgspec.Meta(description="Labels of the entity: job, rank, pod ...")]
    first_window_end: Annotated[AwareTime, msgspec.Meta(description="End of the first flagged window.")]
    window_start: Annotated[AwareTime, msgspec.Meta(description="Start of the window of this revision.")]
    window_end: Annotated[AwareTime, msgspec.Meta(description="End of the window of this revision.")]
    flagged_windows: Annotated[Count, msgspec.Meta(description="Windows flagged so far.")]
    score: Annotated[float | None, msgspec.Meta(description="High is anomalous; null = not scored.")]
    votes: list[Vote]
    evidence: Annotated[list[Evidence], msgspec.Meta(description="Strongest deviation first.")]
    model: Model
    data_quality: DataQuality

    def __post_init__(self) -> None:
        check_times(first_window_end=self.first_window_end, window_start=self.window_start, window_end=self.window_end)


def anomaly_id(entity: str, first_window_end_ns: int, stage: str) -> str:
    """`<entity>@<first window end, UTC>:<stage>`, a name that is the same whoever computes it."""
    end = utc_time(first_window_end_ns)
    return f"{entity}@{end:%Y%m%dT%H%M%S}.{end.microsecond // 1000:03d}Z:{stage}"
