"""Settings of the performance counters."""

from typing import Literal

import msgspec

_MAX_INTERVAL_MS = 600_000


class PerfSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `perf stat` counts, and how often.

    `enabled`: `auto` counts where perf and the permission for it are there, `off` never. `interval_ms`: distance of
    two readings, by default that of what changes slowly; on machines with many logical cores it is a quarter of a
    second for every four of them, if that is longer.

    Raises:
        ValueError: the interval can't work.
    """

    enabled: Literal["auto", "off"] = "auto"
    interval_ms: int | None = None

    def __post_init__(self) -> None:
        if self.interval_ms is not None and not 0 < self.interval_ms <= _MAX_INTERVAL_MS:
            raise ValueError(f"perf.interval_ms is {self.interval_ms}; it must lie between 1 and {_MAX_INTERVAL_MS}")
