"""Label: an operator's word on an anomaly, or on a fault that was missed."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec

from pulsetrain.schemas.anomaly import Text

AwareTime = Annotated[datetime, msgspec.Meta(tz=True)]


class LabelVerdict(StrEnum):
    """What the operator says."""

    FALSE_POSITIVE = "false_positive"
    TRUE_POSITIVE = "true_positive"
    MISSED = "missed"


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """One label. The topic is compacted by `anomaly_id`; of two labels the one with the newer `at` holds.

    A missed fault has no anomaly: its `anomaly_id` is `<entity>@<start>`, and `entity`, `start` and `end` say where
    and when it was.
    """

    anomaly_id: Text
    verdict: LabelVerdict
    by: Text
    at: AwareTime
    note: Annotated[str, msgspec.Meta(max_length=4096)] = ""
    entity: Text | None = None
    start: AwareTime | None = None
    end: AwareTime | None = None

    def __post_init__(self) -> None:
        missed = (self.entity, self.start, self.end)
        if self.verdict is LabelVerdict.MISSED:
            if self.entity is None or self.start is None or self.end is None or self.end <= self.start:
                raise ValueError("a missed fault needs entity, start and a later end")
        elif any(field is not None for field in missed):
            raise ValueError("entity, start and end belong to a missed fault only")
