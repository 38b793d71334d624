"""One GET of an exposition, within limits of time and size whatever the other side does."""

import http.client
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pulsetrain.agents.collectors.scrape.settings import ScrapeTarget
from pulsetrain.agents.errors import CollectError

MAX_BODY_BYTES = 32 * 1024 * 1024
"""Before and after decompression: some 60,000 long lines; nothing of it is kept but the line that is being read."""

_CHUNK_BYTES = 64 * 1024
_MAX_LINE_BYTES = 64 * 1024
"""Of a longer line that is still to come the rest is thrown away; what is left is too long for any reader."""

_MAX_TOKEN_BYTES = 64 * 1024
_GZIP_WINDOW_BITS = 31
_PORTS = {"http": 80, "https": 443}
_OK = 200
_REDIRECTS = range(300, 400)
_HEADERS = {
    "Accept": "application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
    "Accept-Encoding": "gzip",
    "Connection": "close",
    "User-Agent": "pulsetrain-agent",
}


@dataclass(frozen=True, slots=True)
class Exposition:
    """An answer: its lines without their ends, to be read once, and whether it is OpenMetrics or the older text."""

    lines: Iterator[bytes]
    is_openmetrics: bool


class HttpSource:
    """The endpoint of a target. Each scrape has a connection of its own, and follows no redirection.

    Args:
        target: where, and how long at most.
        monotonic: seconds that only grow.
    """

    def __init__(self, target: ScrapeTarget, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._target = target
        self._monotonic = monotonic
        self._open: socket.socket | None = None
        self._is_closed = False

    @contextmanager
    def scrape(self) -> Iterator[Exposition]:
        """The exposition as it is now. The time runs until the block is left.

        Raises:
            CollectError: there is none, it is too large, or it took too long; also from `lines`.
        """
        deadline = self._monotonic() + self._target.timeout_seconds
        try:
            with self._connected(deadline) as connection, closing(self._response(connection)) as response:
                self._check_status(response)
                yield _exposition(response)
                # A connection that was shut down looks like one that has come to its end.
                if self._is_closed or self._monotonic() >= deadline:
                    raise TimeoutError
        except (OSError, http.client.HTTPException, zlib.error, UnicodeError) as error:
            raise CollectError(self._sentence(error, self._monotonic() >= deadline)) from error

    def close(self) -> None:
        """End what is going on; its thread gets an error."""
        self._is_closed = True
        _shut(self._open)

    @contextmanager
    def _connected(self, deadline: float) -> Iterator[http.client.HTTPConnection]:
        """A connection that is shut down at the deadline: a peer that sends a byte now and then passes no time-out."""
        address = self._target.address
        host, port = address.hostname or "", address.port or _PORTS[address.scheme]
        plain = socket.create_connection((host, port), timeout=self._target.timeout_seconds)
        # A second descriptor of the same connection, which stays valid while TLS takes the first one over.
        handle = plain.dup()
        timer = threading.Timer(max(0.0, deadline - self._monotonic()), _shut, (handle,))
        timer.daemon = True
        connection = http.client.HTTPConnection(host, port)
        connection.sock = plain
        try:
            self._open = handle
            if self._is_closed:
                raise CollectError(f"{self._target.url} is no longer scraped")
            timer.start()
            if address.scheme == "https":
                connection.sock = self._encrypted(plain, host)
            yield connection
        finally:
            self._open = None
            timer.cancel()
            connection.close()
            plain.close()
            handle.close()

    def _encrypted(self, plain: socket.socket, host: str) -> socket.socket:
        import ssl  # only targets that need it pay for it

        try:
            context = ssl.create_default_context(cafile=self._target.ca_file)
        except OSError as error:
            raise CollectError(f"{self._target.ca_file}: the certificates can't be read: {error}") from error
        return context.wrap_socket(plain, server_hostname=host)

    def _response(self, connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
        address = self._target.address
        path = (address.path or "/") + (f"?{address.query}" if address.query else "")
        connection.request("GET", path, headers=_HEADERS | self._authorization())
        return connection.getresponse()

    def _check_status(self, response: http.client.HTTPResponse) -> None:
        if response.status in _REDIRECTS:
            raise CollectError(f"{self._target.url} leads elsewhere ({response.status}): name the final address")
        if response.status != _OK:
            raise CollectError(f"{self._target.url} answered {response.status} {response.reason[:100]}")

    def _authorization(self) -> dict[str, str]:
        path = self._target.bearer_token_file
        if path is None:
            return {}
        try:
            with Path(path).open("rb") as file:
                token = file.read(_MAX_TOKEN_BYTES).decode("ascii").strip()
        except (OSError, ValueError) as error:
            raise CollectError(f"{path}: the bearer token can't be read: {type(error).__name__}") from error
        if not token.isprintable() or " " in token:
            raise CollectError(f"{path}: this is no bearer token")
        return {"Authorization": f"Bearer {token}"}

    def _sentence(self, error: Exception, is_late: bool) -> str:
        url, seconds = self._target.url, self._target.timeout_seconds
        if is_late or isinstance(error, TimeoutError):
            return f"{url} did not answer wholly within {seconds:g} s"
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return f"{url} can't be scraped: {reason}"


def _exposition(response: http.client.HTTPResponse) -> Exposition:
    media_type = response.headers.get_content_type()
    return Exposition(_lines(_decoded(response)), media_type == "application/openmetrics-text")


def _decoded(response: http.client.HTTPResponse) -> Iterator[bytes]:
    encoding = (response.headers.get("Content-Encoding") or "identity").strip().lower()
    if encoding == "identity":
        yield from _limited(_chunks(response))
    elif encoding == "gzip":
        yield from _limited(_unzipped(_limited(_chunks(response))))
    else:
        raise CollectError(f"the exposition is encoded as {encoding[:40]!r}, which was not asked for")


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while chunk := response.read1(_CHUNK_BYTES):
        yield chunk
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)


def _limited(chunks: Iterator[bytes]) -> Iterator[bytes]:
    left = MAX_BODY_BYTES
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            raise CollectError(f"the exposition has more than {MAX_BODY_BYTES} bytes")
        yield chunk


def _unzipped(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Never more than a chunk at a time, however much a few bytes would become."""
    unzip = zlib.decompressobj(_GZIP_WINDOW_BITS)
    for chunk in chunks:
        if unzip.eof:
            raise CollectError("the exposition has bytes after its compressed end")
        yield unzip.decompress(chunk, _CHUNK_BYTES)
        while unzip.unconsumed_tail:
            yield unzip.decompress(unzip.unconsumed_tail, _CHUNK_BYTES)
        if unzip.unused_data:
            raise CollectError("the exposition has bytes after its compressed end")
    yield from iter(lambda: unzip.decompress(b"", _CHUNK_BYTES), b"")
    if not unzip.eof:
        raise CollectError("the compressed exposition ends too early")


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
        rest = rest[:_MAX_LINE_BYTES]
    if rest:
        yield rest


def _shut(connection: socket.socket | None) -> None:
    if connection is not None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
