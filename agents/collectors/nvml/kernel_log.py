"""Xid events in the kernel's log: told even where NVML can't be asked any more.

The driver writes `NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.`; a record of
/dev/kmsg is `<priority>,<sequence>,<microseconds since boot>,<flags>;<text>` and a line feed
(https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg).
"""

import errno
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pulsetrain.agents.collectors.base import Support
from pulsetrain.agents.collectors.nvml.identity import PciAddress, pci_address

logger = logging.getLogger(__name__)

KERNEL_LOG = Path("/dev/kmsg")

_RECORD_BYTES = 16384
"""The kernel refuses to read a record into less than it has, 8 KiB at most with its dictionary."""

_MAX_RECORDS = 4096
"""Of one reading; a log that grows faster is read on at the next."""

_HEADER = re.compile(rb"\d{1,10},\d{1,20},[^;]{0,200};")
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]{5,20})(?: [^)]{0,40})?\): (\d{1,5})(?:,\s*(.{0,300}))?")
_PID = re.compile(r"pid='?(\d{1,10})")


@dataclass(frozen=True, slots=True)
class KernelXid:
    """One line about an Xid. `detail` is the rest of it, for people."""

    address: PciAddress
    code: int
    pid: int | None
    detail: str


def xid_in(record: bytes) -> KernelXid | None:
    """The Xid that a record of /dev/kmsg tells of; None in any other.

    Lines that root wrote into the log count as well: that is how operators try out what happens.
    """
    header = _HEADER.match(record[:_RECORD_BYTES])
    if header is None:
        return None
    line = record[header.end() :].partition(b"\n")[0].decode("utf-8", "replace")
    found = _XID.search(line)
    address = pci_address(found[1]) if found else None
    if found is None or address is None:
        return None
    detail = (found[3] or "").strip()
    pid = _PID.search(detail)
    return KernelXid(address, int(found[2]), int(pid[1]) if pid else None, detail)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


class KernelLog:
    """Reads the log as it grows. What it held before the first reading is the past: a state, and no event.

    Closed, it goes on where it was when it is read again: each Xid is read once, by the number of its record.

    Args:
        path: the log.
        open_log: opens it without blocking; each read brings one record.
    """

    def __init__(self, path: Path = KERNEL_LOG, open_log: Callable[[Path], int] = _open) -> None:
        self.path = path
        self._open_log = open_log
        self._descriptor: int | None = None
        self._in_past = True
        self._last_xid = self._known_until = -1
        self._has_overrun = False

    def is_supported(self) -> Support:
        """Open the log."""
        try:
            self._opened()
        except OSError as error:
            return Support(False, f"{self.path}: {error.strerror}")
        return Support(True)

    def read(self) -> tuple[list[KernelXid], list[KernelXid]]:
        """The Xids of the past, and those that are new; both in order. Nothing where the log can't be read."""
        past: list[KernelXid] = []
        new: list[KernelXid] = []
        for _ in range(_MAX_RECORDS):
            record = self._record()
            if record is None:
                break
            xid = xid_in(record)
            if xid is not None and self._is_unread(record):
                (past if self._in_past else new).append(xid)
        return past, new

    def close(self) -> None:
        """Close the log."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _opened(self) -> int:
        if self._descriptor is None:
            self._descriptor = self._open_log(self.path)
            self._known_until = self._last_xid
        return self._descriptor

    def _is_unread(self, record: bytes) -> bool:
        sequence = int(record.split(b",", 2)[1])
        if sequence <= self._known_until:
            return False
        self._last_xid = sequence
        return True

    def _record(self) -> bytes | None:
        try:
            record = os.read(self._opened(), _RECORD_BYTES)
        except BlockingIOError:
            self._in_past = False
            return None
        except OSError as error:
            if error.errno == errno.EPIPE:
                # Records were overwritten before they were read; the next read goes on with the oldest there is.
                if not self._has_overrun:
                    logger.warning("%s grows faster than it is read: an Xid in it may be told by NVML only", self.path)
                self._has_overrun = True
                return b""
            self.close()
            return None
        return record or None
