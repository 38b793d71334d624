"""Avro single-object encoding with bounded, total decoding.

A message is the marker C3 01, the little-endian CRC-64-AVRO fingerprint of the writer's schema, and the Avro body
(Avro specification, "Single-object encoding"). On input the Schema Registry's wire format (a zero byte and a four-byte
schema id before the body) is read too, with the newest schema as the writer's.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import fastavro
import fastavro.schema

from pulsetrain.schemas.errors import DecodeError, DecodeFailure, EncodeError
from pulsetrain.schemas.repeated_names import RepeatedNames

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
        repeated: arrays of names, in the order of the schema's fields; they are checked on both ends and decoded to
            tuples.
    """

    def __init__(
        self, schemas: Sequence[Mapping[str, Any]], max_bytes: int, repeated: Sequence[RepeatedNames] = ()
    ) -> None:
        self.schemas = tuple(schemas)
        self._repeated = tuple(repeated)
        self._parts = tuple(_parts(schemas[-1], self._repeated))
        self._reader = fastavro.parse_schema(dict(schemas[-1]))
        self._writers = {_fingerprint(schema): fastavro.parse_schema(dict(schema)) for schema in schemas[:-1]}
        self._writers[_fingerprint(schemas[-1])] = self._reader
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
            self._write_parts(buffer, record)
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
        writer, begin = self._split(message)
        buffer = io.BytesIO(message)
        buffer.seek(begin)
        try:
            record = self._read_parts(buffer, message) if writer is self._reader else self._read_older(buffer, writer)
        except DecodeError:
            raise
        except Exception as error:  # fastavro raises whatever the bytes provoke; decoding has to be total
            raise DecodeError(
                DecodeFailure.MALFORMED, f"not the body of a {self.record_name}: {type(error).__name__}"
            ) from error
        if buffer.tell() != len(message):
            raise DecodeError(
                DecodeFailure.MALFORMED,
                f"{len(message) - buffer.tell()} bytes after the end of the {self.record_name}",
            )
        return record

    def matches(self, message: bytes) -> bool:
        """Whether the message's fingerprint is one of this record's."""
        return message[:2] == _MARKER and message[2:_HEADER_BYTES] in self._writers

    def _write_parts(self, buffer: io.BytesIO, record: Record) -> None:
        for schema, names in self._parts:
            if schema is not None:
                fastavro.schemaless_writer(buffer, schema, record)
            if names is not None:
                buffer.write(names.encoded(record[names.field]))

    def _read_parts(self, buffer: io.BytesIO, message: bytes) -> Record:
        record: Record = {}
        for schema, names in self._parts:
            if schema is not None:
                record |= cast(Record, fastavro.schemaless_reader(buffer, schema, None))
            if names is not None:
                record[names.field] = names.read(buffer, message, record)
        return record

    def _read_older(self, buffer: io.BytesIO, writer: Any) -> Record:
        record = cast(Record, fastavro.schemaless_reader(buffer, writer, self._reader))
        return record | {names.field: names.checked(record[names.field]) for names in self._repeated}

    def _split(self, message: bytes) -> tuple[Any, int]:
        """The writer's schema, and where the body begins."""
        if message[:2] == _MARKER and len(message) >= _HEADER_BYTES:
            writer = self._writers.get(message[2:_HEADER_BYTES])
            if writer is not None:
                return writer, _HEADER_BYTES
        elif message[:1] == _REGISTRY_MAGIC and len(message) >= _REGISTRY_HEADER_BYTES:
            return self._reader, _REGISTRY_HEADER_BYTES
        raise DecodeError(
            DecodeFailure.UNKNOWN_SCHEMA,
            f"the message does not begin with the fingerprint of a {self.record_name}",
        )


def _parts(schema: Mapping[str, Any], repeated: Sequence[RepeatedNames]) -> Iterator[tuple[Any, RepeatedNames | None]]:
    """A record is its fields one after another: the stretches between arrays of names, as records of their own."""
    fields = list(schema["fields"])
    for names in repeated:
        position = [field["name"] for field in fields].index(names.field)
        yield _part(schema, fields[:position]), names
        fields = fields[position + 1 :]
    yield _part(schema, fields), None


def _part(schema: Mapping[str, Any], fields: Sequence[Any]) -> Any:
    return fastavro.parse_schema({**schema, "fields": list(fields)}) if fields else None


def _fingerprint(schema: Mapping[str, Any]) -> bytes:
    canonical = fastavro.schema.to_parsing_canonical_form(dict(schema))
    return bytes.fromhex(fastavro.schema.fingerprint(canonical, "CRC-64-AVRO"))
