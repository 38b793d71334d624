"""SampleBlock: what it carries unharmed, and what is refused on both ends."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from msgspec.structs import replace

from pulsetrain.schemas.avro import AvroCodec
from pulsetrain.schemas.errors import DecodeError, DecodeFailure, EncodeError
from pulsetrain.schemas.sample_block import (
    CODEC,
    MAX_BLOCK_BYTES,
    SampleBlock,
    decode_sample_block,
    encode_sample_block,
)

FIRST_NS = 1_767_225_600_000_000_000
HOUR_NS = 3_600_000_000_000


def block(**changes: Any) -> SampleBlock:
    good = SampleBlock(
        node="a",
        session="s",
        boot_id="",
        collector="host",
        entity="a/host",
        sequence=0,
        sent_until_ns=None,
        interval_ns=100_000_000,
        ticks_ns=np.array([FIRST_NS, FIRST_NS + 100_000_000], dtype=np.int64),
        metrics=("load", "v"),
        values=np.array([[1.0, 2.0], [3.0, np.nan]]),
    )
    return replace(good, **changes)


def raw(**changes: Any) -> bytes:
    """A message with fields as no encoder of ours would write them."""
    good = CODEC.decode(encode_sample_block(block()))
    return AvroCodec(CODEC.schemas, MAX_BLOCK_BYTES).encode(good | changes)


names = st.text(min_size=1, max_size=20)


@st.composite
def blocks(draw: st.DrawFn) -> SampleBlock:
    metrics = tuple(draw(st.lists(names, min_size=1, max_size=5, unique=True)))
    steps = draw(st.lists(st.integers(1, 10**9), min_size=1, max_size=20))
    ticks_ns = FIRST_NS + np.cumsum(np.array(steps, dtype=np.int64))
    return SampleBlock(
        node=draw(names),
        session=draw(names),
        boot_id=draw(st.text()),
        collector=draw(names),
        entity=draw(names),
        sequence=draw(st.integers(0, 2**63 - 1)),
        sent_until_ns=draw(st.none() | st.integers(1, 2**63 - 1)),
        interval_ns=draw(st.integers(1, 2**63 - 1)),
        ticks_ns=ticks_ns,
        metrics=metrics,
        values=draw(hnp.arrays(np.float64, (len(ticks_ns), len(metrics)))),
        labels=draw(st.dictionaries(st.text(), st.text(), max_size=3)),
        missing=draw(st.dictionaries(st.sampled_from(metrics), st.text(), max_size=3)),
    )


@given(blocks())
def test_what_is_encoded_is_decoded_bit_for_bit(sent: SampleBlock) -> None:
    received = decode_sample_block(encode_sample_block(sent))
    assert received.ticks_ns.tolist() == sent.ticks_ns.tolist()
    assert received.values.tobytes() == sent.values.tobytes()
    without_arrays: dict[str, Any] = {"ticks_ns": np.array([]), "values": np.array([])}
    assert repr(replace(received, **without_arrays)) == repr(replace(sent, **without_arrays))


def test_a_missing_value_stays_missing_and_arrays_of_any_layout_are_sent_row_by_row() -> None:
    received = decode_sample_block(encode_sample_block(block(values=np.array([[1.0, 3.0], [2.0, np.nan]]).T)))
    np.testing.assert_array_equal(received.values, [[1.0, 2.0], [3.0, np.nan]])


def test_decoded_arrays_cannot_be_written_to() -> None:
    received = decode_sample_block(encode_sample_block(block()))
    with pytest.raises(ValueError, match="read-only"):
        received.values[0, 0] = 5.0


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"node": ""}, "node must have 1 to 512"),
        ({"node": "n" * 513}, "node must have 1 to 512"),
        ({"entity": "e" * 461}, "entity must have 1 to 460"),
        ({"labels": {"k" * 257: ""}}, "more than 256"),
        ({"labels": {"k": "v" * 257}}, "label 'k' has more than 256"),
        ({"session": ""}, "session must have"),
        ({"collector": ""}, "collector must have"),
        ({"metrics": (), "values": np.empty((2, 0))}, "0 metrics"),
        ({"metrics": ("load", "")}, "metric name must have"),
        ({"metrics": ("load", "load")}, "named twice"),
        ({"labels": {str(i): "" for i in range(65)}}, "65 labels"),
        ({"ticks_ns": np.array([], dtype=np.int64), "values": np.empty((0, 2))}, "ticks are allowed"),
        ({"ticks_ns": np.array([FIRST_NS, FIRST_NS])}, "positive and ascending"),
        ({"ticks_ns": np.array([FIRST_NS, FIRST_NS - 1])}, "positive and ascending"),
        ({"ticks_ns": np.array([0, 1])}, "positive and ascending"),
        ({"ticks_ns": np.array([-(2**63), 2**63 - 1])}, "positive and ascending"),
        ({"ticks_ns": np.array([1, 2**63 - 1])}, "span more than 3600 s"),
        ({"ticks_ns": np.array([FIRST_NS, FIRST_NS + HOUR_NS + 1])}, "span more than 3600 s"),
        ({"interval_ns": 0}, "interval must be positive"),
        ({"sequence": -1}, "must not be negative"),
        ({"sent_until_ns": 0}, "must not be negative"),
    ],
)
def test_a_block_that_breaks_a_rule_is_refused_on_both_ends(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(EncodeError, match=reason):
        encode_sample_block(block(**changes))
    as_bytes = {name: v.tobytes() if isinstance(v, np.ndarray) else v for name, v in changes.items()}
    if "metrics" in as_bytes:
        as_bytes["metrics"] = list(as_bytes["metrics"])
    with pytest.raises(DecodeError, match=reason) as caught:
        decode_sample_block(raw(**as_bytes))
    assert caught.value.failure is DecodeFailure.INVALID


def test_a_block_of_exactly_an_hour_is_taken() -> None:
    decode_sample_block(encode_sample_block(block(ticks_ns=np.array([FIRST_NS, FIRST_NS + HOUR_NS]))))


@pytest.mark.parametrize("values", [b"", bytes(31), bytes(33), bytes(40)])
def test_values_that_do_not_fill_the_grid_are_invalid(values: bytes) -> None:
    with pytest.raises(DecodeError, match="field values has"):
        decode_sample_block(raw(values=values))


def test_half_a_tick_is_invalid() -> None:
    with pytest.raises(DecodeError, match="field ticks_ns has 12 bytes"):
        decode_sample_block(raw(ticks_ns=bytes(12)))


def test_a_block_whose_arrays_disagree_is_not_sent() -> None:
    with pytest.raises(EncodeError, match=r"values have shape \(3, 2\) for 2 ticks of 2 metrics"):
        encode_sample_block(block(values=np.zeros((3, 2))))


def test_a_block_above_the_message_limit_is_not_sent() -> None:
    ticks = FIRST_NS + np.arange(MAX_BLOCK_BYTES // 16, dtype=np.int64)
    with pytest.raises(EncodeError, match="exceeds the limit of 1000000 bytes"):
        encode_sample_block(block(ticks_ns=ticks, values=np.zeros((len(ticks), 2))))
