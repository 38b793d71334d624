"""Receives datagrams as they come: for a late reader the kernel keeps ten of them only (net.unix.max_dgram_qlen)."""

import logging
import socket
import struct
import threading
from collections import deque
from pathlib import Path
from typing import NamedTuple

from pulsetrain.agents.collectors.training.socket_file import SocketFile
from pulsetrain.agents.hook.message import MAX_MESSAGE_BYTES

_LOG = logging.getLogger(__name__)

MAX_HELD_BYTES = 2 * 1024 * 1024
"""When so much waits to be taken, nothing more is received: senders see a full queue, and count what they drop."""

_OVERHEAD_BYTES = 200
"""Of a datagram that is held, beside its content."""

_CLOSE_SECONDS = 1.0

_CREDENTIALS = struct.Struct("3i")
"""Process, user, group: struct ucred of unix(7)."""


class Datagram(NamedTuple):
    """What one process sent; `pid` is 0 where the kernel can't tell it. `is_cut` if it was longer than allowed."""

    pid: int
    content: bytes
    is_cut: bool


class Listener:
    """A thread that receives at a socket.

    Raises:
        CollectError: the path can't be used, or another agent listens there.
        RuntimeError: the system has no thread for it now.
    """

    def __init__(self, path: Path) -> None:
        self._file = SocketFile(path)
        self._held: deque[Datagram] = deque()
        self._held_bytes = 0
        self._lock = threading.Lock()
        self._has_room = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hook listener", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._file.close()
            raise

    def is_alive(self) -> bool:
        """Whether it still listens at its path."""
        return self._thread.is_alive() and self._file.is_there()

    def take(self) -> list[Datagram]:
        """What has come since the last time, in that order."""
        with self._lock:
            taken = list(self._held)
            self._held.clear()
            self._held_bytes = 0
        self._has_room.set()
        return taken

    def close(self) -> None:
        """End the thread, and remove the socket."""
        self._stop.set()
        self._has_room.set()
        self._file.stop_receiving()
        self._thread.join(_CLOSE_SECONDS)
        self._file.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            if self._held_bytes >= MAX_HELD_BYTES:
                self._has_room.clear()
                # It may have been taken between the two lines above.
                if self._held_bytes >= MAX_HELD_BYTES:
                    self._has_room.wait()
                continue
            try:
                datagram = self._receive()
            except OSError as error:
                _LOG.warning("Training hooks can't be heard any more: %s.", error)
                return
            if self._stop.is_set():
                return
            with self._lock:
                self._held.append(datagram)
                self._held_bytes += len(datagram.content) + _OVERHEAD_BYTES

    def _receive(self) -> Datagram:
        # There is room for credentials only: the kernel itself closes file descriptors, which anybody may send.
        content, ancillary, flags, _ = self._file.socket.recvmsg(
            MAX_MESSAGE_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size)
        )
        pid = 0
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS) and len(data) == _CREDENTIALS.size:
                pid = max(0, _CREDENTIALS.unpack(data)[0])
        return Datagram(pid, content, bool(flags & socket.MSG_TRUNC))
