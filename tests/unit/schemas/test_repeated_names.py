"""Arrays of names that are read once: the same names as without a memory, whatever came before."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.schemas.avro import AvroCodec
from pulsetrain.schemas.errors import DecodeError, DecodeFailure, EncodeError
from pulsetrain.schemas.repeated_names import RepeatedNames

FIRST = {
    "type": "record",
    "name": "Reading",
    "fields": [
        {"name": "node", "type": "string"},
        {"name": "metrics", "type": {"type": "array", "items": "string"}},
        {"name": "units", "type": {"type": "array", "items": "string"}},
        {"name": "values", "type": "bytes"},
    ],
}
SECOND = {**FIRST, "fields": [*FIRST["fields"], {"name": "rack", "type": "string", "default": "unknown"}]}
PLAIN = AvroCodec([FIRST], max_bytes=100_000)


def empty_name(names: Sequence[str]) -> str | None:
    return None if all(names) else "a name is empty"


def codec(limit_bytes: int = 100_000, schemas: Sequence[dict[str, Any]] = (FIRST,)) -> AvroCodec:
    repeated = [
        RepeatedNames("metrics", ["node"], empty_name, limit_bytes),
        RepeatedNames("units", [], empty_name, limit_bytes),
    ]
    return AvroCodec(schemas, 100_000, repeated)


def reading(metrics: Sequence[str], node: str = "a", units: Sequence[str] = ("1", "By")) -> dict[str, Any]:
    return {"node": node, "metrics": list(metrics), "units": list(units), "values": b"12345678"}


some_names = st.lists(st.sampled_from(["a", "b", "ab", "é" * 40, "system.cpu.time"]), max_size=4)
readings = st.builds(reading, some_names, st.sampled_from(["a", "b"]), some_names)


@given(st.lists(readings, max_size=20), st.sampled_from([0, 700, 100_000]))
def test_names_are_those_that_a_codec_without_memory_reads(sent: list[dict[str, Any]], limit_bytes: int) -> None:
    remembering = codec(limit_bytes)
    for record in sent:
        message = PLAIN.encode(record)
        received = remembering.decode(message)
        assert received == record | {name: tuple(record[name]) for name in ("metrics", "units")}
        assert remembering.encode(received) == message


def test_the_same_names_are_one_tuple_also_where_two_nodes_send_them() -> None:
    remembering = codec()
    messages = [PLAIN.encode(reading(["load", "v"], node)) for node in ("a", "a", "b")]
    first, second, other = (remembering.decode(message)["metrics"] for message in messages)
    assert first is second is other


def test_names_that_go_on_where_known_ones_end_are_read_anew() -> None:
    remembering = codec()
    for metrics in (["a"], ["a", "b"], ["a"], ["a", "b", "c"]):
        assert remembering.decode(PLAIN.encode(reading(metrics)))["metrics"] == tuple(metrics)


def test_an_array_in_several_blocks_has_the_names_of_all() -> None:
    # The Avro specification's array: blocks of a count and items, one with its size in bytes, until a count of 0.
    in_one_block = b"\x04\x02a\x02b\x00"
    in_two_blocks = b"\x02\x02a" + b"\x01\x04\x02b" + b"\x00"
    message = PLAIN.encode(reading(["a", "b"]))
    assert message.count(in_one_block) == 1
    remembering = codec()
    for _ in range(2):
        received = remembering.decode(message.replace(in_one_block, in_two_blocks))
        assert received == remembering.decode(message)


def test_names_that_break_a_rule_are_refused_each_time_and_on_both_ends() -> None:
    remembering, wrong = codec(), reading(["a", ""])
    for _ in range(3):
        with pytest.raises(DecodeError, match="a name is empty") as caught:
            remembering.decode(PLAIN.encode(wrong))
        assert caught.value.failure is DecodeFailure.INVALID
        with pytest.raises(EncodeError, match="a name is empty"):
            remembering.encode(wrong)


@pytest.mark.parametrize("kept", range(11, 30))
def test_a_message_that_ends_early_is_malformed_also_where_its_names_are_known(kept: int) -> None:
    remembering, message = codec(), PLAIN.encode(reading(["load", "v"]))
    remembering.decode(message)
    with pytest.raises(DecodeError) as caught:
        remembering.decode(message[:kept])
    assert caught.value.failure is DecodeFailure.MALFORMED


def test_messages_of_an_older_schema_are_read_and_checked_too() -> None:
    newer = codec(schemas=(FIRST, SECOND))
    received = newer.decode(PLAIN.encode(reading(["load"])))
    assert (received["metrics"], received["rack"]) == (("load",), "unknown")
    with pytest.raises(DecodeError, match="a name is empty"):
        newer.decode(PLAIN.encode(reading([""])))


def test_what_is_remembered_stays_within_its_limit() -> None:
    names = RepeatedNames("metrics", ["node"], empty_name, limit_bytes=10_000)
    remembering = AvroCodec([FIRST], 100_000, [names])
    for number in range(1000):
        remembering.decode(PLAIN.encode(reading([f"metric.{number}"], node=f"node-{number}")))
        assert 0 < names.taken_bytes <= 10_000
