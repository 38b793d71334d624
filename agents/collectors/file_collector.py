"""A collector of one kernel file: the file is read here, its text is understood by a reader."""

from collections.abc import Sequence
from typing import Protocol

from pulsetrain.agents.collectors.base import HOST, Support
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.errors import CollectError


class Reader(Protocol):
    """Understands the text of one file."""

    def layout(self, content: bytes) -> tuple[str, ...]:
        """Settle, from the file's first content, which metrics it has on this machine."""

    def values(self, contents: Sequence[bytes]) -> Sequence[Sequence[float]]:
        """A row for each content, one value a metric, NaN where it has none.

        Raises:
            ValueError: a content is not what the file usually holds. Then nothing has happened.
        """


class FileCollector:
    """One file of the host."""

    def __init__(self, name: str, file: KernelFile, reader: Reader) -> None:
        self.name = name
        self.entity = HOST
        self.source = str(file.path)
        self._file = file
        self._reader = reader
        self._metrics: tuple[str, ...] = ()

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Names in the catalogue that the file can have, as far as its reader knows without a content."""
        return tuple(getattr(self._reader, "metric_names", ()))

    def is_supported(self) -> Support:
        """Read the file once; it needs at least one metric."""
        try:
            content = self._file.read()
            self._metrics = self._reader.layout(content)
            self._reader.values([content])
        except (CollectError, ValueError) as error:
            return Support(False, f"{self.source} can't be used: {error}")
        if not self._metrics:
            return Support(False, f"{self.source} has none of the metrics that are read from it")
        return Support(True)

    def metrics(self) -> tuple[str, ...]:
        """Metric ids in the order of the values."""
        return self._metrics

    def read(self) -> bytes:
        """The file's content."""
        return self._file.read()

    def decode(self, readings: Sequence[bytes]) -> Sequence[Sequence[float]]:
        """The values of contents."""
        try:
            return self._reader.values(readings)
        except ValueError as error:
            raise CollectError(f"{self.source} holds something unexpected: {error}") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()
