"""The socket, with real hooks and with whoever else may send to it."""

import os
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pulsetrain.agents.collectors.base import Observation
from pulsetrain.agents.collectors.training.collector import TrainingCollector
from pulsetrain.agents.collectors.training.listener import MAX_HELD_BYTES
from pulsetrain.agents.collectors.training.settings import HookSettings
from pulsetrain.agents.errors import CollectError
from pulsetrain.agents.hook import TrainingProbe
from pulsetrain.agents.hook.channel import Channel
from pulsetrain.agents.hook.identity import Identity
from pulsetrain.agents.hook.message import MAX_MESSAGE_BYTES, Sender, Totals, encode

PATIENCE_SECONDS = 30.0
REFUSED = "pulsetrain.agent.hook.messages_refused"


@pytest.fixture
def path() -> Iterator[Path]:
    """Short, as a socket's path has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="hook-") as folder:
        yield Path(folder) / "run" / "hook.sock"


@pytest.fixture
def collector(path: Path) -> Iterator[TrainingCollector]:
    collector = listening_at(path)
    assert collector.is_supported().supported
    yield collector
    collector.close()


def listening_at(path: Path) -> TrainingCollector:
    return TrainingCollector(HookSettings(socket_path=str(path)), lambda pid: {"pid": str(pid)})


def probe_at(path: Path, rank: int) -> TrainingProbe:
    return TrainingProbe("llm", rank, outlet=Channel([str(path)]))


def collected(collector: TrainingCollector, is_enough: Callable[[list[Observation]], bool]) -> list[Observation]:
    """Ask until there is enough."""
    observations: list[Observation] = []
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_enough(observations):
        assert time.monotonic() < end, f"after {PATIENCE_SECONDS:.0f} s there was only {observations}"
        observations += collector.collect(time.time_ns()).observations
    return observations


def test_every_rank_of_a_node_is_heard_and_known_by_the_process_that_sent(
    collector: TrainingCollector, path: Path
) -> None:
    ranks = 64
    channel = Channel([str(path)])
    assert channel.is_open(0)
    end = time.monotonic() + PATIENCE_SECONDS
    for rank in range(ranks):
        sender, now_ns = Sender(Identity("llm", rank), "session"), time.time_ns()
        message = encode(sender, now_ns, Totals(0, 0, None), [(now_ns, 1, None, None)], [], closing=False)
        while not channel.send(message):
            assert time.monotonic() < end, "the collector's thread did not take what was sent"
    channel.close()
    heard = collected(collector, lambda so_far: len(so_far) >= ranks)
    assert sorted(observation.entity for observation in heard) == sorted(f"llm/rank:{rank}" for rank in range(ranks))
    assert {observation.labels["pid"] for observation in heard} == {str(os.getpid())}


def test_messages_that_are_not_understood_are_counted_and_the_next_ones_are_used(
    collector: TrainingCollector, path: Path
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
        stranger.connect(str(path))
        for content in (b"hello", b"", b"x" * (MAX_MESSAGE_BYTES + 1)):
            stranger.send(content)
    with probe_at(path, 0) as probe:
        probe.step()
    heard = collected(collector, lambda so_far: any(one.entity == "llm/rank:0" for one in so_far))
    assert heard[-1].entity == "host"
    assert dict(zip(heard[-1].metrics, heard[-1].values, strict=True)) == {REFUSED: 3.0}


def test_why_a_message_is_not_understood_is_in_the_log_once_in_ten_minutes(
    collector: TrainingCollector, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now_ns = time.time_ns()
    for refused, minute in enumerate((0, 5, 9, 11), start=1):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
            stranger.connect(str(path))
            stranger.send(b'{"v": 99}')
        end = time.monotonic() + PATIENCE_SECONDS
        told: list[Observation] = []
        while not told or list(told[-1].values) != [refused]:
            assert time.monotonic() < end, f"the message of minute {minute} was not heard"
            told = list(collector.collect(now_ns + minute * 60_000_000_000).observations)
    said = [record.getMessage() for record in caplog.records]
    assert [f"process {os.getpid()}" in line and "version 99" in line for line in said] == [True, True]


def test_file_descriptors_that_are_sent_along_are_not_kept(collector: TrainingCollector, path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger, Path("/dev/null").open("rb") as null:
        stranger.connect(str(path))
        socket.send_fds(stranger, [b"take this"], [null.fileno()] * 3)
    collected(collector, lambda so_far: len(so_far) > 0)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_flood_is_bounded_and_its_sender_sees_a_full_queue(collector: TrainingCollector, path: Path) -> None:
    channel = Channel([str(path)])
    assert channel.is_open(0)
    flood, sent = b"x" * 10_000, 0
    end = time.monotonic() + PATIENCE_SECONDS
    refused_in_a_row = 0
    while refused_in_a_row < 1000:
        assert time.monotonic() < end, "the queue was never full"
        is_sent = channel.send(flood)
        sent += is_sent
        refused_in_a_row = 0 if is_sent else refused_in_a_row + 1
        if not is_sent:
            time.sleep(0.001)
    assert sent * len(flood) < 2 * MAX_HELD_BYTES
    collector.collect(time.time_ns())
    while not channel.send(flood):
        assert time.monotonic() < end, "there was no room again"
    channel.close()


def test_any_user_may_send_and_none_may_replace_the_socket(collector: TrainingCollector, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o666
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755


def test_the_socket_is_gone_when_the_agent_is(path: Path) -> None:
    collector = listening_at(path)
    assert collector.is_supported().supported
    collector.close()
    assert not path.exists()
    collector.collect(time.time_ns())
    assert not path.exists()


def test_the_socket_of_a_dead_agent_is_replaced(path: Path) -> None:
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as dead:
        dead.bind(str(path))
    collector = listening_at(path)
    assert collector.is_supported().supported
    collector.close()


def test_the_socket_of_a_living_agent_is_left_alone(collector: TrainingCollector, path: Path) -> None:
    support = listening_at(path).is_supported()
    assert not support.supported
    assert "another agent listens" in support.reason
    with probe_at(path, 0) as probe:
        probe.step()
    collected(collector, lambda so_far: len(so_far) > 0)


def test_a_file_that_is_no_socket_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("mine")
    support = listening_at(path).is_supported()
    assert "is no socket" in support.reason
    assert path.read_text() == "mine"


def test_a_socket_that_was_cleaned_away_is_made_again(collector: TrainingCollector, path: Path) -> None:
    path.unlink()
    collector.collect(time.time_ns())
    with probe_at(path, 0) as probe:
        probe.step()
    collected(collector, lambda so_far: len(so_far) > 0)


def test_a_socket_that_cannot_be_made_again_is_said(collector: TrainingCollector, path: Path) -> None:
    path.unlink()
    path.mkdir()
    with pytest.raises(CollectError, match="is no socket"):
        collector.collect(time.time_ns())


def test_an_agent_without_rights_listens_in_its_users_folder_and_without_one_says_so(path: Path) -> None:
    def nowhere(folder: Path) -> bool:
        return False

    user = {"XDG_RUNTIME_DIR": str(path.parent.parent)}
    collector = TrainingCollector(HookSettings(), lambda pid: {}, user, nowhere)
    assert collector.source == f"{path.parent.parent}/pulsetrain/hook.sock"
    assert TrainingCollector(HookSettings(), lambda pid: {}, user, lambda folder: True).source == (
        "/run/pulsetrain/hook.sock"
    )
    support = TrainingCollector(HookSettings(), lambda pid: {}, {}, nowhere).is_supported()
    assert "XDG_RUNTIME_DIR" in support.reason


def test_closing_while_it_is_asked_leaves_no_thread_behind(path: Path) -> None:
    collector = listening_at(path)
    assert collector.is_supported().supported
    asking = threading.Thread(target=lambda: [collector.collect(time.time_ns()) for _ in range(200)])
    asking.start()
    collector.close()
    asking.join(PATIENCE_SECONDS)
    assert not asking.is_alive()
    assert not [thread for thread in threading.enumerate() if thread.name == "hook listener"]


@pytest.mark.parametrize("socket_path", ["hook.sock", "", "/a\0b", "/" + "x" * 107])
def test_a_path_that_can_be_no_socket_is_refused(socket_path: str) -> None:
    with pytest.raises(ValueError, match="socket_path"):
        HookSettings(socket_path=socket_path)
