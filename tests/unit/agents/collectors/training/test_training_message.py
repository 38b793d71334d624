"""What a hook sends is what the agent reads, and nothing else is let in."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.collectors.training.message import RefusedError, StepRow, ValuesRow, decode
from pulsetrain.agents.hook.identity import Identity
from pulsetrain.agents.hook.message import MAX_STEPS, Sender, Totals, encode

GOLDEN = (
    b'{"v":1,"job":"llm","rank":3,"session":"5f3a","time_ns":1700000000123999999,"errors":1,"dropped":2,'
    b'"retries":null,"closing":false,"steps":[[1700000000123456789,42,250000000,null]],'
    b'"values":[[41,null,2.5,null,65536.0,2]]}'
)


def changed(**fields: Any) -> bytes:
    return json.dumps(json.loads(GOLDEN) | fields).encode()


def test_a_message_of_version_1_is_read_as_it_is_documented() -> None:
    message = decode(GOLDEN)
    assert (message.job, message.rank, message.session, message.closing) == ("llm", 3, "5f3a", False)
    assert (message.errors, message.dropped, message.retries) == (1, 2, None)
    assert message.steps == [StepRow(1700000000123456789, 42, 250_000_000, None)]
    assert message.values == [ValuesRow(41, None, 2.5, None, 65536.0, 2)]


def test_a_hook_still_writes_version_1() -> None:
    sender = Sender(Identity("llm", 3), "5f3a")
    steps, values = [(1700000000123456789, 42, 250_000_000, None)], [(41, None, 2.5, None, 65536.0, 2)]
    assert encode(sender, 1700000000123999999, Totals(1, 2, None), steps, values, closing=False) == GOLDEN


def test_fields_of_a_later_hook_are_passed_over() -> None:
    message = decode(changed(accelerator="tpu", steps=[[5, 1, 2, 3, "new"]]))
    assert message.steps == [StepRow(5, 1, 2, 3)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"null",
        b"{}",
        b"\xff\xfe",
        b"[" * 10_000,
        GOLDEN[:-1],
        GOLDEN + b"}",
        GOLDEN.replace(b"2.5", b"NaN"),
        GOLDEN.replace(b"2.5", b"1e999"),
        changed(v=2),
        changed(v="1"),
        changed(job=""),
        changed(job="j" * 201),
        changed(job=7),
        changed(rank=-1),
        changed(rank=10_000_000),
        changed(rank=True),
        changed(session=""),
        changed(session="s" * 65),
        changed(errors=-1),
        changed(dropped=2**63),
        changed(time_ns=0),
        changed(steps=[[1, 1, None, None]] * (MAX_STEPS + 1)),
        changed(values=[[1, None, None, None, None, 0]] * (MAX_STEPS + 1)),
        changed(steps=[[0, 1, None, None]]),
        changed(steps=[[1, 1, -1, None]]),
        changed(steps=[[1, 1]]),
        changed(values=[[1, None, "2.5", None, None, 0]]),
        changed(values=[[1, None, None, None, None, 256]]),
    ],
)
def test_anything_else_is_refused(content: bytes) -> None:
    with pytest.raises(RefusedError):
        decode(content)


@given(st.binary(max_size=200) | st.recursive(st.none() | st.integers() | st.floats() | st.text(), st.lists).map(repr))
def test_no_bytes_bring_the_reader_down(content: bytes | str) -> None:
    with pytest.raises(RefusedError):
        decode(content if isinstance(content, bytes) else content.encode(errors="surrogatepass"))
