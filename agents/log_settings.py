"""Settings of the agent's log."""

import msgspec


class LogSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the agent logs: `file`, empty for standard error.

    A file that has `megabytes` is put aside, compressed, and deleted after `days`.

    Raises:
        ValueError: a setting can't work.
    """

    file: str = ""
    megabytes: float = 100.0
    days: float = 7.0

    def __post_init__(self) -> None:
        if "\0" in self.file:
            raise ValueError("agent.log.file has a character 0: name a file")
        for name, smallest, largest in (("megabytes", 0.1, 10_000.0), ("days", 0.01, 3660.0)):
            value = getattr(self, name)
            if not smallest <= value <= largest:
                raise ValueError(f"agent.log.{name} is {value:g}; it must lie between {smallest:g} and {largest:g}")
