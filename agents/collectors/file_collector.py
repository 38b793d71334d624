"""A collector of one kernel file: the file is read here, its text is understood by a reader."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pulsetrain.agents.collectors.base import HOST, Support
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas.arrays import FloatArray


class Reader(Protocol):
    """Understands the text of one file."""

    def layout(self, content: bytes) -> tuple[str, ...]:
        """Settle, from the file's first content, which metrics it has on this machine."""

    def values(self, content: bytes) -> Sequence[float]:
        """One value a metric, NaN where the content has none.

        Raises:
            ValueError: the content is not what the file usually holds.
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

    def is_supported(self) -> Support:
        """Read the file once; it needs at least one metric."""
        try:
            content = self._file.read()
            self._metrics = self._reader.layout(content)
            self._reader.values(content)
        except (CollectError, ValueError, IndexError) as error:
            return Support(False, f"{self.source} can't be used: {error}")
        if not self._metrics:
            return Support(False, f"{self.source} has none of the metrics that are read from it")
        return Support(True)

    def metrics(self) -> tuple[str, ...]:
        """Metric ids in the order of the values."""
        return self._metrics

    def collect(self, row: FloatArray) -> None:
        """Read the file and write its values, shape (metrics,)."""
        content = self._file.read()
        try:
            row[:] = self._reader.values(content)
        except (ValueError, IndexError) as error:
            raise CollectError(f"{self.source} holds something unexpected: {error}") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class Field:
    """One number of a file: the metric, the number's name in the file, and what it is multiplied by."""

    metric: str
    key: bytes
    scale: float = 1.0


class FieldReader:
    """A file of named numbers: those of `fields` that the file has on this machine.

    Args:
        parse: the file's numbers by name.
        fields: what is wanted.
    """

    def __init__(self, parse: Callable[[bytes], Mapping[bytes, bytes | float]], fields: Sequence[Field]) -> None:
        self._parse = parse
        self._wanted = fields
        self._found: list[tuple[bytes, float]] = []

    def layout(self, content: bytes) -> tuple[str, ...]:
        """The metrics whose number the file has."""
        numbers = self._parse(content)
        found = [field for field in self._wanted if field.key in numbers]
        self._found = [(field.key, field.scale) for field in found]
        return tuple(field.metric for field in found)

    def values(self, content: bytes) -> list[float]:
        """The numbers in the catalogue's units; NaN for one that the file no longer has."""
        numbers = self._parse(content)
        return [float(numbers.get(key, math.nan)) * scale for key, scale in self._found]
