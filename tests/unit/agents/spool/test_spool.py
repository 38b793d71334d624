"""The spool keeps order, limits and counts, through restarts, torn files and full disks."""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.spool import Position, Spool, SpooledMessage, SpoolError
from pulsetrain.agents.spool.spool import SEGMENT_BYTES

SECOND_NS = 1_000_000_000


class Losses:
    """What a spool says it dropped."""

    def __init__(self) -> None:
        self.messages = 0
        self.samples = 0
        self.reasons: list[str] = []

    def __call__(self, messages: int, samples: int, reason: str) -> None:
        self.messages += messages
        self.samples += samples
        self.reasons.append(reason)


def message(number: int, size: int = 8, time_ns: int = 0) -> SpooledMessage:
    return SpooledMessage("samples", b"node", number.to_bytes(8, "big").rjust(size, b"."), 10, time_ns or number)


def number_of(spooled: SpooledMessage) -> int:
    return int.from_bytes(spooled.value[-8:], "big")


def open_spool(
    folder: Path,
    losses: Losses | None = None,
    limit_bytes: int = 64 * 2**20,
    max_age_seconds: float = 1e9,
    write: Callable[[int, bytes], int] = os.write,
) -> Spool:
    return Spool(folder, limit_bytes, max_age_seconds, losses or Losses(), write)


def take_all(spool: Spool) -> list[int]:
    numbers = []
    while (taken := spool.take()) is not None:
        numbers.append(number_of(taken[0]))
        spool.delivered(taken[1])
    return numbers


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.spool"))


