"""A file of /proc or /sys, opened once and read from its start again and again."""

import os
from pathlib import Path

from pulsetrain.agents.errors import CollectError

_CHUNK_BYTES = 65536
_SURELY_LAST_BYTES = 2048
"""A shorter part is the last one.

The kernel hands out many of its files (seq_file) in parts: as many whole records as fit a page of at least 4096
bytes. No record of the files that are read here has more than half a page, so behind a shorter part another one would
have fitted.
"""

MAX_FILE_BYTES = 8 * 1024 * 1024
"""More than /proc/stat has on the largest machines; whatever is longer is no file that was meant here."""


def read_once(path: Path) -> bytes:
    """The content of a file that is rarely read.

    Raises:
        CollectError: the file is absent, can't be read, or exceeds MAX_FILE_BYTES.
    """
    file = KernelFile(path)
    try:
        return file.read()
    finally:
        file.close()


class KernelFile:
    """One file. It is opened at the first reading, and again only after a reading that failed.

    Args:
        path: where it is.
        head_bytes: read only the beginning, at most so many bytes; None reads everything.
    """

    def __init__(self, path: Path, head_bytes: int | None = None) -> None:
        self.path = path
        self._head_bytes = head_bytes
        self._descriptor: int | None = None

    def read(self) -> bytes:
        """The content as of now.

        Raises:
            CollectError: the file is absent, can't be read, or exceeds MAX_FILE_BYTES.
        """
        try:
            if self._descriptor is None:
                self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            return self._content(self._descriptor)
        except OSError as error:
            self.close()
            raise CollectError(f"{self.path}: {error.strerror}") from error

    def close(self) -> None:
        """Close the file; a later reading opens it again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _content(self, descriptor: int) -> bytes:
        if self._head_bytes is not None:
            return os.pread(descriptor, self._head_bytes, 0)
        content = part = os.pread(descriptor, _CHUNK_BYTES, 0)
        while len(part) > _SURELY_LAST_BYTES:
            part = os.pread(descriptor, _CHUNK_BYTES, len(content))
            content += part
            if len(content) > MAX_FILE_BYTES:
                raise CollectError(f"{self.path} has more than {MAX_FILE_BYTES} bytes")
        return content
