"""Reads the protobuf wire format as far as messages of strings and messages need it.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from collections.abc import Iterator

from pulsetrain.agents.errors import AgentError

_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_FIXED_LENGTHS = {_FIXED_64: 8, _FIXED_32: 4}
_MAX_VARINT_BYTES = 10


class WireError(AgentError):
    """The bytes are no protobuf message."""


def byte_fields(message: bytes | memoryview) -> Iterator[tuple[int, memoryview]]:
    """Number and content of each field that holds bytes, text or a message; numbers are passed over.

    Raises:
        WireError: the message ends within a field, or has a field of a kind that protobuf 3 doesn't write.
    """
    view = memoryview(message)
    position = 0
    while position < len(view):
        key, position = _varint(view, position)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            _, position = _varint(view, position)
            continue
        if kind == _BYTES:
            length, position = _varint(view, position)
        elif kind in _FIXED_LENGTHS:
            length = _FIXED_LENGTHS[kind]
        else:
            raise WireError(f"field {number} at byte {position} has the unknown wire type {kind}")
        if length > len(view) - position:
            raise WireError(f"field {number} at byte {position} is longer than the message")
        if kind == _BYTES:
            yield number, view[position : position + length]
        position += length


def text(content: memoryview) -> str:
    """A string field.

    Raises:
        WireError: it isn't UTF-8.
    """
    try:
        return str(content, "utf-8")
    except UnicodeDecodeError as error:
        raise WireError(f"a string field isn't UTF-8: {error}") from error


def _varint(view: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(view[position : position + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    raise WireError(f"the number at byte {position} has no end")
