"""How far the spool was delivered, in a small file beside it, so that little comes twice after a crash."""

import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path

from pulsetrain.agents.spool.segment import Position

NAME = "delivered"
_POSITION = struct.Struct("<QQ")
_CHECKSUM = struct.Struct("<I")
_OWNER_ONLY = 0o600


class DeliveredMark:
    """The file; written anew in place after each delivery.

    `found` is what it had when it was opened; segment 0 if that was not whole, so that all is delivered again.

    Raises:
        OSError: it can't be opened or read.
    """

    def __init__(self, folder: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(folder / NAME, flags, _OWNER_ONLY)
        try:
            self.found = self._read()
        except OSError:
            self.close()
            raise

    def write(self, delivered: Position) -> None:
        """Remember a position. If it can't be written, messages come twice after a crash, which readers notice."""
        position = _POSITION.pack(*delivered)
        with suppress(OSError):
            os.pwrite(self._file, position + _CHECKSUM.pack(zlib.crc32(position)), 0)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _read(self) -> Position:
        content = os.pread(self._file, _POSITION.size + _CHECKSUM.size, 0)
        position, checksum = content[: _POSITION.size], content[_POSITION.size :]
        if len(checksum) != _CHECKSUM.size or zlib.crc32(position) != _CHECKSUM.unpack(checksum)[0]:
            return Position(0, 0)
        return Position(*_POSITION.unpack(position))
