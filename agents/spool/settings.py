"""Settings of the spool."""

import msgspec

_SMALLEST_MEBIBYTES = 4.0
"""A few segments, of which the oldest can be dropped."""


class SpoolSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where messages wait while Kafka can't take them: `folder`, its own for each agent; empty for in memory only.

    Beyond `mebibytes`, or older than `hours`, the oldest is dropped.

    Raises:
        ValueError: a setting can't work.
    """

    folder: str = ""
    mebibytes: float = 256.0
    hours: float = 24.0

    def __post_init__(self) -> None:
        if "\0" in self.folder:
            raise ValueError("agent.spool.folder has a character 0: name a folder")
        for name, smallest, largest in (("mebibytes", _SMALLEST_MEBIBYTES, 1024.0 * 1024), ("hours", 0.01, 24.0 * 366)):
            value = getattr(self, name)
            if not smallest <= value <= largest:
                raise ValueError(f"agent.spool.{name} is {value:g}; it must lie between {smallest:g} and {largest:g}")
