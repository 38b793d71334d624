"""Arrays of names that come again in message after message, made into strings once.

A source sends the same metrics again and again, and a hundred new strings cost more than the rest of a message. An
encoded Avro array ends by itself, so none is the beginning of another: where a message goes on with the very bytes of
an array that was read before, it holds that array, and both the strings and what was found out about them are known.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import fastavro

from pulsetrain.schemas.errors import DecodeError, DecodeFailure, EncodeError

_ARRAY = fastavro.parse_schema({"type": "array", "items": "string"})
_REMEMBERED_BYTES = 64 * 2**20
_BYTES_A_STRING = 64
"""What CPython takes for a short string and its place in a tuple."""


@dataclass(frozen=True, slots=True)
class _Array:
    names: tuple[str, ...]
    encoded: bytes

    @property
    def bytes_taken(self) -> int:
        return 2 * len(self.encoded) + _BYTES_A_STRING * len(self.names)


class RepeatedNames:
    """One field of a record that holds names, and what was seen of it so far.

    Only arrays that pass `problem` are remembered. `taken_bytes` is about what they and their sources take; where it
    would exceed `limit_bytes`, all are forgotten and remembering begins anew.

    Args:
        field: the field, an array of strings.
        source: fields of strings before it; messages that agree in them are expected to hold the same names.
        problem: what is wrong with the names, as a sentence; None where nothing is.
    """

    def __init__(
        self,
        field: str,
        source: Iterable[str],
        problem: Callable[[Sequence[str]], str | None],
        limit_bytes: int = _REMEMBERED_BYTES,
    ) -> None:
        self.field = field
        self._source = tuple(source)
        self._problem = problem
        self._limit_bytes = limit_bytes
        self._newest: dict[tuple[str, ...], _Array] = {}
        self._by_bytes: dict[bytes, _Array] = {}
        self._by_names: dict[tuple[str, ...], _Array] = {}
        self.taken_bytes = 0

    def read(self, buffer: BytesIO, message: bytes, record: dict[str, Any]) -> tuple[str, ...]:
        """The names of a message; `buffer` stands at the array and afterwards behind it.

        Args:
            message: what `buffer` holds.
            record: the fields before the array.

        Raises:
            DecodeError: the names break a rule.
        """
        source = tuple([record[field] for field in self._source])
        begin = buffer.tell()
        array = self._newest.get(source)
        if array is not None and message.startswith(array.encoded, begin):
            buffer.seek(begin + len(array.encoded))
            return array.names
        names = self.checked(fastavro.schemaless_reader(buffer, _ARRAY, None))
        array = self._remember(names, message[begin : buffer.tell()])
        self._take(sum(_BYTES_A_STRING + len(text) for text in source))
        self._newest[source] = array
        return array.names

    def checked(self, names: Any) -> tuple[str, ...]:
        """The names as they are given out.

        Raises:
            DecodeError: the names break a rule.
        """
        problem = self._problem(names)
        if problem:
            raise DecodeError(DecodeFailure.INVALID, problem)
        return tuple(names)

    def encoded(self, names: Iterable[str]) -> bytes:
        """The names as an Avro array.

        Raises:
            EncodeError: the names break a rule.
        """
        names = tuple(names)
        array = self._by_names.get(names)
        if array is None:
            problem = self._problem(names)
            if problem:
                raise EncodeError(problem)
            buffer = BytesIO()
            fastavro.schemaless_writer(buffer, _ARRAY, list(names))
            array = self._remember(names, buffer.getvalue())
        return array.encoded

    def _remember(self, names: tuple[str, ...], encoded: bytes) -> _Array:
        array = self._by_bytes.get(encoded)
        if array is None:
            array = _Array(names, encoded)
            self._take(array.bytes_taken)
            self._by_bytes[encoded] = self._by_names[names] = array
        return array

    def _take(self, size: int) -> None:
        """Makes room for what is remembered next."""
        if self.taken_bytes + size > self._limit_bytes:
            self._newest.clear()
            self._by_bytes.clear()
            self._by_names.clear()
            self.taken_bytes = 0
        self.taken_bytes += size
