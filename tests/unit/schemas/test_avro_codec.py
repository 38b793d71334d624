"""The Avro codec alone: framing, fingerprints, limits, and bodies that lie about their length."""

import contextlib
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.schemas.avro import AvroCodec
from pulsetrain.schemas.errors import DecodeError, DecodeFailure, EncodeError

FIRST: dict[str, Any] = {
    "type": "record",
    "namespace": "pulsetrain.test",
    "name": "Reading",
    "fields": [{"name": "node", "type": "string"}, {"name": "counts", "type": {"type": "array", "items": "long"}}],
}
SECOND = {
    **FIRST,
    "fields": [*FIRST["fields"], {"name": "rack", "type": "string", "default": "unknown"}],
}
CODEC = AvroCodec([FIRST], max_bytes=100_000)
HEADER = CODEC.encode({"node": "a", "counts": []})[:10]


def long(value: int) -> bytes:
    """An Avro long: zigzag, then seven bits a byte, lowest first (Avro specification, "Binary encoding")."""
    zigzag = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while zigzag > 0x7F:
        encoded.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*encoded, zigzag])


def failure(codec: AvroCodec, message: bytes | None) -> DecodeFailure:
    with pytest.raises(DecodeError) as caught:
        codec.decode(message)
    return caught.value.failure


def test_a_message_is_marker_fingerprint_and_the_body_of_the_avro_specification() -> None:
    message = CODEC.encode({"node": "foo", "counts": [3, 27]})
    assert message[:2] == b"\xc3\x01"
    # The specification's own examples: "foo" is 06 66 6f 6f, the array [3, 27] is 04 06 36 00.
    assert message[10:].hex() == "06666f6f" + "04063600"


def test_no_bytes_and_a_tombstone_are_empty() -> None:
    assert failure(CODEC, b"") is DecodeFailure.EMPTY
    assert failure(CODEC, None) is DecodeFailure.EMPTY


def test_a_message_above_the_limit_is_oversized_and_never_parsed() -> None:
    assert failure(CODEC, HEADER + bytes(100_000)) is DecodeFailure.OVERSIZED


def test_a_record_above_the_limit_is_not_encoded() -> None:
    with pytest.raises(EncodeError, match=r"Reading of 100\d{3} bytes exceeds the limit of 100000 bytes"):
        CODEC.encode({"node": "a" * 100_000, "counts": []})


@pytest.mark.parametrize(
    "record",
    [
        {"node": 5, "counts": []},
        {"node": None, "counts": []},
        {"node": "\ud800", "counts": []},
        {"counts": []},
        {"node": "a", "counts": ["x"]},
        {"node": "a", "counts": [2**63]},
    ],
)
def test_a_record_that_does_not_fit_its_schema_is_not_encoded(record: dict[str, object]) -> None:
    with pytest.raises(EncodeError, match="Reading does not fit its schema"):
        CODEC.encode(record)


def test_a_message_of_another_schema_is_unknown() -> None:
    number = {**FIRST, "fields": [{"name": "node", "type": "long"}, FIRST["fields"][1]]}
    assert failure(CODEC, AvroCodec([number], 1000).encode({"node": 5, "counts": []})) is DecodeFailure.UNKNOWN_SCHEMA


@pytest.mark.parametrize("head", [b"\xc3", b"\xc3\x01", b"\xc3\x01\0\0\0\0\0\0\0", b"\xff\xfe", b"{}", b"\0\0\0\0"])
def test_a_header_that_is_cut_off_or_foreign_is_an_unknown_schema(head: bytes) -> None:
    assert failure(CODEC, head) is DecodeFailure.UNKNOWN_SCHEMA


def test_the_wire_format_of_the_schema_registry_is_read() -> None:
    # Magic byte 0, a four-byte schema id, the body.
    message = b"\0" + (1234).to_bytes(4, "big") + bytes.fromhex("06666f6f" + "04063600")
    assert CODEC.decode(message) == {"node": "foo", "counts": [3, 27]}


def test_bytes_after_the_record_are_malformed() -> None:
    assert failure(CODEC, CODEC.encode({"node": "a", "counts": [1]}) + b"\0") is DecodeFailure.MALFORMED


def test_an_older_writer_is_read_with_the_new_default() -> None:
    newer = AvroCodec([FIRST, SECOND], 1000)
    assert newer.decode(CODEC.encode({"node": "a", "counts": [1]})) == {"node": "a", "counts": [1], "rack": "unknown"}


def test_a_newer_writer_is_refused_rather_than_misread() -> None:
    newer = AvroCodec([FIRST, SECOND], 1000)
    message = newer.encode({"node": "a", "counts": [], "rack": "r7"})
    assert newer.decode(message)["rack"] == "r7"
    assert failure(CODEC, message) is DecodeFailure.UNKNOWN_SCHEMA
    assert not CODEC.matches(message)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(long(2**62) + b"abc", id="a string of 4 exabytes"),
        pytest.param(long(-1) + b"abc", id="a string of -1 bytes"),
        pytest.param(long(-(2**63)) + b"abc", id="a string of the least length"),
        pytest.param(b"\x80" * 50_000, id="a length without end"),
        pytest.param(long(1) + b"\xff" + long(0), id="a string that is no UTF-8"),
        pytest.param(long(1) + b"a" + long(2**62) + long(1) * 3, id="an array of 2**62 items"),
        pytest.param(long(1) + b"a" + long(-(2**62)) + long(24) + long(1) * 3, id="a sized block of 2**62 items"),
        pytest.param(long(1) + b"a" + long(-(2**63)) + long(0), id="a block count that has no opposite"),
        pytest.param(long(1) + b"a" + long(1) + long(1), id="an array without its end"),
    ],
)
def test_a_body_that_lies_about_its_length_is_malformed(body: bytes) -> None:
    assert failure(CODEC, HEADER + body) is DecodeFailure.MALFORMED


def test_the_costliest_bytes_are_decoded_in_bounded_time_and_memory() -> None:
    names = {**FIRST, "fields": [{"name": "names", "type": {"type": "array", "items": "string"}}]}
    codec = AvroCodec([names], max_bytes=4_000_000)
    header = codec.encode({"names": []})[:10]
    items = 3_999_900
    message = header + long(items) + bytes(items) + b"\0"  # as many empty strings as fit
    tracemalloc.start()
    began = time.process_time()
    try:
        assert len(codec.decode(message)["names"]) == items
    finally:
        seconds, (_, peak_bytes) = time.process_time() - began, tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak_bytes < 64_000_000
    assert seconds < 10


@given(st.binary(max_size=300))
def test_any_body_gives_a_record_or_a_decode_error(body: bytes) -> None:
    for message in (body, HEADER + body, b"\0\0\0\0\1" + body):
        with contextlib.suppress(DecodeError):
            assert CODEC.decode(message).keys() == {"node", "counts"}


@given(st.text(), st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_what_is_encoded_is_decoded(node: str, counts: list[int]) -> None:
    record = {"node": node, "counts": counts}
    assert CODEC.decode(CODEC.encode(record)) == record
    assert CODEC.matches(CODEC.encode(record))
