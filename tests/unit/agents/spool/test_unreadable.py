"""A file of the spool that can't be read costs what is in it and nothing else: set aside, counted, told once."""

import errno
import os
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pulsetrain.agents.spool import Spool, SpooledMessage, SpoolError
from pulsetrain.agents.spool.spool import SEGMENT_BYTES

MESSAGE_BYTES = 300_000
IN_A_SEGMENT = 3
"""Messages of that size: with a fourth one it would be larger than 1 MiB."""

Spoil = Callable[[Path, pytest.MonkeyPatch], None]


class Losses:
    """What a spool says it dropped."""

    def __init__(self) -> None:
        self.messages = 0

    def __call__(self, messages: int, _samples: int, _reason: str) -> None:
        self.messages += messages


def open_spool(folder: Path, losses: Losses | None = None, limit_bytes: int = 64 * 2**20) -> Spool:
    return Spool(folder, limit_bytes, 3600.0, losses or Losses())


def fill(spool: Spool, numbers: range) -> None:
    for number in numbers:
        value = number.to_bytes(8, "big").rjust(MESSAGE_BYTES, b".")
        spool.append(SpooledMessage("samples", b"node", value, 10, 1 + number))


def take_all(spool: Spool) -> list[int]:
    numbers = []
    while (taken := spool.take()) is not None:
        numbers.append(int.from_bytes(taken[0].value[-8:], "big"))
        spool.delivered(taken[1])
    return numbers


def three_segments(folder: Path) -> list[Path]:
    with closing(open_spool(folder)) as spool:
        fill(spool, range(3 * IN_A_SEGMENT))
    paths = sorted(folder.glob("*.spool"))
    assert len(paths) == 3
    return paths


def refuse(path: Path, patch: pytest.MonkeyPatch, number: int, function: str = "open") -> None:
    """Root may read everything and no disk here is broken: the call fails for this path as it does elsewhere."""
    called = getattr(os, function)

    def refusing(first: Any, *others: Any, **named: Any) -> Any:
        if Path(os.fsdecode(first)) == path:
            raise OSError(number, os.strerror(number), str(path))
        return called(first, *others, **named)

    patch.setattr(os, function, refusing)


def denied(path: Path, patch: pytest.MonkeyPatch) -> None:
    path.chmod(0)
    refuse(path, patch, errno.EACCES)


def broken_disk(path: Path, patch: pytest.MonkeyPatch) -> None:
    refuse(path, patch, errno.EIO)


def folder_in_its_place(path: Path, _: pytest.MonkeyPatch) -> None:
    path.unlink()
    path.mkdir()
    (path / "something").write_text("in it")


def link_in_its_place(path: Path, _: pytest.MonkeyPatch) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def pipe_in_its_place(path: Path, _: pytest.MonkeyPatch) -> None:
    path.unlink()
    os.mkfifo(path)


def socket_in_its_place(path: Path, patch: pytest.MonkeyPatch) -> None:
    path.unlink()
    patch.chdir(path.parent)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)


def something_else(path: Path, _: pytest.MonkeyPatch) -> None:
    path.write_text("somebody's notes")


def another_version(path: Path, _: pytest.MonkeyPatch) -> None:
    content = bytearray(path.read_bytes())
    content[7] += 1
    path.write_bytes(content)


def zeros(path: Path, _: pytest.MonkeyPatch) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def far_too_large(path: Path, _: pytest.MonkeyPatch) -> None:
    os.truncate(path, 2**40)


