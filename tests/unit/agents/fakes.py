"""A collector that says what the test wants."""

from collections.abc import Sequence

from pulsetrain.agents.collectors.base import Support
from pulsetrain.agents.errors import CollectError


class ScriptedCollector:
    """Gives its readings one after another; an exception among them is raised."""

    def __init__(self, name: str, metrics: Sequence[str], entity: str = "host") -> None:
        self.name = name
        self.entity = entity
        self.source = f"/proc/{name}"
        self.failure: Exception | None = None
        self.value = 1.0
        self.closed = False
        self._metrics = tuple(metrics)

    def is_supported(self) -> Support:
        return Support(True)

    def metrics(self) -> tuple[str, ...]:
        return self._metrics

    def read(self) -> float:
        if self.failure is not None:
            raise self.failure
        return self.value

    def decode(self, readings: Sequence[float]) -> list[list[float]]:
        if min(readings) < 0:
            raise CollectError("a negative reading")
        return [[reading] * len(self._metrics) for reading in readings]

    def close(self) -> None:
        self.closed = True
