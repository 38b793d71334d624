"""Which GPUs this node has, remembered: one that is lost is an event, once, and so is its return."""

import time
from collections.abc import Callable, Collection, Mapping

from pulsetrain.agents.collectors.base import Notice
from pulsetrain.agents.collectors.nvml.identity import Gpu
from pulsetrain.agents.collectors.nvml.library import LOST
from pulsetrain.schemas.status import Severity, StatusEvent

_SILENT_SECONDS = 30.0
"""A GPU that says nothing for so long while others answer is lost, whatever the driver calls it."""


class Inventory:
    """GPUs by UUID since the collector was made. Nothing is ever forgotten: what is missing is what matters.

    Args:
        monotonic: seconds that only grow.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._known: dict[str, Gpu] = {}
        self._lost: set[str] = set()
        self._silent_since: dict[str, float] = {}
        self._unreadable_since: dict[int, float] = {}
        self._nameless: set[int] = set()

    @property
    def known(self) -> Mapping[str, Gpu]:
        """All GPUs that were ever seen, lost ones included."""
        return self._known

    @property
    def lost(self) -> Collection[str]:
        """UUIDs of those that are lost now."""
        return self._lost

    def saw(self, gpus: Collection[Gpu], unreadable: Mapping[int, int]) -> list[Notice]:
        """What the driver shows now. A lost GPU that is shown again has returned only when it has answered.

        Args:
            gpus: those that say who they are.
            unreadable: NVML's error code by index, of those that don't.
        """
        shown = {gpu.uuid for gpu in gpus}
        self._known.update((gpu.uuid, gpu) for gpu in gpus)
        notices: list[Notice | None] = []
        # An index that fails for another reason may be anybody's: those who are missing keep their old handle.
        if all(code in LOST for code in unreadable.values()):
            notices += [self.lose(uuid, "the driver does not show it") for uuid in self._known if uuid not in shown]
        now = self._monotonic()
        self._unreadable_since = {index: self._unreadable_since.get(index, now) for index in unreadable}
        if len(self._known) - len(shown) < len(unreadable):
            notices += [
                self._nameless_lost(index)
                for index, code in unreadable.items()
                if code in LOST or now - self._unreadable_since[index] >= _SILENT_SECONDS
            ]
        return [notice for notice in notices if notice is not None]

    def lose(self, uuid: str, why: str) -> Notice | None:
        """A GPU is gone; None if that has been said."""
        if uuid in self._lost:
            return None
        self._lost.add(uuid)
        gpu = self._known[uuid]
        return Notice(
            StatusEvent.GPU_LOST,
            Severity.ERROR,
            f"{gpu.described()} is lost: {why}. Its jobs fail or hang; drain the node, and reset the GPU or restart.",
            gpu.entity,
            _details(gpu),
        )

    def silent(self, uuid: str, why: str) -> Notice | None:
        """A GPU said nothing while others answered; None unless that has lasted too long and has not been said."""
        now = self._monotonic()
        if now - self._silent_since.setdefault(uuid, now) < _SILENT_SECONDS:
            return None
        return self.lose(uuid, f"silent for {_SILENT_SECONDS:.0f} s ({why})")

    def answered(self, uuid: str) -> Notice | None:
        """A GPU has said something; None unless it was lost."""
        self._silent_since.pop(uuid, None)
        if uuid not in self._lost:
            return None
        self._lost.discard(uuid)
        gpu = self._known[uuid]
        return Notice(
            StatusEvent.GPU_RETURNED, Severity.INFO, f"{gpu.described()} answers again.", gpu.entity, _details(gpu)
        )

    def _nameless_lost(self, index: int) -> Notice | None:
        if index in self._nameless:
            return None
        self._nameless.add(index)
        return Notice(
            StatusEvent.GPU_LOST,
            Severity.ERROR,
            f"The GPU at index {index} is lost since before the agent started, so its UUID is not known. "
            "Drain the node, and reset the GPU or restart.",
            details={"index": index},
        )


def _details(gpu: Gpu) -> dict[str, str | int | float | None]:
    return {"uuid": gpu.uuid, "index": gpu.index, "name": gpu.name, "serial": gpu.serial, "bus_id": gpu.bus_id}
