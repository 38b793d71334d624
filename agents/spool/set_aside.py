"""Files of the spool that can't be read: out of the way of all others, within the spool's size, deleted when old."""

from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_SUFFIX = ".unreadable"


class _File(NamedTuple):
    """One of them: `written_ns` is when it was last written (Unix)."""

    path: Path
    size: int
    written_ns: int


class SetAside:
    """What was set aside at this start and at earlier ones, oldest first; `new_files` and `new_bytes` are this start's.

    Args:
        folder: where the spool's files lie.

    Raises:
        OSError: the folder can't be listed.
    """

    def __init__(self, folder: Path) -> None:
        self.new_files = self.new_bytes = 0
        self._files = deque(_seen(path) for path in sorted(folder.glob(f"*{_SUFFIX}")))
        self._first = ""

    @property
    def bytes_on_disk(self) -> int:
        """What these files have."""
        return sum(file.size for file in self._files)

    def add(self, path: Path, reason: str) -> None:
        """Give a file another name, so that no later start tries it; if that can't be done it stays as it is."""
        self._first = self._first or f"{path} ({reason})"
        aside = path.with_name(f"{path.name}{_SUFFIX}")
        with suppress(OSError):
            path = path.rename(aside)
        file = _seen(path)
        self.new_files += 1
        self.new_bytes += file.size
        self._files.append(file)

    def complaints(self) -> list[str]:
        """What there is to say of what was set aside at this start: one sentence of all, or none."""
        if not self.new_files:
            return []
        text = (
            f"{self.new_files} files of the spool can't be read, first {self._first}. What is in them is not sent; "
            f"they are kept as *{_SUFFIX} while there is room. Let the agent's user read and write all files there, "
            "or look after the disk."
        )
        return [text]

    def drop_oldest(self) -> bool:
        """Delete the oldest; whether there was one. What can't be deleted is not ours to count any more."""
        if not self._files:
            return False
        with suppress(OSError):
            self._files.popleft().path.unlink(missing_ok=True)
        return True

    def expire(self, before_ns: int) -> None:
        """Delete what was last written before a time (Unix)."""
        for file in [file for file in self._files if file.written_ns < before_ns]:
            self._files.remove(file)
            with suppress(OSError):
                file.path.unlink(missing_ok=True)


def _seen(path: Path) -> _File:
    try:
        status = path.lstat()
    except OSError:
        return _File(path, 0, 0)
    return _File(path, status.st_size, status.st_mtime_ns)
