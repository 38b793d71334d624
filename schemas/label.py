"""Label: an operator's word on an anomaly, or on a fault that was missed."""

from enum import StrEnum
from typing import Annotated

import msgspec

from pulsetrain.schemas.anomaly import Text
from pulsetrain.schemas.times import AwareTime, check_times


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

    anomaly_id: Annotated[Text, msgspec.Meta(description="Of the anomaly; <entity>@<start> of a missed fault.")]
    verdict: LabelVerdict
    by: Annotated[Text, msgspec.Meta(description="Who says so.")]
    at: Annotated[AwareTime, msgspec.Meta(description="When it was said; the newer of two labels holds.")]
    note: Annotated[str, msgspec.Meta(max_length=4096)] = ""
    entity: Annotated[Text | None, msgspec.Meta(description="Where a missed fault was.")] = None
    start: Annotated[AwareTime | None, msgspec.Meta(description="When a missed fault began.")] = None
    end: Annotated[AwareTime | None, msgspec.Meta(description="When a missed fault ended, after start.")] = None

    def __post_init__(self) -> None:
        check_times(at=self.at, start=self.start, end=self.end)
        missed = (self.entity, self.start, self.end)
        if self.verdict is LabelVerdict.MISSED:
            if self.entity is None or self.start is None or self.end is None or self.end <= self.start:
                raise ValueError("a missed fault needs entity, start and a later end")
        elif any(field is not None for field in missed):
            raise ValueError("entity, start and end belong to a missed fault only")
