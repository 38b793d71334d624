"""One file of the spool: written only at its end, read from its beginning, removed as a whole."""

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from pulsetrain.agents.spool.record import (
    FILE_HEADER,
    FRAME_BYTES,
    SpooledMessage,
    body_bytes,
    decode_record,
    encode_record,
    intact_records,
)

Write = Callable[[int, bytes], int]
"""`os.write`: writes some of the bytes and says how many."""

_NAME = re.compile(r"(0[0-9]{19})\.spool")
"""No agent writes so many that the first digit changes; all of them fit 64 bits."""
_OWNER_ONLY = 0o600
_NOT_ELSEWHERE = os.O_NOFOLLOW | os.O_CLOEXEC
"""A link that somebody put into the folder must not lead the agent to another file, which it would cut."""
_LARGEST_BYTES = 16 * 2**20
"""No file of ours is nearly as large."""
SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Errors that say nothing of the file: it can be opened later."""


class Position(NamedTuple):
    """Where a message ends: the number of its segment and the offset there."""

    segment: int
    end: int


class DamagedError(Exception):
    """What was written can't be read back."""


class Segment:
    """A file of records, and how much of it is still to be read.

    `end` is where its last whole record ends, `read_until` where the last one that was read ends; `unread_messages` and
    `unread_samples` lie in between. `newest_ns` is the time of the newest message, 0 for none.
    """

    def __init__(self, folder: Path, number: int) -> None:
        self.number = number
        self.end = len(FILE_HEADER)
        self.read_until = self.end
        self.newest_ns = 0
        self.unread_messages = 0
        self.unread_samples = 0
        self._path = segment_path(folder, number)
        self._file: int | None = None

    @classmethod
    def create(cls, folder: Path, number: int, write: Write) -> "Segment":
        """A new, empty file.

        Raises:
            OSError: it can't be made.
        """
        segment = cls(folder, number)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        segment._file = os.open(segment._path, flags, _OWNER_ONLY)
        try:
            _write_all(segment._file, FILE_HEADER, write)
        except OSError:
            segment.remove()
            raise
        return segment

    @classmethod
    def recover(cls, folder: Path, number: int, read_until: int) -> tuple["Segment", int]:
        """A file that an earlier process left, and how many bytes at its end were no whole record and are cut off.

        Args:
            folder: where it lies.
            number: which file.
            read_until: where what was already delivered ends.

        Raises:
            DamagedError: it can't be read, or is something else.
            OSError: it can't be read now (`SHORTAGES`).
        """
        segment = cls(folder, number)
        try:
            content = _content(segment._path)
        except OSError as error:
            raise _damage(error) from error
        for end, message in intact_records(content):
            if end <= read_until:
                segment.read_until = end
            else:
                segment._count(message)
            segment.end = end
        torn_bytes = max(0, len(content) - segment.end)
        if torn_bytes:
            with suppress(OSError):  # what can't be cut off is skipped again at the next start
                _cut(segment._path, segment.end)
        return segment, torn_bytes

    @property
    def is_empty(self) -> bool:
        """Whether no message was written."""
        return self.end == len(FILE_HEADER)

    @property
    def end_position(self) -> Position:
        """Where the last whole message ends."""
        return Position(self.number, self.end)

    def append(self, message: SpooledMessage, write: Write) -> None:
        """Write a message at the end; after an error no more may be appended.

        Raises:
            OSError: it can't be written.
        """
        assert self._file is not None, "a segment that was recovered is only read"  # noqa: S101
        record = encode_record(message)
        try:
            _write_all(self._file, record, write)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, self.end)
            raise
        self.end += len(record)
        self._count(message)

    def skip_unread(self) -> None:
        """Take all that is unread as read."""
        self.read_until = self.end
        self.unread_messages = self.unread_samples = 0

    def read(self) -> SpooledMessage:
        """The next message that is unread.

        Raises:
            DamagedError: it is not what was written, or can't be read.
            OSError: it can't be read now (`SHORTAGES`).
        """
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDONLY | _NOT_ELSEWHERE)
            frame = os.pread(self._file, FRAME_BYTES, self.read_until)
            begin = self.read_until + FRAME_BYTES
            length = body_bytes(frame) if len(frame) == FRAME_BYTES else 0
            message = decode_record(frame, os.pread(self._file, min(length, self.end - begin), begin))
        except OSError as error:
            raise _damage(error, f"{self._path} can't be read: ") from error
        if message is None:
            raise DamagedError(f"{self._path} was changed by somebody else")
        self.read_until = begin + length
        self.unread_messages -= 1
        self.unread_samples -= message.samples
        return message

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def remove(self) -> None:
        """Close and delete the file."""
        self.close()
        self._path.unlink(missing_ok=True)

    def _count(self, message: SpooledMessage) -> None:
        self.newest_ns = max(self.newest_ns, message.time_ns)
        self.unread_messages += 1
        self.unread_samples += message.samples


def segment_path(folder: Path, number: int) -> Path:
    """Where a segment lies."""
    return folder / f"{number:020}.spool"


def segment_numbers(folder: Path) -> list[int]:
    """The numbers of the segments in a folder, ascending; files of other names are left alone.

    Raises:
        OSError: the folder can't be listed.
    """
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries]
    return sorted(int(match[1]) for name in names if (match := _NAME.fullmatch(name)))


def _content(path: Path) -> bytes:
    """What a segment has; empty or a part of the header if a crash left it so.

    Raises:
        OSError: it can't be read.
        DamagedError: it is something else.
    """
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | _NOT_ELSEWHERE)
    with _closing(file):
        status = os.fstat(file)
        if stat.S_ISDIR(status.st_mode):
            raise DamagedError("it is a folder")
        if not stat.S_ISREG(status.st_mode):
            raise DamagedError("it is no file")
        if status.st_size > _LARGEST_BYTES:
            raise DamagedError(f"it has {status.st_size} bytes, more than any segment")
        content = os.pread(file, status.st_size, 0)
    header = content[: len(FILE_HEADER)]
    if not FILE_HEADER.startswith(header):
        raise DamagedError("it does not begin like a segment of this version")
    return content


def _damage(error: OSError, what: str = "") -> Exception:
    return error if error.errno in SHORTAGES else DamagedError(f"{what}{error.strerror}")


def _cut(path: Path, size: int) -> None:
    file = os.open(path, os.O_WRONLY | _NOT_ELSEWHERE)
    with _closing(file):
        os.ftruncate(file, size)


@contextmanager
def _closing(file: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(file)


def _write_all(file: int, content: bytes, write: Write) -> None:
    while content:
        content = content[write(file, content) :]
