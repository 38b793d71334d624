"""One message as bytes: length and CRC-32 in front, so that what a crash tore apart is told from what is whole."""

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

FILE_HEADER = b"PTSPOOL\x01"
"""First bytes of a file of records; the last one is the version of what follows."""

FRAME_BYTES = 8
_LENGTH = struct.Struct("<I")
_CHECKSUM = struct.Struct("<I")
_HEAD = struct.Struct("<QIHH")
"""Time, samples, and how many bytes the topic and the key have."""


class SpooledMessage(NamedTuple):
    """A message for Kafka: `time_ns` is when it was made (Unix), `samples` how many are lost if it is."""

    topic: str
    key: bytes
    value: bytes
    samples: int
    time_ns: int


def encode_record(message: SpooledMessage) -> bytes:
    """Length of the body (uint32), CRC-32 of length and body (uint32), body; all little-endian."""
    topic = message.topic.encode()
    head = _HEAD.pack(message.time_ns, message.samples, len(topic), len(message.key))
    length = _LENGTH.pack(len(head) + len(topic) + len(message.key) + len(message.value))
    body = b"".join((head, topic, message.key, message.value))
    return b"".join((length, _CHECKSUM.pack(zlib.crc32(body, zlib.crc32(length))), body))


def body_bytes(frame: bytes) -> int:
    """How many bytes follow a frame."""
    length: int = _LENGTH.unpack_from(frame)[0]
    return length


def decode_record(frame: bytes, body: bytes) -> SpooledMessage | None:
    """The message of a frame and its body; None if they are not what was written."""
    if len(frame) < FRAME_BYTES or len(body) < _HEAD.size or len(body) != body_bytes(frame):
        return None
    if zlib.crc32(body, zlib.crc32(frame[: _LENGTH.size])) != _CHECKSUM.unpack_from(frame, _LENGTH.size)[0]:
        return None
    time_ns, samples, topic_bytes, key_bytes = _HEAD.unpack_from(body)
    key_begins = _HEAD.size + topic_bytes
    value_begins = key_begins + key_bytes
    topic = body[_HEAD.size : key_begins].decode()
    return SpooledMessage(topic, body[key_begins:value_begins], body[value_begins:], samples, time_ns)


def intact_records(content: bytes) -> Iterator[tuple[int, SpooledMessage]]:
    """The messages of a file up to the first that is not whole, each with the offset at which it ends.

    There are none in a file without `FILE_HEADER`.
    """
    if not content.startswith(FILE_HEADER):
        return
    offset = len(FILE_HEADER)
    while len(frame := content[offset : offset + FRAME_BYTES]) == FRAME_BYTES:
        end = offset + FRAME_BYTES + body_bytes(frame)
        message = decode_record(frame, content[offset + FRAME_BYTES : end])
        if message is None:
            return
        yield end, message
        offset = end
