"""One GET: whatever the other side does, it ends within its time and size, with a sentence."""

import gzip
import shutil
import socket
import ssl
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pulsetrain.agents.collectors.scrape import ScrapeTarget, http_source
from pulsetrain.agents.collectors.scrape.http_source import HttpSource
from pulsetrain.agents.errors import CollectError
from tests.unit.agents.collectors.scrape.peers import answering, dripping, endless, serving

BODY = b"# TYPE a gauge\na 1\nb 2\n"
LINES = [b"# TYPE a gauge", b"a 1", b"b 2"]
SHORT_SECONDS = 0.5
GENEROUS_SECONDS = 30.0
"""Longer than any scrape with a short limit can take, even on a machine that is busy with other things."""


def source(url: str, **settings: Any) -> HttpSource:
    return HttpSource(ScrapeTarget(name="t", url=url, **{"timeout_seconds": 20.0} | settings))


def lines(scraped: HttpSource) -> list[bytes]:
    with scraped.scrape() as exposition:
        return list(exposition.lines)


def failure(scraped: HttpSource) -> str:
    begin = time.monotonic()
    with pytest.raises(CollectError) as caught:
        lines(scraped)
    assert time.monotonic() - begin < GENEROUS_SECONDS
    return str(caught.value)


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_an_answer_comes_line_by_line_and_the_request_says_what_is_understood() -> None:
    with serving(answering(BODY)) as peer:
        assert lines(source(peer.url(path="/metrics?collect[]=cpu"))) == LINES
        (request,) = peer.requests
    assert request.startswith("GET /metrics?collect[]=cpu HTTP/1.1\r\n")
    assert "Accept: application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5" in request
    assert "Authorization" not in request


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    with serving(answering(BODY, with_length=False)) as peer:
        assert lines(source(peer.url())) == LINES


def test_a_last_line_without_an_end_is_a_line() -> None:
    with serving(answering(b"a 1\nb 2")) as peer:
        assert lines(source(peer.url())) == [b"a 1", b"b 2"]


def test_chunks_are_put_together() -> None:
    chunked = b"6\r\na 1\nb \r\n2\r\n2\n\r\n0\r\n\r\n"
    with serving(answering(chunked, "Transfer-Encoding: chunked", with_length=False)) as peer:
        assert lines(source(peer.url())) == [b"a 1", b"b 2"]


@pytest.mark.parametrize(
    ("content_type", "is_openmetrics"),
    [
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", True),
        ("text/plain; version=0.0.4; charset=utf-8", False),
        ("", False),
    ],
)
def test_the_format_is_told_by_the_content_type(content_type: str, is_openmetrics: bool) -> None:
    with serving(answering(BODY, f"Content-Type: {content_type}")) as peer, source(peer.url()).scrape() as exposition:
        assert exposition.is_openmetrics == is_openmetrics
        assert list(exposition.lines) == LINES


def test_a_compressed_answer_is_unpacked() -> None:
    body = b"\n".join(b"a%d 1" % number for number in range(50_000))
    with serving(answering(gzip.compress(body), "Content-Encoding: gzip")) as peer:
        assert lines(source(peer.url())) == body.split(b"\n")


def test_a_few_bytes_that_unpack_to_very_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_source, "MAX_BODY_BYTES", 1_000_000)
    pack = zlib.compressobj(9, wbits=31)
    bomb = b"".join(pack.compress(b"\n" * 1_000_000) for _ in range(100)) + pack.flush()
    assert len(bomb) < 200_000
    with serving(answering(bomb, "Content-Encoding: gzip")) as peer:
        assert failure(source(peer.url())) == "the exposition has more than 1000000 bytes"


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_an_endless_answer_is_refused(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_source, "MAX_BODY_BYTES", 1_000_000)
    head = b"HTTP/1.1 200 OK\r\n" + (b"Content-Encoding: gzip\r\n\r\n" if encoding else b"\r\n")
    part = gzip.compress(b"", mtime=0)[:10] if encoding else b"a 1\n" * 1000
    with serving(endless(head, part)) as peer:
        assert failure(source(peer.url()))


def test_a_line_without_an_end_does_not_grow_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_source, "MAX_BODY_BYTES", 3_000_000)
    with serving(answering(b"a 1\n" + b"x" * 2_000_000 + b"\nb 2\n")) as peer:
        first, long, last = lines(source(peer.url()))
    assert (first, last) == (b"a 1", b"b 2")
    assert 16 * 1024 < len(long) < 200_000


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (gzip.compress(BODY)[:-9], "ends too early"),
        (gzip.compress(BODY) + b"more", "bytes after its compressed end"),
        (b"no gzip at all", "can't be scraped"),
    ],
)
def test_broken_compression_is_a_failure(body: bytes, sentence: str) -> None:
    with serving(answering(body, "Content-Encoding: gzip")) as peer:
        assert sentence in failure(source(peer.url()))


def test_an_encoding_that_was_not_asked_for_is_refused() -> None:
    with serving(answering(BODY, "Content-Encoding: br")) as peer:
        assert "'br'" in failure(source(peer.url()))


def test_an_answer_that_is_cut_off_is_a_failure() -> None:
    cut = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\na 1\n"
    with serving(lambda connection: connection.sendall(cut)) as peer:
        assert "can't be scraped" in failure(source(peer.url()))


