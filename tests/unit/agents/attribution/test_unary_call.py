"""The call against gRPC's own server, and against servers that misbehave."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import grpc
import pytest

from pulsetrain.agents.attribution.pod_resources import LIST, PodContainer, decode_list
from pulsetrain.agents.attribution.unary_call import CallError, unary_call
from tests.unit.agents.attribution.pod_resources_message import pod_resources

_SECONDS = 60.0
_MAX_BYTES = 4 * 1024 * 1024


@pytest.fixture
def path() -> Iterator[Path]:
    # pytest's own folders can be longer than a socket's path may be.
    with TemporaryDirectory() as folder:
        yield Path(folder) / "kubelet.sock"


@contextmanager
def kubelet(path: Path, answer: Callable[[bytes, Any], bytes]) -> Iterator[None]:
    handlers = {"List": grpc.unary_unary_rpc_method_handler(answer)}
    server = grpc.server(ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1.PodResourcesLister", handlers),))
    server.add_insecure_port(f"unix:{path}")
    server.start()
    try:
        yield
    finally:
        server.stop(None).wait(_SECONDS)


@contextmanager
def raw_server(path: Path, reply: bytes, hang_up: bool) -> Iterator[None]:
    """Answers whatever comes with `reply`."""
    done = threading.Event()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(reply)
                if not hang_up:
                    done.wait(_SECONDS)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join(_SECONDS)


def test_a_list_comes_from_grpcs_own_server(path: Path) -> None:
    containers = [PodContainer("research", f"llama-{rank}", "main", (f"GPU-{rank}",)) for rank in range(8)]
    with kubelet(path, lambda request, context: pod_resources(containers)):
        assert decode_list(unary_call(path, LIST, b"", _SECONDS, _MAX_BYTES)) == containers


def test_an_answer_larger_than_http2s_first_window_comes_whole(path: Path) -> None:
    body = bytes(range(256)) * 4096
    seen = []

    def answer(request: bytes, context: Any) -> bytes:
        seen.append(request)
        return body

    with kubelet(path, answer):
        assert unary_call(path, LIST, b"\x08\x01", _SECONDS, _MAX_BYTES) == body
    assert seen == [b"\x08\x01"]


def test_an_empty_list_is_an_empty_message(path: Path) -> None:
    with kubelet(path, lambda request, context: b""):
        assert unary_call(path, LIST, b"", _SECONDS, _MAX_BYTES) == b""


def test_an_answer_over_the_limit_is_refused(path: Path) -> None:
    with (
        kubelet(path, lambda request, context: bytes(2000)),
        pytest.raises(CallError, match="has more than 1000 bytes"),
    ):
        unary_call(path, LIST, b"", _SECONDS, 1000)


def test_a_refusal_tells_status_and_reason(path: Path) -> None:
    def refuse(request: bytes, context: Any) -> bytes:
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit")
        return b""

    with kubelet(path, refuse), pytest.raises(CallError, match=r"gRPC status 8, HTTP status 200\. rejected by rate"):
        unary_call(path, LIST, b"", _SECONDS, _MAX_BYTES)


def test_an_unknown_method_is_refused_with_unimplemented(path: Path) -> None:
    with kubelet(path, lambda request, context: b""), pytest.raises(CallError, match="gRPC status 12"):
        unary_call(path, "/v1alpha1.PodResourcesLister/List", b"", _SECONDS, _MAX_BYTES)


def test_a_kubelet_that_hangs_is_given_up_at_the_deadline(path: Path) -> None:
    with raw_server(path, b"", hang_up=False), pytest.raises(CallError, match=r"not answered within 0\.2 s"):
        unary_call(path, LIST, b"", 0.2, _MAX_BYTES)


def test_a_server_that_breaks_the_rules_of_http2_is_told(path: Path) -> None:
    data_frame_without_a_stream = bytes(9)
    with (
        raw_server(path, data_frame_without_a_stream, hang_up=False),
        pytest.raises(CallError, match="no HTTP/2 is spoken there"),
    ):
        unary_call(path, LIST, b"", _SECONDS, _MAX_BYTES)


def test_a_server_that_hangs_up_is_told(path: Path) -> None:
    with raw_server(path, b"", hang_up=True), pytest.raises(CallError, match="the server hung up before"):
        unary_call(path, LIST, b"", _SECONDS, _MAX_BYTES)


def test_no_server_is_told_with_the_kernels_reason(path: Path) -> None:
    with pytest.raises(CallError, match=r"kubelet\.sock: No such file or directory"):
        unary_call(path, LIST, b"", _SECONDS, _MAX_BYTES)
