"""The agent's log in a file that never grows beyond a size; older parts are compressed, and deleted after some days."""

import gzip
import re
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from logging import LogRecord
from logging.handlers import RotatingFileHandler
from pathlib import Path

from pulsetrain.agents.errors import AgentError
from pulsetrain.agents.log_settings import LogSettings

_BYTES_PER_MEGABYTE = 1_000_000
_SECONDS_PER_DAY = 86_400
_SWEEP_SECONDS = 3600.0
_CLOSE_SECONDS = 5.0
_PART = ".part"


class LogFile(RotatingFileHandler):
    """Writes log lines; parts that were put aside are named `<file>.<UTC time>.gz`.

    They are compressed in a thread, since 100 MB take seconds. A part that a crash left uncompressed is compressed at
    the next start.

    Args:
        settings: file, size and age.
        clock: Unix seconds.

    Raises:
        AgentError: the file can't be written.
    """

    def __init__(self, settings: LogSettings, clock: Callable[[], float] = time.time) -> None:
        try:
            super().__init__(settings.file, maxBytes=int(settings.megabytes * _BYTES_PER_MEGABYTE), encoding="utf-8")
        except OSError as error:
            raise AgentError(
                f"agent.log.file {settings.file!r} can't be written: {error.strerror or error}. "
                "Let the agent write there, or name another file."
            ) from error
        self._path = Path(settings.file)
        self._keep_seconds = settings.days * _SECONDS_PER_DAY
        self._clock = clock
        self._swept_at = float("-inf")
        self._compressing = threading.Thread(target=self._compress)
        parts = re.escape(self._path.name) + r"\.\d{8}T\d{6}Z(-\d+)?"
        self._whole = re.compile(parts)
        self._any = re.compile(rf"{parts}(\.gz(\{_PART})?)?")
        self._compress_later()

    def emit(self, record: LogRecord) -> None:
        """Write a line; once an hour, look for what is too old or still to be compressed."""
        if not 0 <= self._clock() - self._swept_at < _SWEEP_SECONDS:
            self._swept_at = self._clock()
            self._delete_old()
            self._compress_later()
        super().emit(record)

    def doRollover(self) -> None:  # noqa: N802  # the standard library's name
        """Put the file aside and begin a new one."""
        if self.stream is not None:
            self.stream.close()
        self.stream = None  # opened with the next line if it can't be opened now
        with suppress(OSError):  # then the file grows on
            self._path.rename(self._free_name())
        self.stream = self._open()
        self._compress_later()

    def close(self) -> None:
        """Close the file; compressing may take its time, but not so long that the agent is killed for it."""
        super().close()
        if self._compressing.is_alive():
            self._compressing.join(_CLOSE_SECONDS)

    def _free_name(self) -> Path:
        stem = f"{self._path.name}.{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(self._clock()))}"
        name, number = stem, 0
        while (self._path.with_name(name)).exists() or self._path.with_name(f"{name}.gz").exists():
            number += 1
            name = f"{stem}-{number}"
        return self._path.with_name(name)

    def _compress_later(self) -> None:
        if self._compressing.is_alive() or not self._parts(self._whole):
            return
        self._compressing = threading.Thread(target=self._compress, name="compress log", daemon=True)
        with suppress(RuntimeError):  # the system has no thread now: tried again within the hour
            self._compressing.start()

    def _compress(self) -> None:
        while wholes := self._parts(self._whole):
            for whole in wholes:
                compressed = whole.with_name(f"{whole.name}.gz")
                part = whole.with_name(f"{compressed.name}{_PART}")
                try:
                    with whole.open("rb") as source, gzip.open(part, "wb") as target:
                        shutil.copyfileobj(source, target)
                    part.rename(compressed)
                    whole.unlink()
                except OSError:
                    with suppress(OSError):
                        part.unlink(missing_ok=True)
                    return  # the disk is full or gone; tried again within the hour

    def _delete_old(self) -> None:
        oldest = self._clock() - self._keep_seconds
        for path in self._parts(self._any):
            with suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()

    def _parts(self, pattern: re.Pattern[str]) -> list[Path]:
        try:
            return sorted(path for path in self._path.parent.iterdir() if pattern.fullmatch(path.name))
        except OSError:
            return []