KINDS = [
    (denied, "Permission denied"),
    (broken_disk, "Input/output error"),
    (folder_in_its_place, "it is a folder"),
    (link_in_its_place, "Too many levels of symbolic links"),
    (pipe_in_its_place, "it is no file"),
    (socket_in_its_place, "No such device or address"),
    (something_else, "it does not begin like a segment of this version"),
    (another_version, "it does not begin like a segment of this version"),
    (zeros, "it does not begin like a segment of this version"),
    (far_too_large, "more than any segment"),
]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(("spoil", "reason"), KINDS, ids=[spoil.__name__ for spoil, _ in KINDS])
def test_a_segment_that_cannot_be_read_is_set_aside_and_told_once_and_all_others_go_on_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int, spoil: Spoil, reason: str
) -> None:
    path = three_segments(tmp_path)[place]
    spoil(path, monkeypatch)
    others = [number for number in range(3 * IN_A_SEGMENT) if number // IN_A_SEGMENT != place]
    with closing(open_spool(tmp_path)) as spool:
        (told,) = spool.complaints
        assert str(path) in told
        assert reason in told
        assert "*.unreadable" in told
        assert spool.unreadable_files == 1
        assert spool.unread_messages == len(others)
        fill(spool, range(100, 104))
        assert take_all(spool) == [*others, *range(100, 104)]
    with closing(open_spool(tmp_path)) as spool:
        assert spool.complaints == []
        assert spool.unreadable_files == 0
        fill(spool, range(200, 204))
        assert take_all(spool) == list(range(200, 204))


def test_a_segment_that_may_be_read_and_not_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in three_segments(tmp_path):
        path.chmod(0o400)
    may_do_all = os.open

    def may_read(path: Any, flags: int, *others: Any, **named: Any) -> int:
        if str(path).endswith(".spool") and flags & (os.O_WRONLY | os.O_RDWR) and not flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return may_do_all(path, flags, *others, **named)

    monkeypatch.setattr(os, "open", may_read)
    with closing(open_spool(tmp_path)) as spool:
        assert spool.complaints == []
        assert take_all(spool) == list(range(3 * IN_A_SEGMENT))


def test_what_is_set_aside_counts_towards_the_size_and_goes_first_when_room_is_needed(tmp_path: Path) -> None:
    first, second, _ = three_segments(tmp_path)
    for path in (first, second):
        path.write_bytes(bytes(SEGMENT_BYTES))
    limit_bytes, losses = 4 * SEGMENT_BYTES, Losses()

    def on_disk() -> int:
        return sum(path.stat().st_size for path in tmp_path.iterdir())

    # A start later they are still there and still count.
    open_spool(tmp_path, losses, limit_bytes).close()
    with closing(open_spool(tmp_path, losses, limit_bytes)) as spool:
        assert spool.bytes_on_disk == pytest.approx(3 * SEGMENT_BYTES, rel=0.1)
        for number in range(100, 100 + 4 * IN_A_SEGMENT):
            fill(spool, range(number, number + 1))
            assert on_disk() <= limit_bytes + 1000
            if losses.messages:
                assert list(tmp_path.glob("*.unreadable")) == []
        # Of four segments of messages and the one that was there, one had to go.
        numbers = take_all(spool)
    assert losses.messages == IN_A_SEGMENT + 4 * IN_A_SEGMENT - len(numbers)
    assert numbers == list(range(100 + 4 * IN_A_SEGMENT))[-len(numbers) :]


def test_what_is_set_aside_is_deleted_when_it_is_too_old(tmp_path: Path) -> None:
    first, second, _ = three_segments(tmp_path)
    for path, written_seconds in ((first, 10_000), (second, 11_000)):
        path.write_bytes(b"nothing that is known")
        os.utime(path, (written_seconds, written_seconds))
    with closing(open_spool(tmp_path)) as spool:
        for now_seconds, left in ((13_599, 2), (13_601, 1), (14_599, 1), (14_601, 0)):
            spool.expire(now_seconds * 10**9)
            assert len(list(tmp_path.glob("*.unreadable"))) == left


def test_what_can_be_neither_read_nor_renamed_nor_deleted_stays_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = three_segments(tmp_path)[1]
    for function in ("open", "rename", "unlink"):
        refuse(path, monkeypatch, errno.EIO, function)
    losses = Losses()
    with closing(open_spool(tmp_path, losses, limit_bytes=4 * SEGMENT_BYTES)) as spool:
        assert str(path) in spool.complaints[0]
        fill(spool, range(100, 100 + 6 * IN_A_SEGMENT))
        numbers = take_all(spool)
        assert numbers[-1] == 99 + 6 * IN_A_SEGMENT
        assert losses.messages + len(numbers) == 8 * IN_A_SEGMENT


def test_many_files_that_cannot_be_read_are_one_complaint(tmp_path: Path) -> None:
    paths = three_segments(tmp_path)
    for path in paths:
        path.write_text("nothing that is known")
    with closing(open_spool(tmp_path)) as spool:
        (told,) = spool.complaints
        assert (spool.unreadable_files, spool.unreadable_bytes) == (3, 3 * len("nothing that is known"))
    assert told.startswith(f"3 files of the spool can't be read, first {paths[0]} (")


@pytest.mark.parametrize("spoil", [denied, broken_disk, folder_in_its_place, link_in_its_place, pipe_in_its_place])
def test_a_mark_that_cannot_be_read_makes_messages_come_twice_and_none_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Spoil
) -> None:
    three_segments(tmp_path)
    with closing(open_spool(tmp_path)) as spool:
        taken = spool.take()
        assert taken is not None
        spool.delivered(taken[1])
    with monkeypatch.context() as patch:
        mark = tmp_path / "delivered"
        spoil(mark, patch)
        if mark.is_file() and not mark.is_symlink():
            # Under its new name it is as unreadable; what takes its place is not.
            moved = os.rename

            def rename(source: Any, target: Any) -> None:
                moved(source, target)
                patch.undo()

            patch.setattr(os, "rename", rename)
        with closing(open_spool(tmp_path)) as spool:
            (told,) = spool.complaints
            assert str(mark) in told
            assert take_all(spool) == list(range(3 * IN_A_SEGMENT))
    with closing(open_spool(tmp_path)) as spool:
        assert spool.complaints == []
        assert spool.unread_messages == 0


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_a_process_that_may_open_no_more_files_for_a_moment_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    paths, losses = three_segments(tmp_path), Losses()
    with monkeypatch.context() as patch:
        refuse(paths[0], patch, number)
        with pytest.raises(SpoolError, match="can't be used"):
            open_spool(tmp_path)
    with closing(open_spool(tmp_path, losses)) as spool:
        with monkeypatch.context() as patch:
            refuse(paths[0], patch, number)
            assert spool.take() is None
            assert spool.unread_messages == 3 * IN_A_SEGMENT
        assert take_all(spool) == list(range(3 * IN_A_SEGMENT))
    assert losses.messages == 0


def test_a_spool_that_could_not_be_opened_holds_no_lock_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = three_segments(tmp_path)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208  # Path.iterdir would open one more
    with monkeypatch.context() as patch:
        refuse(paths[0], patch, errno.EMFILE)
        with pytest.raises(SpoolError):
            open_spool(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    open_spool(tmp_path).close()


def test_a_number_that_no_agent_reaches_is_no_segments(tmp_path: Path) -> None:
    three_segments(tmp_path)
    strange = tmp_path / "99999999999999999999.spool"
    strange.write_bytes((tmp_path / "00000000000000000001.spool").read_bytes())
    with closing(open_spool(tmp_path)) as spool:
        fill(spool, range(100, 104))
        assert take_all(spool) == [*range(3 * IN_A_SEGMENT), *range(100, 104)]
    assert strange.exists()
