"""The socket: nobody listens, somebody's queue is full, the listener is started anew."""

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pulsetrain.agents.hook.channel import Channel

SECOND = 1_000_000_000


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short one: a socket's path has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="hook-") as name:
        yield Path(name)


def listen(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.settimeout(10)
    listener.bind(str(path))
    return listener


def test_a_datagram_reaches_who_listens_at_the_first_path_that_has_someone(folder: Path) -> None:
    channel = Channel([str(folder / "nobody"), str(folder / "hook.sock")])
    with listen(folder / "hook.sock") as agent:
        assert channel.is_open(0)
        assert channel.send(b"hello")
        assert agent.recv(100) == b"hello"
    channel.close()


def test_where_nobody_listens_it_looks_after_1_2_4_and_at_most_30_seconds(folder: Path) -> None:
    looked = []
    channel = Channel([str(folder / "hook.sock")])
    channel._connect = lambda: looked.append(now)  # type: ignore[method-assign]
    for now in range(120):
        assert not channel.is_open(now * SECOND)
    assert looked == [0, 1, 3, 7, 15, 31, 61, 91]


def test_a_listener_that_comes_late_is_found(folder: Path) -> None:
    channel = Channel([str(folder / "hook.sock")])
    assert not channel.is_open(0)
    with listen(folder / "hook.sock"):
        assert not channel.is_open(SECOND - 1)
        assert channel.is_open(SECOND)
    channel.close()


def test_a_full_queue_refuses_at_once_and_takes_again_when_there_is_room(folder: Path) -> None:
    channel = Channel([str(folder / "hook.sock")])
    with listen(folder / "hook.sock") as agent:
        assert channel.is_open(0)
        taken = 0
        while channel.send(b"x" * 1000):
            taken += 1
        assert taken > 0
        assert not channel.send(b"x")
        for _ in range(taken):
            agent.recv(2000)
        assert channel.send(b"x")
    channel.close()


def test_a_listener_that_was_started_anew_gets_the_next_datagram(folder: Path) -> None:
    channel = Channel([str(folder / "hook.sock")])
    with listen(folder / "hook.sock"):
        assert channel.is_open(0)
    with listen(folder / "hook.sock") as agent:
        assert channel.send(b"again")
        assert agent.recv(100) == b"again"
    assert not channel.send(b"lost")
    assert not channel.is_open(1)
    channel.close()


def test_a_descriptor_that_the_program_has_closed_is_replaced(folder: Path) -> None:
    channel = Channel([str(folder / "hook.sock")])
    with listen(folder / "hook.sock") as agent:
        assert channel.is_open(0)
        close_socket(channel)
        assert channel.send(b"again")
        assert agent.recv(100) == b"again"
        close_socket(channel)
        channel.close()


def close_socket(channel: Channel) -> None:
    assert channel._socket is not None
    os.close(channel._socket.fileno())


@pytest.mark.parametrize("path", ["/tmp/" + "x" * 200, "a\0b", "/dev/null", ""])  # noqa: S108 - never made
def test_a_path_that_can_be_no_socket_is_nobody_listening(path: str) -> None:
    channel = Channel([path])
    assert not channel.is_open(0)
    assert not channel.send(b"lost")
