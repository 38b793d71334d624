"""The code of a GPU's last Xid event, as DCGM tells it: it stays until the next one and counts nothing.

So only a change is an event; a second event of the same code can't be seen here. 0 after an exporter's restart says
that it has seen none since, not that the GPU has recovered.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pulsetrain.agents.collectors.base import Notice
from pulsetrain.agents.collectors.nvml.xid_codes import meaning, severity
from pulsetrain.schemas.status import StatusEvent

_MAX_GPUS = 1024
_MAX_CODE = 10_000


@dataclass(slots=True)
class _Gpu:
    """`told` is what the exporter said last, `code` the last event's code, None if there was none."""

    told: int
    code: int | None
    was_there_at_start: bool


class LastXid:
    """Remembers the code of each GPU.

    Args:
        source: who tells it, for a sentence.
        collector: the collector's name.
    """

    def __init__(self, source: str, collector: str) -> None:
        self._source = source
        self._collector = collector
        self._gpus: dict[str, _Gpu] = {}

    def take(self, entity: str, value: float) -> list[Notice]:
        """The notice of an event that was not there before, if there is one; it is not said again.

        Args:
            entity: the GPU, without the node.
            value: what the exporter tells; no code at all is nothing new.
        """
        if not 0 <= value <= _MAX_CODE or value != int(value):
            return []
        told = int(value)
        gpu = self._gpus.get(entity)
        if gpu is None:
            if len(self._gpus) >= _MAX_GPUS:
                del self._gpus[next(iter(self._gpus))]
            self._gpus[entity] = _Gpu(told, told or None, was_there_at_start=told > 0)
            return []
        is_new = told not in (0, gpu.told)
        gpu.told = told
        if not is_new:
            return []
        gpu.code, gpu.was_there_at_start = told, False
        what = f"Xid {told}" + (f" ({meaning(told)})" if meaning(told) else "")
        notice = Notice(
            StatusEvent.GPU_XID,
            severity(told),
            f"{entity}: {what}, says {self._source}.",
            entity,
            {"xid": told, "collector": self._collector},
        )
        return [notice]

    def labels(self) -> dict[str, Mapping[str, str]]:
        """By entity the last code, and whether it was there when the agent first looked: nobody knows since when."""
        return {
            entity: {
                "hw.gpu.last_xid": str(gpu.code),
                "hw.gpu.last_xid.seen": "at start" if gpu.was_there_at_start else "since start",
            }
            for entity, gpu in self._gpus.items()
            if gpu.code is not None
        }
