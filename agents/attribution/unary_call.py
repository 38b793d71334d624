"""One gRPC call with one request and one answer over a Unix socket.

Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md. The HTTP/2 is h2's: gRPC's own library would
take a quarter of the memory that the whole agent may have (decision 0013).
"""

import socket
import struct
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.exceptions import ProtocolError

from pulsetrain.agents.errors import AgentError

_CHUNK_BYTES = 65536
_PREFIX = struct.Struct(">BI")
"""Of a message: whether it is compressed, and its length."""


class CallError(AgentError):
    """The call brought no answer; the message says why."""


def unary_call(
    path: Path,
    method: str,
    request: bytes,
    deadline_seconds: float,
    max_bytes: int,
    monotonic: Callable[[], float] = time.monotonic,
) -> bytes:
    """The answer of `method` (`/package.Service/Method`) to `request`, both as protobuf bytes.

    Raises:
        CallError: nobody listens, the answer is longer than `max_bytes` or late, or the server refused.
    """
    until = monotonic() + deadline_seconds
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(deadline_seconds)
            connection.connect(str(path))
            exchange = _Exchange(method, request, max_bytes)
            connection.sendall(exchange.to_send())
            while not exchange.ended:
                connection.settimeout(max(until - monotonic(), 0.001))
                received = connection.recv(_CHUNK_BYTES)
                if not received:
                    raise CallError(f"{path}: the server hung up before {method} was answered")
                exchange.receive(received)
                connection.sendall(exchange.to_send())
                if monotonic() > until:
                    raise TimeoutError
            return exchange.answer()
    except TimeoutError as error:
        raise CallError(f"{path}: {method} was not answered within {deadline_seconds:g} s") from error
    except OSError as error:
        raise CallError(f"{path}: {error.strerror or error}") from error
    except ProtocolError as error:
        raise CallError(f"{path}: no HTTP/2 is spoken there ({error})") from error


class _Exchange:
    """One stream of an HTTP/2 connection."""

    def __init__(self, method: str, request: bytes, max_bytes: int) -> None:
        self.ended = False
        self._method = method
        self._max_bytes = max_bytes
        self._body = bytearray()
        self._headers: dict[bytes, bytes] = {}
        self._connection = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        self._connection.initiate_connection()
        self._stream = self._connection.get_next_available_stream_id()
        self._connection.send_headers(
            self._stream,
            [
                (":method", "POST"),
                (":scheme", "http"),
                (":path", method),
                (":authority", "localhost"),
                ("te", "trailers"),
                ("content-type", "application/grpc"),
            ],
        )
        self._connection.send_data(self._stream, _PREFIX.pack(0, len(request)) + request, end_stream=True)

    def to_send(self) -> bytes:
        """What the server has to be sent now."""
        return self._connection.data_to_send()

    def receive(self, received: bytes) -> None:
        """Take in what the server sent."""
        for event in self._connection.receive_data(received):
            self._take(event)

    def answer(self) -> bytes:
        """The message of the answer.

        Raises:
            CallError: the server refused, or the answer isn't one plain message.
        """
        status = self._headers.get(b"grpc-status")
        if status != b"0":
            reason = self._headers.get(b"grpc-message", b"").decode(errors="replace")
            http = self._headers.get(b":status", b"?").decode(errors="replace")
            code = "none" if status is None else status.decode(errors="replace")
            raise CallError(f"{self._method} was refused: gRPC status {code}, HTTP status {http}. {reason}".rstrip())
        if len(self._body) < _PREFIX.size:
            raise CallError(f"{self._method} was answered without a message")
        compressed, length = _PREFIX.unpack_from(self._body)
        if compressed or length != len(self._body) - _PREFIX.size:
            raise CallError(f"{self._method} was answered by something else than one plain message")
        return bytes(self._body[_PREFIX.size :])

    def _take(self, event: Event) -> None:
        if isinstance(event, DataReceived):
            self._body += event.data
            if len(self._body) > self._max_bytes + _PREFIX.size:
                raise CallError(f"the answer of {self._method} has more than {self._max_bytes} bytes")
            self._connection.acknowledge_received_data(event.flow_controlled_length, self._stream)
        elif isinstance(event, ResponseReceived | TrailersReceived):
            self._headers.update(_plain(event.headers))
        elif isinstance(event, StreamEnded):
            self.ended = True
        elif isinstance(event, StreamReset | ConnectionTerminated):
            raise CallError(f"the server broke {self._method} off (HTTP/2 error {event.error_code})")


def _plain(headers: Iterable[tuple[bytes | str, bytes | str]] | None) -> dict[bytes, bytes]:
    """h2 gives bytes, as it was told to; its types allow both."""
    pairs = headers or ()
    return {name: value for name, value in pairs if isinstance(name, bytes) and isinstance(value, bytes)}
