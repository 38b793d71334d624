"""Settings of the GPU collectors."""

from typing import Literal

import msgspec

_MIN_INTERVAL_MS, _MAX_INTERVAL_MS = 100, 600_000


class NvmlSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often NVIDIA GPUs are asked.

    `enabled`: "auto" where there are any, "off" never. `interval_ms`: distance of two
    readings of what moves fast. `health_interval_ms`: the same for error counts, limits, links and processes.

    Raises:
        ValueError: a setting can't work.
    """

    enabled: Literal["auto", "off"] = "auto"
    interval_ms: int = 1000
    health_interval_ms: int = 10_000

    def __post_init__(self) -> None:
        for name, value in (("interval_ms", self.interval_ms), ("health_interval_ms", self.health_interval_ms)):
            if not _MIN_INTERVAL_MS <= value <= _MAX_INTERVAL_MS:
                raise ValueError(
                    f"nvml.{name} is {value}; it must lie between {_MIN_INTERVAL_MS} and {_MAX_INTERVAL_MS}"
                )
