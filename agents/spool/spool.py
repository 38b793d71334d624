"""The spool: a folder of segments, read from the oldest message on, bounded in size and age."""

import fcntl
import os
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from pulsetrain.agents.errors import AgentError
from pulsetrain.agents.spool.delivered import NAME as MARK
from pulsetrain.agents.spool.delivered import DeliveredMark
from pulsetrain.agents.spool.record import SpooledMessage
from pulsetrain.agents.spool.segment import (
    SHORTAGES,
    DamagedError,
    Position,
    Segment,
    Write,
    segment_numbers,
    segment_path,
)
from pulsetrain.agents.spool.set_aside import SetAside

SEGMENT_BYTES = 2**20
"""A segment that has so many bytes is not written any more; it is what is dropped or deleted at once."""

_NS_PER_SECOND = 1_000_000_000
_LOCK = "lock"
_OWNER_ONLY_FOLDER = 0o700
_OWNER_ONLY = 0o600

Lost = Callable[[int, int, str], None]
"""Called with how many messages and samples were lost, and why."""


class SpoolError(AgentError):
    """The spool's folder can't be used: create it, let the agent write in it, or name another one."""


class Spool:
    """Messages in the order in which they were appended; what was not delivered is there again after a restart.

    A message is first taken, then, when Kafka has it, delivered. Nothing is forced to the disk (fsync): what was
    written survives the death of the process, not the one of the machine.

    A file of an earlier run that can't be read is set aside, and all others go on. `complaints` say what there is to
    tell of that; `unreadable_files` and `unreadable_bytes` count it, the latter with what a crash tore.

    Args:
        folder: is made if it is not there; belongs to one agent.
        limit_bytes: what the segments have at most; then the oldest is dropped.
        max_age_seconds: a segment whose newest message is older is dropped.
        lost: is told what was dropped of that which had not been taken.
        write: `os.write`, injected.

    Raises:
        SpoolError: the folder can't be used, or another agent uses it.
    """

    def __init__(
        self, folder: Path, limit_bytes: int, max_age_seconds: float, lost: Lost, write: Write = os.write
    ) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._max_age_ns = int(max_age_seconds * _NS_PER_SECOND)
        self._lost = lost
        self._write = write
        self._segments: deque[Segment] = deque()
        self._writable: Segment | None = None
        self.unreadable_files = self.unreadable_bytes = 0
        self.complaints: list[str] = []
        try:
            folder.mkdir(mode=_OWNER_ONLY_FOLDER, parents=True, exist_ok=True)
            with ExitStack() as opened:
                opened.callback(os.close, _locked(folder))
                self._set_aside = SetAside(folder)
                self._mark = self._opened_mark()
                opened.callback(self._mark.close)
                self._next_number = self._recover()
                self._opened = opened.pop_all()
        except OSError as error:
            raise SpoolError(f"The spool {folder} can't be used: {error.strerror or error}.") from error

    @property
    def unread_messages(self) -> int:
        """Messages that were not taken yet."""
        return sum(segment.unread_messages for segment in self._segments)

    @property
    def bytes_on_disk(self) -> int:
        """What the segments and what is set aside have."""
        return sum(segment.end for segment in self._segments) + self._set_aside.bytes_on_disk

    def append(self, message: SpooledMessage) -> Position:
        """Write a message behind all others; makes room by dropping the oldest.

        Raises:
            OSError: it can't be written; what was written before is untouched.
        """
        size = len(message.key) + len(message.value)
        self._make_room(size)
        segment = self._segment_for(size)
        try:
            segment.append(message, self._write)
        except OSError:
            self._seal()
            if segment.is_empty:
                self._remove(segment)
            raise
        return segment.end_position

    def append_taken(self, message: SpooledMessage) -> Position:
        """Write a message that needs no taking any more; nothing else may be unread.

        Raises:
            OSError: it can't be written.
        """
        position = self.append(message)
        self._segments[-1].skip_unread()
        return position

    def take(self) -> tuple[SpooledMessage, Position] | None:
        """The oldest message that was not taken yet; None if there is none, or it can't be read at this moment.

        What can't be read at all is dropped.
        """
        for segment in list(self._segments):
            if segment.unread_messages:
                try:
                    message = segment.read()
                except DamagedError as error:
                    self._drop(segment, str(error))
                except OSError:  # the process may open no more files
                    return None
                else:
                    return message, Position(segment.number, segment.read_until)
        return None

    def delivered(self, position: Position) -> None:
        """Kafka has all messages up to here."""
        while self._segments and self._segments[0].end_position <= position:
            self._remove(self._segments[0])
        self._mark.write(position)

    def holds(self, position: Position) -> bool:
        """Whether the message that ends here was not dropped."""
        return any(segment.number == position.segment for segment in self._segments)

    def expire(self, time_ns: int) -> None:
        """Drop what is too old at a time (Unix)."""
        self._set_aside.expire(time_ns - self._max_age_ns)
        while self._segments and time_ns - self._segments[0].newest_ns > self._max_age_ns:
            self._drop_oldest(f"the spool keeps messages for {self._max_age_ns / _NS_PER_SECOND:g} s")

    def close(self) -> None:
        """Close all files; what was not delivered stays for the next start."""
        for segment in self._segments:
            segment.close()
        self._opened.close()

    def _opened_mark(self) -> DeliveredMark:
        try:
            return DeliveredMark(self._folder)
        except OSError as error:
            if error.errno in SHORTAGES:
                raise
            self._set_aside.add(self._folder / MARK, error.strerror or str(error))
            return DeliveredMark(self._folder)

    def _recover(self) -> int:
        """Find what an earlier process left; returns the number of the next segment."""
        mark, torn_bytes = self._mark.found, 0
        number = mark.segment
        for number in segment_numbers(self._folder):
            try:
                segment, torn = Segment.recover(self._folder, number, mark.end if number == mark.segment else 0)
            except DamagedError as error:
                self._set_aside.add(segment_path(self._folder, number), str(error))
                continue
            torn_bytes += torn
            if number >= mark.segment and segment.unread_messages:
                self._segments.append(segment)
            else:
                with suppress(OSError):  # what can't be deleted comes again after the next start
                    segment.remove()
        if torn_bytes:
            self.complaints.append(f"{torn_bytes} bytes of the spool {self._folder} were no whole message.")
        self.complaints += self._set_aside.complaints()
        self.unreadable_files = self._set_aside.new_files
        self.unreadable_bytes = torn_bytes + self._set_aside.new_bytes
        return max(number, mark.segment) + 1

    def _segment_for(self, size: int) -> Segment:
        if self._writable is None or self._writable.end + size > SEGMENT_BYTES:
            self._seal()
            number, self._next_number = self._next_number, self._next_number + 1
            self._writable = Segment.create(self._folder, number, self._write)
            self._segments.append(self._writable)
        return self._writable

    def _seal(self) -> None:
        if self._writable is not None:
            self._writable.close()
            self._writable = None

    def _make_room(self, size: int) -> None:
        reason = f"the spool has reached its size of {self._limit_bytes / 2**20:g} MiB"
        while self.bytes_on_disk + size > self._limit_bytes:
            if self._set_aside.drop_oldest():
                continue
            if not self._segments:
                return
            self._drop_oldest(reason)

    def _drop_oldest(self, reason: str) -> None:
        self._drop(self._segments[0], reason)

    def _drop(self, segment: Segment, reason: str) -> None:
        self._lost(segment.unread_messages, segment.unread_samples, reason)
        self._remove(segment)

    def _remove(self, segment: Segment) -> None:
        self._segments.remove(segment)
        if segment is self._writable:
            self._writable = None
        with suppress(OSError):  # what can't be deleted comes again after the next start
            segment.remove()


def _locked(folder: Path) -> int:
    """The open lock file of a folder that no other process uses.

    Raises:
        OSError: another one uses it.
    """
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, _OWNER_ONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise OSError(f"another agent uses it (the file {_LOCK} in it is locked)") from None
    return lock
