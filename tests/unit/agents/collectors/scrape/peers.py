"""Endpoints on this machine that behave in a given way."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Behaviour = Callable[[socket.socket], None]
"""What a peer does with a connection whose request it has read."""

_MAX_REQUEST_BYTES = 64 * 1024
_ACCEPT_SECONDS = 60.0


class Peer:
    """Answers each connection as told; remembers what it was asked."""

    def __init__(self, behave: Behaviour, tls: ssl.SSLContext | None = None, reads_request: bool = True) -> None:
        self.requests: list[str] = []
        self._behave = behave
        self._tls = tls
        self._reads_request = reads_request
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(_ACCEPT_SECONDS)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, scheme: str = "http", path: str = "/metrics") -> str:
        return f"{scheme}://127.0.0.1:{self.port}{path}"

    def close(self) -> None:
        # Closing alone does not wake a thread that waits for a connection.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.settimeout(_ACCEPT_SECONDS)
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            if self._reads_request:
                request = b""
                while b"\r\n\r\n" not in request and len(request) < _MAX_REQUEST_BYTES:
                    received = connection.recv(4096)
                    if not received:
                        return
                    request += received
                self.requests.append(request.decode())
            self._behave(connection)
            connection.close()


@contextmanager
def serving(behave: Behaviour, tls: ssl.SSLContext | None = None, reads_request: bool = True) -> Iterator[Peer]:
    """A peer for the length of a test."""
    peer = Peer(behave, tls, reads_request)
    try:
        yield peer
    finally:
        peer.close()


def answering(body: bytes, *headers: str, status: str = "200 OK", with_length: bool = True) -> Behaviour:
    """Sends a whole answer."""
    lines = [f"HTTP/1.1 {status}", *headers]
    if with_length:
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join([*lines, "", ""]).encode()
    return lambda connection: connection.sendall(head + body)


def dripping(head: bytes, drop: bytes, stop: threading.Event, every_seconds: float = 0.02) -> Behaviour:
    """Sends `head` and then a little now and then, for ever."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(head)
        while not stop.wait(every_seconds):
            connection.sendall(drop)

    return behave


def endless(head: bytes, part: bytes) -> Behaviour:
    """Sends `head` and then as much as is taken."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(part)

    return behave
