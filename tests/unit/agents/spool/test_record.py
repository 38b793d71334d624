"""Framing: whatever a crash tears, all earlier records come back and nothing wrong does."""

import zlib

from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.spool.record import FILE_HEADER, SpooledMessage, encode_record, intact_records

MESSAGES = st.builds(
    SpooledMessage,
    topic=st.text(st.characters(codec="utf-8"), max_size=20),
    key=st.binary(max_size=20),
    value=st.binary(max_size=60),
    samples=st.integers(0, 2**32 - 1),
    time_ns=st.integers(0, 2**63 - 1),
)


def file_of(messages: list[SpooledMessage]) -> tuple[bytes, list[int]]:
    """A file, and where each record in it ends."""
    content, ends = FILE_HEADER, []
    for message in messages:
        content += encode_record(message)
        ends.append(len(content))
    return content, ends


@given(st.lists(MESSAGES, max_size=5))
def test_what_was_written_is_read(messages: list[SpooledMessage]) -> None:
    content, ends = file_of(messages)
    assert list(intact_records(content)) == list(zip(ends, messages, strict=True))


@given(st.lists(MESSAGES, min_size=1, max_size=4), st.data())
def test_a_file_torn_at_any_byte_gives_every_earlier_record(
    messages: list[SpooledMessage], data: st.DataObject
) -> None:
    content, ends = file_of(messages)
    torn_at = data.draw(st.integers(0, len(content)))
    whole = sum(end <= torn_at for end in ends)
    for tail in (b"", bytes(len(content) - torn_at + 64), data.draw(st.binary(max_size=40))):
        found = [message for _, message in intact_records(content[:torn_at] + tail)]
        # A random tail may by chance be what was there before the tear.
        assert found[:whole] == messages[:whole]
        if not any(tail):
            assert len(found) == whole or content[torn_at : ends[whole]] == tail[: ends[whole] - torn_at]


@given(st.lists(MESSAGES, min_size=1, max_size=4), st.data())
def test_a_changed_byte_ends_the_records_before_the_one_that_it_is_in(
    messages: list[SpooledMessage], data: st.DataObject
) -> None:
    content, ends = file_of(messages)
    place = data.draw(st.integers(len(FILE_HEADER), len(content) - 1))
    changed = bytearray(content)
    changed[place] ^= data.draw(st.integers(1, 255))
    whole = sum(end <= place for end in ends)
    assert [message for _, message in intact_records(bytes(changed))] == messages[:whole]


def test_zeros_behind_the_last_record_are_no_records() -> None:
    content, ends = file_of([SpooledMessage("t", b"k", b"v", 1, 2)])
    assert [end for end, _ in intact_records(content + bytes(4096))] == ends


def test_a_record_is_laid_out_as_its_description_says() -> None:
    body = (7).to_bytes(8, "little") + (70).to_bytes(4, "little") + b"\x01\x00" + b"\x02\x00" + b"t" + b"no" + b"value"
    length = len(body).to_bytes(4, "little")
    checksum = zlib.crc32(length + body).to_bytes(4, "little")
    assert encode_record(SpooledMessage("t", b"no", b"value", 70, 7)) == length + checksum + body


def test_a_file_of_something_else_has_no_records() -> None:
    assert list(intact_records(b"")) == []
    assert list(intact_records(encode_record(SpooledMessage("t", b"k", b"v", 1, 2)))) == []