def test_a_redirection_is_not_followed() -> None:
    with (
        serving(answering(BODY)) as other,
        serving(answering(b"", f"Location: {other.url()}", status="302 Found")) as peer,
    ):
        assert "leads elsewhere (302)" in failure(source(peer.url()))
        assert other.requests == []


def test_a_status_other_than_200_is_a_failure() -> None:
    with serving(answering(BODY, status="503 Service Unavailable")) as peer:
        assert failure(source(peer.url())).endswith("answered 503 Service Unavailable")


@pytest.mark.parametrize("garbage", [b"", b"\x00\xff" * 100, b"HTTP/1.1 abc\r\n\r\n", b"SSH-2.0-OpenSSH_9.6\r\n"])
def test_what_is_no_answer_is_a_failure(garbage: bytes) -> None:
    with serving(lambda connection: connection.sendall(garbage)) as peer:
        assert "can't be scraped" in failure(source(peer.url()))


def test_nobody_listening_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert "Connection refused" in failure(source(f"http://127.0.0.1:{port}/metrics"))


@pytest.mark.parametrize(
    ("head", "drop"),
    [
        (b"", b""),
        (b"", b"H"),
        (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"a 1\n"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"a 1\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"4\r\na 1\n\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["silent", "status line", "headers", "body", "body without length", "chunks", "continue"],
)
def test_a_peer_that_drips_or_hangs_is_given_up_in_time(head: bytes, drop: bytes, stop: threading.Event) -> None:
    with serving(dripping(head, drop, stop)) as peer:
        said = failure(source(peer.url(), timeout_seconds=SHORT_SECONDS))
    # Very many headers are a failure of their own.
    assert "within 0.5 s" in said or "headers" in said


def test_closing_ends_a_scrape_that_goes_on(stop: threading.Event) -> None:
    with serving(dripping(b"HTTP/1.1 200 OK\r\n\r\n", b"a 1\n", stop)) as peer:
        scraped = source(peer.url(), timeout_seconds=60.0)
        with ExitStack() as stack:
            exposition = stack.enter_context(scraped.scrape())
            assert next(exposition.lines) == b"a 1"
            scraped.close()
            # Here the answer's end is the connection's, so only the end of the scrape tells that it was cut off.
            assert set(exposition.lines) <= {b"a 1"}
            with pytest.raises(CollectError):
                stack.close()
        assert "no longer scraped" in failure(scraped)


def test_a_token_is_sent_and_read_anew_for_each_scrape(tmp_path: Path) -> None:
    token = tmp_path / "token"
    with serving(answering(BODY)) as peer:
        scraped = source(peer.url(), bearer_token_file=str(token))
        for content in ("first\n", "second"):
            token.write_text(content)
            lines(scraped)
        assert [request.partition("Authorization: ")[2].splitlines()[0] for request in peer.requests] == [
            "Bearer first",
            "Bearer second",
        ]


@pytest.mark.parametrize("content", [b"a\r\nX-Evil: 1", b"two words", b"\xff\xfe", None])
def test_a_token_that_can_not_be_one_is_refused_and_not_shown(content: bytes | None, tmp_path: Path) -> None:
    token = tmp_path / "token"
    if content is not None:
        token.write_bytes(content)
    with serving(answering(BODY)) as peer:
        said = failure(source(peer.url(), bearer_token_file=str(token)))
        assert peer.requests == []
    assert str(token) in said
    assert "Evil" not in said
    assert "words" not in said


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 and its key in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl, which makes a certificate for this test, is not installed")
    folder = tmp_path_factory.mktemp("tls")
    path = folder / "both.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")],
        check=True,
        capture_output=True,
        timeout=60,
    )  # fmt: skip
    path.write_text((folder / "key.pem").read_text() + (folder / "certificate.pem").read_text())
    return path


def test_a_server_is_known_by_its_certificate(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(answering(BODY), context) as peer:
        assert lines(source(peer.url("https"), ca_file=str(certificate))) == LINES
        assert "CERTIFICATE_VERIFY_FAILED" in failure(source(peer.url("https")))
        assert len(peer.requests) == 1


def test_certificates_that_can_not_be_read_are_named(tmp_path: Path) -> None:
    with serving(answering(BODY)) as peer:
        missing = tmp_path / "ca.pem"
        assert str(missing) in failure(source(peer.url("https"), ca_file=str(missing)))


def test_a_handshake_that_is_never_answered_is_given_up_in_time(stop: threading.Event) -> None:
    with serving(dripping(b"", b"", stop), reads_request=False) as peer:
        assert "within 0.5 s" in failure(source(peer.url("https"), timeout_seconds=SHORT_SECONDS))


def test_no_thread_and_no_connection_is_left() -> None:
    with serving(answering(BODY)) as peer:
        scraped = source(peer.url())
        lines(scraped)
        before = left_over()
        for _ in range(20):
            lines(scraped)
        # A cancelled timer, and the peer's own side of a connection, end a moment later.
        end = time.monotonic() + GENEROUS_SECONDS
        while not is_at_most(left_over(), before) and time.monotonic() < end:
            time.sleep(0.01)
        assert is_at_most(left_over(), before)


def left_over() -> tuple[int, int]:
    """Threads and open files of this process."""
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))


def is_at_most(numbers: tuple[int, int], others: tuple[int, int]) -> bool:
    return all(number <= other for number, other in zip(numbers, others, strict=True))
