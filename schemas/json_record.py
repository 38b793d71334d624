"""JSON records: what people and their tools read; every field is named and typed by a JSON Schema."""

from typing import TypeVar

import msgspec

from pulsetrain.schemas.errors import DecodeError, DecodeFailure, EncodeError

MAX_JSON_BYTES = 256 * 1024

RecordT = TypeVar("RecordT", bound=msgspec.Struct)

_ENCODER = msgspec.json.Encoder()


def encode_json(record: msgspec.Struct) -> bytes:
    """One message; a number that JSON can't carry (NaN, infinity) becomes null.

    Raises:
        EncodeError: the record breaks a rule of its type, so that every reader would refuse it.
    """
    name = type(record).__name__
    try:
        message = _ENCODER.encode(record)
    except (TypeError, ValueError, RecursionError) as error:
        raise EncodeError(f"{name} can't be written as JSON: {error}") from error
    try:
        decode_json(message, type(record))
    except DecodeError as error:
        raise EncodeError(f"{name} would be refused by its readers: {error.detail}") from error
    return message


def decode_json(message: bytes | None, record_type: type[RecordT]) -> RecordT:
    """The record of a message; unknown fields are ignored, so that newer producers can be read.

    Raises:
        DecodeError: the bytes are no valid record; the message names the field.
    """
    name = record_type.__name__
    if not message:
        raise DecodeError(DecodeFailure.EMPTY, f"no bytes where a {name} was expected")
    if len(message) > MAX_JSON_BYTES:
        raise DecodeError(DecodeFailure.OVERSIZED, f"{len(message)} bytes; a {name} has at most {MAX_JSON_BYTES}")
    try:
        return msgspec.json.decode(message, type=record_type)
    except msgspec.ValidationError as error:
        raise DecodeError(DecodeFailure.INVALID, f"{name}: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(DecodeFailure.MALFORMED, f"not the JSON of a {name}: {error}") from error
