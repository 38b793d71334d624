"""Xid events from NVML and from the kernel's log, each counted and told once."""

import math
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from pulsetrain.agents.collectors.base import Notice
from pulsetrain.agents.collectors.nvml.identity import Gpu, PciAddress, pci_address
from pulsetrain.agents.collectors.nvml.kernel_log import KernelXid
from pulsetrain.agents.collectors.nvml.reading import Reading
from pulsetrain.agents.collectors.nvml.xid_codes import meaning, severity
from pulsetrain.schemas.catalogue import metric_id
from pulsetrain.schemas.status import StatusEvent

_SAME_SECONDS = 10.0
"""How far apart the two sources tell of the same event; where they are asked less often, from one time to the next."""

_REPEAT_SECONDS = 30.0
"""After so long the same code of the same GPU is told again: some faults bring one each second."""

_MAX_PENDING = 1024
_MAX_CODES = 64
_MAX_DETAIL_CHARACTERS = 200

XID_METRICS = ("hw.errors", "hw.gpu.last_xid")
_ALL = metric_id("hw.errors", **{"hw.type": "gpu", "error.type": "xid"})
_LAST = XID_METRICS[1]


class XidSource(Enum):
    """Who tells of an event."""

    NVML = "NVML"
    KERNEL_LOG = "the kernel log"


Who = str | PciAddress
"""A GPU's UUID, or the address of one that is not known."""


@dataclass(slots=True)
class _Told:
    """Events of one GPU and code since the last notice."""

    events: int = 0
    detail: str = ""
    pid: int | None = None
    source: XidSource = XidSource.NVML


@dataclass(slots=True)
class _Record:
    """`events`: in all; `counts`: of each of the first codes."""

    last: int | None = None
    events: int = 0
    counts: Counter[int] = field(default_factory=Counter)


class Xids:
    """Joins the two sources. Used by one thread.

    Each event of one source is taken for the same as at most one of the other, so that repeats of a code count.

    Args:
        monotonic: seconds that only grow.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._unmatched: dict[tuple[Who, int], deque[tuple[float, XidSource]]] = defaultdict(deque)
        self._records: dict[Who, _Record] = defaultdict(_Record)
        self._to_tell: dict[tuple[Who, int], _Told] = {}
        self._told_at: dict[tuple[Who, int], float] = {}
        self._taken_at = deque((-math.inf, -math.inf), maxlen=2)

    def was_there(self, xid: KernelXid, gpus: Mapping[str, Gpu]) -> None:
        """The kernel's log had it before the agent started: a state."""
        self._records[_who(xid.address, gpus)].last = xid.code

    def in_kernel_log(self, xid: KernelXid, gpus: Mapping[str, Gpu]) -> None:
        """A new line of the kernel's log."""
        self._add(_who(xid.address, gpus), xid.code, XidSource.KERNEL_LOG, xid.detail, xid.pid)

    def from_nvml(self, uuid: str, code: int) -> None:
        """An event that NVML brought."""
        self._add(uuid, code, XidSource.NVML)

    def read_into(self, reading: Reading, gpu: Gpu) -> None:
        """Add how many events a GPU has had since the agent started, in all and by code, and the last code."""
        record = self._records[gpu.uuid]
        address = pci_address(gpu.bus_id)
        if address in self._records:
            # The log told of it before NVML did.
            earlier = self._records.pop(address)
            record.counts.update(earlier.counts)
            record.events += earlier.events
            record.last = earlier.last if record.last is None else record.last
        reading.add(_ALL, record.events, 1.0)
        for code, events in record.counts.items():
            reading.add(metric_id("hw.errors", **{"hw.type": "gpu", "error.type": f"xid_{code}"}), events, 1.0)
        if record.last is None:
            reading.miss((_LAST,), "none_seen")
        else:
            reading.add(_LAST, record.last, 1.0)

    def take(self, gpus: Mapping[str, Gpu]) -> list[Notice]:
        """One notice for each GPU and code with events that were not told, once in `_REPEAT_SECONDS`."""
        now = self._monotonic()
        self._told_at = {key: at for key, at in self._told_at.items() if now - at < _REPEAT_SECONDS}
        told = {key: self._to_tell.pop(key) for key in list(self._to_tell) if key not in self._told_at}
        self._told_at.update(dict.fromkeys(told, now))
        self._forget_old()
        self._taken_at.append(now)
        return [_notice(who, code, events, gpus) for (who, code), events in told.items()]

    def _add(self, who: Who, code: int, source: XidSource, detail: str = "", pid: int | None = None) -> None:
        key, oldest = (who, code), self._oldest()
        unmatched = self._unmatched[key]
        while unmatched and unmatched[0][0] <= oldest:
            unmatched.popleft()
        if unmatched and unmatched[0][1] is not source:
            unmatched.popleft()
            return
        if len(unmatched) < _MAX_PENDING:
            unmatched.append((self._monotonic(), source))
        record = self._records[who]
        record.last = code
        record.events += 1
        if code in record.counts or len(record.counts) < _MAX_CODES:
            record.counts[code] += 1
        told = self._to_tell.setdefault(key, _Told(source=source))
        told.events += 1
        told.detail, told.pid = detail or told.detail, pid or told.pid

    def _oldest(self) -> float:
        return min(self._monotonic() - _SAME_SECONDS, self._taken_at[0])

    def _forget_old(self) -> None:
        oldest = self._oldest()
        for key in [key for key, events in self._unmatched.items() if not events or events[-1][0] <= oldest]:
            del self._unmatched[key]


def _who(address: PciAddress, gpus: Mapping[str, Gpu]) -> Who:
    return next((uuid for uuid, gpu in gpus.items() if pci_address(gpu.bus_id) == address), address)


def _notice(who: Who, code: int, told: _Told, gpus: Mapping[str, Gpu]) -> Notice:
    gpu = gpus.get(who) if isinstance(who, str) else None
    name = gpu.described() if gpu else who if isinstance(who, str) else "GPU at bus {:04x}:{:02x}:{:02x}".format(*who)
    what = f"Xid {code}" + (f" ({meaning(code)})" if meaning(code) else "")
    times = f", {told.events} times" if told.events > 1 else ""
    return Notice(
        StatusEvent.GPU_XID,
        severity(code),
        f"{name}: {what}{times}, says {told.source.value}.",
        f"gpu:{who}" if isinstance(who, str) else None,
        {
            "xid": code,
            "events": told.events,
            "pid": told.pid,
            "detail": told.detail[:_MAX_DETAIL_CHARACTERS],
            "bus_id": gpu.bus_id if gpu else None,
        },
    )
