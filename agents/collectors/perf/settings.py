"""Settings of the performance counters."""

import re
from typing import Literal

import msgspec

_MAX_INTERVAL_MS = 600_000
_MAX_EVENTS = 16
_EVENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:\-]{0,127}|[A-Za-z0-9_]+/[A-Za-z0-9_.=,\-]{1,127}/")


class PerfSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `perf stat` counts, and how often.

    `enabled`: `auto` counts where perf and the permission for it are there, `off` never. `interval_ms`: distance of
    two readings; on machines with more than 16 logical cores it is a quarter of a second for every four of them, if
    that is longer. `events`: what else to count, in perf's own words (`context-switches`,
    `cpu/event=0xc0,umask=0x1,name=x/`).

    Raises:
        ValueError: a setting can't work.
    """

    enabled: Literal["auto", "off"] = "auto"
    interval_ms: int = 1000
    events: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.interval_ms <= _MAX_INTERVAL_MS:
            raise ValueError(f"perf.interval_ms is {self.interval_ms}; it must lie between 1 and {_MAX_INTERVAL_MS}")
        if len(self.events) > _MAX_EVENTS:
            raise ValueError(f"perf.events has {len(self.events)} entries; at most {_MAX_EVENTS} are allowed")
        for event in self.events:
            if not _EVENT.fullmatch(event):
                raise ValueError(f"perf.events: {event!r} is no single event, such as 'context-switches'")
