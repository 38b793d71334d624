"""Avro single-object encoding with bounded, total decoding.

A message is the marker C3 01, the little-endian CRC-64-AVRO fingerprint of the writer's schema, and the Avro body
(Avro specification, "Single-object encoding"). On input the Schema Registry's wire format (a zero byte and a four-byte
schema id before the body) is read too, with the newest schema as the writer's.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro
import fastavro.schema

from pulsetrain.schemas.errors import DecodeError, DecodeFailure, EncodeError

Record = dict[str, Any]

_MARKER = b"\xc3\x01"
_HEADER_BYTES = 10
_REGISTRY_MAGIC = b"\x00"
_REGISTRY_HEADER_BYTES = 5


class AvroCodec:
    """Encodes with the newest schema of one record; decodes every version it is given.

    Args:
        schemas: all versions of the record's schema, oldest first.
        max_bytes: the largest message that is encoded or decoded.
    """

    def __init__(self, schemas: Sequence[Mapping[str, Any]], max_bytes: int) -> None:
        self._reader = fastavro.parse_schema(dict(schemas[-1]))
        self._writers = {_fingerprint(schema): fastavro.parse_schema(dict(schema)) for schema in schemas}
        self._header = _MARKER + _fingerprint(schemas[-1])
        self._max_bytes = max_bytes
        self.record_name = str(schemas[-1]["name"])

    def encode(self, record: Record) -> bytes:
        """The record as one message.

        Raises:
            EncodeError: a field does not fit the schema, or the message would exceed the limit.
        """
        buffer = io.BytesIO()
        buffer.write(self._header)
        try:
            fastavro.schemaless_writer(buffer, self._reader, record)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise EncodeError(f"{self.record_name} does not fit its schema: {error}") from error
        if buffer.tell() > self._max_bytes:
            raise EncodeError(
                f"{self.record_name} of {buffer.tell()} bytes exceeds the limit of {self._max_bytes} bytes"
            )
        return buffer.getvalue()

    def decode(self, message: bytes | None) -> Record:
        """The record of a message; any bytes give a record or a `DecodeError`."""
        if not message:
            raise DecodeError(DecodeFailure.EMPTY, f"no bytes where a {self.record_name} was expected")
        if len(message) > self._max_bytes:
            raise DecodeError(
                DecodeFailure.OVERSIZED,
                f"{len(message)} bytes; a {self.record_name} has at most {self._max_bytes}",
            )
        writer, body = self._split(message)
        buffer = io.BytesIO(body)
        try:
            record = fastavro.schemaless_reader(buffer, writer, self._reader)
        except Exception as error:  # fastavro raises whatever the bytes provoke; decoding has to be total
            raise DecodeError(
                DecodeFailure.MALFORMED, f"not the body of a {self.record_name}: {type(error).__name__}"
            ) from error
        if buffer.tell() != len(body):
            raise DecodeError(
                DecodeFailure.MALFORMED,
                f"{len(body) - buffer.tell()} bytes after the end of the {self.record_name}",
            )
        if not isinstance(record, dict):
            raise DecodeError(DecodeFailure.MALFORMED, f"not a {self.record_name}")
        return record

    def matches(self, message: bytes) -> bool:
        """Whether the message's fingerprint is one of this record's."""
        return message[:2] == _MARKER and message[2:_HEADER_BYTES] in self._writers

    def _split(self, message: bytes) -> tuple[Any, bytes]:
        if message[:2] == _MARKER and len(message) >= _HEADER_BYTES:
            writer = self._writers.get(message[2:_HEADER_BYTES])
            if writer is not None:
                return writer, message[_HEADER_BYTES:]
        elif message[:1] == _REGISTRY_MAGIC and len(message) >= _REGISTRY_HEADER_BYTES:
            return self._reader, message[_REGISTRY_HEADER_BYTES:]
        raise DecodeError(
            DecodeFailure.UNKNOWN_SCHEMA,
            f"the message does not begin with the fingerprint of a {self.record_name}",
        )


def _fingerprint(schema: Mapping[str, Any]) -> bytes:
    canonical = fastavro.schema.to_parsing_canonical_form(dict(schema))
    return bytes.fromhex(fastavro.schema.fingerprint(canonical, "CRC-64-AVRO"))
