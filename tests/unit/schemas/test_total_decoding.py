"""Decoding is total: any bytes give a record or a `DecodeError`, for every record that travels."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pulsetrain.schemas.anomaly import Anomaly
from pulsetrain.schemas.errors import DecodeError
from pulsetrain.schemas.feature_window import FeatureWindow, decode_feature_window, encode_feature_window
from pulsetrain.schemas.json_record import decode_json, encode_json
from pulsetrain.schemas.label import Label
from pulsetrain.schemas.model_release import (
    ModelChunk,
    ModelManifest,
    ModelPointer,
    decode_model_record,
    encode_model_record,
)
from pulsetrain.schemas.sample_block import SampleBlock, decode_sample_block, encode_sample_block
from pulsetrain.schemas.status import Status

GOLDEN = Path(__file__).parents[2] / "data" / "golden"

Decoder = Callable[[bytes | None], object]

DECODERS: dict[str, Decoder] = {
    "sample_block.bin": decode_sample_block,
    "feature_window.bin": decode_feature_window,
    "model_manifest.bin": decode_model_record,
    "model_chunk.bin": decode_model_record,
    "model_pointer.bin": decode_model_record,
    "anomaly.json": partial(decode_json, record_type=Anomaly),
    "label.json": partial(decode_json, record_type=Label),
    "label_missed.json": partial(decode_json, record_type=Label),
    "status.json": partial(decode_json, record_type=Status),
}

# Any bytes that once stopped a consumer somewhere.
POISON = [
    b"",
    b"null",
    b"[]",
    b"\xff\xfe",
    b'{"node":"a","v":"abc"}',
    b'{"node":"a","v":null}',
    b'{"v":1}',
    b'{"node":5,"v":1}',
    b'{"node":"a","v":NaN}',
]


def newest(name: str) -> bytes:
    """The golden message of a record's newest version."""
    return max(GOLDEN.glob(f"v*/{name}")).read_bytes()


def encode(record: object) -> bytes:
    """The message of a decoded record; what was decoded can always be passed on."""
    match record:
        case SampleBlock():
            return encode_sample_block(record)
        case FeatureWindow():
            return encode_feature_window(record)
        case ModelManifest() | ModelChunk() | ModelPointer():
            return encode_model_record(record)
        case Anomaly() | Label() | Status():
            return encode_json(record)
    raise AssertionError(f"{record} is no record")


def check(decode: Decoder, message: bytes) -> None:
    try:
        record = decode(message)
    except DecodeError:
        return
    assert encode(decode(encode(record))) == encode(record)


@st.composite
def damaged(draw: st.DrawFn, message: bytes) -> bytes:
    """The message with a few bytes replaced, cut out, put in, or its end cut off."""
    damaged = bytearray(message)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(damaged)))
        removed = draw(st.sampled_from([0, 1, 1, 8, len(damaged)]))
        damaged[start : start + removed] = draw(st.binary(max_size=10))
    return bytes(damaged)


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("message", POISON)
def test_poison_is_refused_and_the_next_good_message_is_read(name: str, message: bytes) -> None:
    decode = DECODERS[name]
    with pytest.raises(DecodeError):
        decode(message)
    assert decode(newest(name))


@pytest.mark.parametrize("name", DECODERS)
def test_a_message_cut_off_anywhere_is_refused(name: str) -> None:
    message = newest(name)
    for length in range(len(message)):
        with pytest.raises(DecodeError):
            DECODERS[name](message[:length])


@pytest.mark.parametrize("name", DECODERS)
@given(data=st.data())
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_a_damaged_message_gives_a_record_or_a_decode_error(name: str, data: st.DataObject) -> None:
    check(DECODERS[name], data.draw(damaged(newest(name))))


@pytest.mark.parametrize("name", ["sample_block.bin", "feature_window.bin", "model_manifest.bin"])
@given(data=st.data())
@settings(deadline=None)
def test_a_damaged_body_in_the_wire_format_of_the_schema_registry_gives_a_record_or_a_decode_error(
    name: str, data: st.DataObject
) -> None:
    body = newest(name)[10:]
    DECODERS[name](b"\0\0\0\0\7" + body)
    check(DECODERS[name], b"\0\0\0\0\7" + data.draw(damaged(body)))


@pytest.mark.parametrize("name", DECODERS)
@given(message=st.binary(max_size=200) | st.text().map(str.encode))
@example(b"[" * 200_000)
@example(b'{"a":' * 50_000)
@settings(deadline=None)
def test_any_bytes_give_a_record_or_a_decode_error(name: str, message: bytes) -> None:
    check(DECODERS[name], message)
