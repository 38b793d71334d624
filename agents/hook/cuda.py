"""Reading from a CUDA device without ever waiting for it.

Values are copied to pinned memory and times are taken by events, both in the order of the device's own work; the
results are looked at when a query says that the device has come so far. Memory is pinned once, when a probe opens or at
the first tensor on a device: pinning may itself wait for the device.
"""

import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pulsetrain.agents.hook.values import OnDevice

_VALUES = 3
"""Of one step: loss, gradient norm, loss scale."""

_SNAPSHOTS = 72
_TIMINGS = 2048
"""How many may be under way; beyond, values are missing. A step has a timing for each bucket of gradients."""

_NS_PER_MS = 1e6


def cuda_in_use() -> Any:
    """The torch module where this process uses CUDA, else None; imports and initialises nothing."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_initialized() else None


@dataclass(slots=True)
class Snapshot:
    """Values on their way from the device: `cells` is pinned, shape (3,), `event` is after the copies."""

    cells: Any
    event: Any
    positions: list[int] = field(default_factory=list)

    def is_ready(self) -> bool:
        """Whether the values have arrived."""
        return bool(self.event.query())

    def values(self) -> dict[int, float]:
        """The values by their positions; only once they have arrived."""
        cells = self.cells.tolist()
        return {position: cells[position] for position in self.positions}


@dataclass(slots=True)
class Timing:
    """A stretch of the device's work, between two events."""

    start: Any
    end: Any

    def is_ready(self) -> bool:
        """Whether the device has passed the end."""
        return bool(self.end.query())


def union_ns(timings: Sequence[Timing]) -> int:
    """The time in which at least one of them ran; only once the device has passed all ends."""
    first = timings[0].start
    spans = sorted((first.elapsed_time(one.start), first.elapsed_time(one.end)) for one in timings)
    total_ms, until_ms = 0.0, spans[0][0]
    for start_ms, end_ms in spans:
        total_ms += max(0.0, end_ms - max(start_ms, until_ms))
        until_ms = max(until_ms, end_ms)
    return int(total_ms * _NS_PER_MS)


class CudaReader:
    """Snapshots and timings of one device; both are used again and again.

    Args:
        torch: the module, with CUDA initialised.
        device: the device's index.
    """

    def __init__(self, torch: Any, device: int) -> None:
        self._torch = torch
        self._device = device
        rows = torch.empty((_SNAPSHOTS, _VALUES), dtype=torch.float32, pin_memory=True).unbind()
        self._snapshots = deque(Snapshot(row, torch.cuda.Event()) for row in rows)
        self._timings: deque[Timing] = deque()
        self._timings_made = 0

    def is_capturing(self) -> bool:
        """Whether a CUDA graph is being captured: then nothing may be asked of the device."""
        return bool(self._torch.cuda.is_current_stream_capturing())

    def snapshot(self, values: dict[int, OnDevice]) -> Snapshot | None:
        """Send values on their way, by position; None where no snapshot is free.

        Raises:
            ValueError: a value is on another device.
        """
        if any(value.tensor.device.index != self._device for value in values.values()):
            raise ValueError(f"a tensor is not on CUDA device {self._device}, as others are")
        if not self._snapshots:
            return None
        snapshot = self._snapshots.popleft()
        snapshot.positions = list(values)
        for position, value in values.items():
            snapshot.cells[position].copy_(value.tensor, non_blocking=True)
        snapshot.event.record(self._torch.cuda.current_stream(self._device))
        return snapshot

    def start(self) -> Timing | None:
        """Begin a timing at this point of the device's work; None while a CUDA graph is being captured.

        Raises:
            RuntimeError: too many are under way.
        """
        if self.is_capturing():
            return None
        timing = self._timings.popleft() if self._timings else self._new_timing()
        timing.start.record(self._torch.cuda.current_stream(self._device))
        return timing

    def stop(self, timing: Timing) -> None:
        """End it at this point."""
        timing.end.record(self._torch.cuda.current_stream(self._device))

    def give_back(self, used: Snapshot | Timing) -> None:
        """Take for use again what is no longer needed, ready or not: what comes later comes after it on the device."""
        if isinstance(used, Snapshot):
            self._snapshots.append(used)
        else:
            self._timings.append(used)

    def _new_timing(self) -> Timing:
        if self._timings_made >= _TIMINGS:
            raise RuntimeError(f"more than {_TIMINGS} timings are under way on the CUDA device")
        self._timings_made += 1
        event = self._torch.cuda.Event
        return Timing(event(enable_timing=True), event(enable_timing=True))


def allocator_retries() -> int | None:
    """Allocations of the current device that failed until cached blocks were freed; None without CUDA."""
    torch = cuda_in_use()
    if torch is None:
        return None
    # The nested form spares the flattening that memory_stats() does on top of it; neither waits for the device.
    return int(torch.cuda.memory_stats_as_nested_dict().get("num_alloc_retries", 0))