def test_messages_come_back_whole_and_in_order_and_leave_no_file(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    written = [message(number, size=300_000) for number in range(20)]
    for one in written:
        spool.append(one)
    assert len(segments(tmp_path)) > 4
    assert spool.unread_messages == 20
    taken = [spool.take() for _ in written]
    assert [one[0] for one in taken if one] == written
    assert spool.take() is None
    last = taken[-1]
    assert last is not None
    spool.delivered(last[1])
    assert segments(tmp_path) == []
    assert spool.bytes_on_disk == 0


@given(st.lists(st.sampled_from(["append", "take", "deliver", "restart"]), max_size=60), st.sampled_from([8, 400_000]))
def test_after_any_restarts_everything_undelivered_comes_again_in_order(steps: list[str], size: int) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        spool = open_spool(folder)
        appended, delivered = 0, 0
        taken: list[tuple[SpooledMessage, Position]] = []
        for step in steps:
            if step == "append":
                spool.append(message(appended, size))
                appended += 1
            elif step == "take" and (one := spool.take()) is not None:
                assert number_of(one[0]) == (number_of(taken[-1][0]) + 1 if taken else delivered)
                taken.append(one)
            elif step == "deliver" and taken:
                spool.delivered(taken.pop(0)[1])
                delivered += 1
            elif step == "restart":
                spool.close()
                spool, taken = open_spool(folder), []
                assert spool.unread_messages == appended - delivered
        spool.close()
        spool = open_spool(folder)
        assert take_all(spool) == list(range(delivered, appended))
        assert segments(folder) == []
        spool.close()


@given(st.integers(1, 200), st.binary(max_size=30))
def test_a_torn_last_record_is_cut_off_once_and_costs_no_other(torn_bytes: int, garbage: bytes) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        spool = open_spool(folder)
        for number in range(3):
            spool.append(message(number))
        spool.append(message(3, size=300))
        spool.close()
        (path,) = segments(folder)
        content = path.read_bytes()
        path.write_bytes(content[:-torn_bytes] + garbage)
        spool = open_spool(folder)
        assert spool.unreadable_bytes > 0
        spool.append(message(4))
        spool.close()
        spool = open_spool(folder)
        assert spool.unreadable_bytes == 0
        assert take_all(spool) == [0, 1, 2, 4]
        spool.close()


def test_a_mark_that_is_torn_makes_messages_come_twice_and_none_be_lost(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    for number in range(3):
        spool.append(message(number))
    taken = spool.take()
    assert taken is not None
    spool.delivered(taken[1])
    spool.close()
    mark = tmp_path / "delivered"
    mark.write_bytes(mark.read_bytes()[:-1])
    assert take_all(open_spool(tmp_path)) == [0, 1, 2]


def test_the_oldest_is_dropped_and_counted_when_the_size_is_reached(tmp_path: Path) -> None:
    losses = Losses()
    spool = open_spool(tmp_path, losses, limit_bytes=4 * SEGMENT_BYTES)
    first = None
    for number in range(30):
        spool.append(message(number, size=300_000))
        if number == 0:
            first = spool.take()
    assert first is not None
    numbers = take_all(spool)
    assert numbers == list(range(numbers[0], 30))
    # The one that was taken is not the spool's to lose.
    assert losses.messages == numbers[0] - 1
    assert losses.samples == 10 * losses.messages
    assert losses.reasons[0] == "the spool has reached its size of 4 MiB"
    spool.delivered(first[1])


def test_what_is_too_old_is_dropped_and_counted(tmp_path: Path) -> None:
    losses = Losses()
    spool = open_spool(tmp_path, losses, max_age_seconds=3600)
    for number in range(8):
        spool.append(message(number, size=300_000, time_ns=(1 + number * 600) * SECOND_NS))
    in_first = 3
    spool.expire((1 + (in_first - 1) * 600 + 3600) * SECOND_NS)
    assert losses.messages == 0
    spool.expire((1 + (in_first - 1) * 600 + 3601) * SECOND_NS)
    assert take_all(spool) == list(range(in_first, 8))
    assert (losses.messages, losses.reasons) == (in_first, ["the spool keeps messages for 3600 s"])


@pytest.mark.parametrize("room", [0, 3, 8, 40, 100, 1000])
def test_a_disk_that_fills_up_at_any_byte_costs_only_what_it_refused(tmp_path: Path, room: int) -> None:
    left = room

    def write(file: int, content: bytes) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = os.write(file, content[:left])
        left -= written
        return written

    spool = open_spool(tmp_path, write=write)
    accepted = []
    for number in range(40):
        if number == 30:
            left = 10_000
        with suppress(OSError):
            spool.append(message(number))
            accepted.append(number)
    assert accepted[-10:] == list(range(30, 40))
    spool.close()
    spool = open_spool(tmp_path)
    assert spool.unreadable_bytes == 0
    assert take_all(spool) == accepted


def test_a_segment_that_somebody_deleted_or_changed_is_counted_as_lost_and_the_next_is_read(tmp_path: Path) -> None:
    losses = Losses()
    spool = open_spool(tmp_path, losses)
    for number in range(12):
        spool.append(message(number, size=300_000))
    first, second, *_ = segments(tmp_path)
    first.unlink()
    changed = bytearray(second.read_bytes())
    changed[400_000] ^= 1
    second.write_bytes(changed)
    assert take_all(spool) == [3, 6, 7, 8, 9, 10, 11]
    assert (losses.messages, losses.samples) == (5, 50)
    assert "can't be read: No such file or directory" in losses.reasons[0]
    assert "was changed by somebody else" in losses.reasons[1]


def test_messages_that_were_handed_over_before_need_no_taking_and_still_outlive_a_crash(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    spool.append_taken(message(0))
    spool.append_taken(message(1))
    spool.append(message(2))
    assert spool.unread_messages == 1
    taken = spool.take()
    assert taken is not None
    assert number_of(taken[0]) == 2
    spool.close()
    assert take_all(open_spool(tmp_path)) == [0, 1, 2]


def test_two_agents_never_share_a_folder(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    with pytest.raises(SpoolError, match="another agent uses it"):
        open_spool(tmp_path)
    spool.close()
    open_spool(tmp_path).close()


def test_a_folder_that_cannot_be_made_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpoolError, match=r"The spool .*file/spool can't be used: Not a directory"):
        open_spool(tmp_path / "file" / "spool")


def test_nobody_else_may_read_the_files_and_other_files_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "spool"
    spool = open_spool(folder)
    spool.append(message(0))
    assert folder.stat().st_mode & 0o077 == 0
    assert {path.stat().st_mode & 0o077 for path in folder.iterdir()} == {0}
    spool.close()
    (folder / "notes.txt").write_text("mine")
    spool = open_spool(folder)
    assert take_all(spool) == [0]
    assert (folder / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["00000000000000000001.spool", "delivered", "lock"])
def test_a_link_in_the_folder_never_leads_to_another_file(tmp_path: Path, name: str) -> None:
    folder, other = tmp_path / "spool", tmp_path / "other"
    folder.mkdir()
    other.write_text("somebody else's, longer than a header")
    (folder / name).symlink_to(other)
    with suppress(SpoolError):
        spool = open_spool(folder)
        for number in range(1, 4):
            with suppress(OSError):
                spool.append(message(number))
        assert take_all(spool)
        spool.close()
    assert other.read_text() == "somebody else's, longer than a header"
