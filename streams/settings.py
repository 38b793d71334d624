"""Settings of the stream workers; read once from the configuration and passed down, never changed."""

import math
from collections.abc import Iterable
from typing import Any

import msgspec

NS = 1_000_000_000

_FcParameters = dict[str, list[dict[str, Any]] | None] | str


def _check_positive(section: str, settings: msgspec.Struct, names: Iterable[str]) -> None:
    for name in names:
        value = getattr(settings, name)
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{section}.{name} must be greater than 0 and finite")


class WindowSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How samples become windows. Windows are aligned to the Unix epoch.

    `hold_limit_seconds`: after this much append time a block's windows are closed even if the node's clock stands
    still, so that one node can't hold up a partition. `future_limit_seconds`: a block whose ticks are further ahead
    of its append time is quarantined. `fill_limit_intervals`: the longest gap that is filled, in intervals of the
    source; a metric with a longer gap has no features in that window.
    """

    length_seconds: float = 30.0
    hop_seconds: float = 5.0
    allowed_lateness_seconds: float = 2.0
    idle_timeout_seconds: float = 60.0
    hold_limit_seconds: float = 120.0
    future_limit_seconds: float = 300.0
    grid_tolerance_ms: float = 5.0
    fill_limit_intervals: float = 5.0

    def __post_init__(self) -> None:
        _check_positive("windows", self, self.__struct_fields__)
        if self.hop_seconds > self.length_seconds:
            raise ValueError("windows.hop_seconds must not be greater than windows.length_seconds")
        if self.grid_tolerance_ms >= 1000 * self.hop_seconds / 2:
            raise ValueError("windows.grid_tolerance_ms must be less than half of windows.hop_seconds")
        if self.hold_limit_seconds <= self.length_seconds + self.allowed_lateness_seconds:
            raise ValueError(
                "windows.hold_limit_seconds must be greater than length_seconds + allowed_lateness_seconds"
            )


class LearnSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How models are learned.

    `warm_up_seconds`: the span of windows from which "normal" is learned first. `activation_delay_seconds`: how far
    behind the newest window a new version becomes effective, so that every worker has loaded it by then.
    """

    warm_up_seconds: float = 3600.0
    false_alarms_per_day: float = 1.0
    max_columns: int = 128
    activation_delay_seconds: float = 10.0

    def __post_init__(self) -> None:
        _check_positive("learn", self, self.__struct_fields__)


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of all stages.

    `features` is a tsfresh `fc_parameters` dict, or the name of one that tsfresh brings, such as
    "EfficientFCParameters"; None means the default set. `metric_features` gives single metrics a set of their own,
    tsfresh's `kind_to_fc_parameters`.

    `declare_topics`: whether the workers create the changelog topics of their tables; false on the embedded broker,
    which has no admin API.
    """

    windows: WindowSettings = WindowSettings()
    learn: LearnSettings = LearnSettings()
    features: _FcParameters | None = None
    metric_features: dict[str, _FcParameters] | None = None
    heartbeat_seconds: float = 10.0
    shutdown_seconds: float = 12.0
    declare_topics: bool = True

    def __post_init__(self) -> None:
        _check_positive("worker", self, ("heartbeat_seconds", "shutdown_seconds"))
