"""What stands in for a collector that could not be made, so that the others go on and the reason is told."""

from typing import NoReturn

from pulsetrain.agents.collectors.base import HOST
from pulsetrain.agents.errors import CollectError, failure_of


class UnmadeCollector:
    """Never has anything to read; may be registered at ticks and in the background.

    Args:
        name: under which it is told.
        error: why the collector could not be made.
    """

    def __init__(self, name: str, error: Exception) -> None:
        self.name = name
        self.entity = HOST
        self.source = "nothing"
        self.interval_ms = 1000
        self.deadline_seconds = 1.0
        self.metric_names: tuple[str, ...] = ()
        self._reason = f"it could not be made: {failure_of(error)}"

    def metrics(self) -> tuple[str, ...]:
        """None."""
        return ()

    def close(self) -> None:
        """Nothing is open."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise CollectError(self._reason)

    is_supported = read = decode = collect = _refuse
