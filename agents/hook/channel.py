"""The way to the agent: a Unix datagram socket that never blocks. Who listens or not is no concern of training."""

import socket
from collections.abc import Sequence
from contextlib import suppress

_FIRST_PAUSE_NS = 1_000_000_000
_LONGEST_PAUSE_NS = 30_000_000_000


class Channel:
    """Sends datagrams to the first of some paths at which somebody listens.

    When nobody does, it looks again after a second, then after twice as long each time, at most every 30 s. No method
    raises.

    Args:
        paths: where to look, in this order.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = tuple(paths)
        self._socket: socket.socket | None = None
        self._pause_ns = _FIRST_PAUSE_NS
        self._look_again_ns: int | None = None

    def is_open(self, now_ns: int) -> bool:
        """Whether somebody listens, as far as is known; looks for a listener when it is time to.

        Args:
            now_ns: a monotonic clock.
        """
        if self._socket is not None:
            return True
        if self._look_again_ns is not None and now_ns < self._look_again_ns:
            return False
        self._connect()
        if self._socket is None:
            self._look_again_ns = now_ns + self._pause_ns
            self._pause_ns = min(2 * self._pause_ns, _LONGEST_PAUSE_NS)
            return False
        self._pause_ns, self._look_again_ns = _FIRST_PAUSE_NS, None
        return True

    def send(self, message: bytes) -> bool:
        """Whether the kernel took the datagram; it does not when the listener's queue is full or it has gone."""
        sent = self._try_to_send(message)
        if not sent and self._socket is None:
            # A listener that was started anew has another socket under the same path.
            self._connect()
            sent = self._try_to_send(message)
        return sent

    def close(self) -> None:
        """Close the socket; the next `is_open` looks for a listener again."""
        connected, self._socket = self._socket, None
        if connected is not None:
            # The program may have closed all descriptors that it does not know, as one that becomes a daemon does.
            with suppress(OSError):
                connected.close()

    def _try_to_send(self, message: bytes) -> bool:
        if self._socket is None:
            return False
        try:
            self._socket.send(message, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            self.close()
            return False
        return True

    def _connect(self) -> None:
        for path in self._paths:
            try:
                connected = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            except OSError:
                return
            try:
                connected.setblocking(False)
                connected.connect(path)
            except (OSError, ValueError):
                connected.close()
            else:
                self._socket = connected
                return
