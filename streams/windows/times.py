"""The window rules' durations in integer nanoseconds."""

from dataclasses import dataclass

from pulsetrain.streams.settings import NS, WindowSettings


@dataclass(frozen=True, slots=True)
class WindowTimes:
    """`WindowSettings` as integers: floats can't tell neighbouring nanoseconds of this century apart."""

    length_ns: int
    hop_ns: int
    lateness_ns: int
    idle_timeout_ns: int
    hold_limit_ns: int
    future_limit_ns: int
    tolerance_ns: int

    @classmethod
    def of(cls, settings: WindowSettings) -> "WindowTimes":
        """Round each duration to a nanosecond."""
        return cls(
            length_ns=round(settings.length_seconds * NS),
            hop_ns=round(settings.hop_seconds * NS),
            lateness_ns=round(settings.allowed_lateness_seconds * NS),
            idle_timeout_ns=round(settings.idle_timeout_seconds * NS),
            hold_limit_ns=round(settings.hold_limit_seconds * NS),
            future_limit_ns=round(settings.future_limit_seconds * NS),
            tolerance_ns=round(settings.grid_tolerance_ms * 1_000_000),
        )

    def first_start(self, tick_ns: int) -> int:
        """The first window start at or after a tick; windows are aligned to the Unix epoch."""
        return -(-tick_ns // self.hop_ns) * self.hop_ns
