"""Messages on a terminal and as JSON lines: readable, complete, and never commands to the terminal."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.cli.decoding import DeadLetter, Tombstone, decode
from pulsetrain.cli.json_lines import json_line
from pulsetrain.cli.rendering import readable, undecodable
from pulsetrain.cli.topic_reader import Received
from pulsetrain.schemas.dead_letter import Position, dead_letter_headers
from pulsetrain.schemas.errors import DecodeError
from pulsetrain.schemas.status import Severity, Status, StatusEvent
from pulsetrain.schemas.topics import (
    ALL_TOPICS,
    ANOMALIES,
    DEAD_LETTER,
    FEATURES,
    LABELS,
    MODELS,
    SAMPLES,
    STATUS,
    Topic,
)

GOLDEN = Path(__file__).parents[2] / "data" / "golden" / "v1"
GOLDEN_NAMES = {
    SAMPLES: ["sample_block.bin"],
    FEATURES: ["feature_window.bin"],
    ANOMALIES: ["anomaly.json"],
    LABELS: ["label.json", "label_missed.json"],
    MODELS: ["model_manifest.bin", "model_chunk.bin", "model_pointer.bin"],
    STATUS: ["status.json"],
    DEAD_LETTER: ["sample_block.bin", "status.json"],
}
COMMANDING = [b"\x1b", b"\x7f", "\x9b".encode(), "\u202e".encode(), rb"\u001b", rb"\u009b"]
AT = datetime(2026, 1, 1, tzinfo=UTC)


def received(value: bytes | None, headers: dict[str, bytes | None] | None = None) -> Received:
    return Received(Position("pulsetrain.t", 2, 17), AT, "node-00", value, headers or {})


def golden(name: str) -> Received:
    return received((GOLDEN / name).read_bytes())


@pytest.mark.parametrize(
    ("topic", "name", "parts"),
    [
        (
            SAMPLES,
            "sample_block.bin",
            [
                "2026-01-01T00:00:00.100Z node-00/host host block 42: 2 ticks x 3 metrics, 16.7% missing",
                "job=llama  rank=3",
                "system.cpu.utilization=-0  system.memory.usage=4.94066e-324  hw.gpu.temperature=71.3",
            ],
        ),
        (
            FEATURES,
            "feature_window.bin",
            [
                "2026-01-01T00:00:30.000Z node-00/gpu:GPU-é window of 30 s: 2 metrics x 3 features, 33.3% missing",
                "samples expected 330, measured 297, resampled 1, filled 2, late 3, out_of_order 4, invalid 35",
                "closed before its end",
            ],
        ),
        (
            ANOMALIES,
            "anomaly.json",
            [
                "2026-01-01T00:00:35.000Z CLOSED node-00/host  score 1.75, 2 windows flagged",
                "id       node-00/host@20260101T000030.000Z:detect  revision 1",
                "evidence system.cpu.utilization mean 0.99, expected 0.25 (9.5 sigma)",
                "vote     zscore 9.5, threshold 3 flagged",
                "vote     mahalanobis missing, threshold missing not flagged",
                "model    host version 7; samples missing 0.0%, filled 1.0%",
                "invalid 100.0%; 3 columns imputed",
            ],
        ),
        (
            LABELS,
            "label.json",
            [
                "2026-01-01T08:15:00.000Z false_positive node-00/host@20260101T000030.000Z:detect by olga",
                "olga: nightly backup – no fault",
            ],
        ),
        (LABELS, "label_missed.json", ["(2026-01-01T02:00:00.000Z to 2026-01-01T02:05:00.000Z) by olga"]),
        (
            STATUS,
            "status.json",
            [
                "2026-01-01T00:00:00.250Z warning node-00 samples_dropped about node-00/host: 12 of 1200 blocks",
                "could not be sent  dropped=12  share=0.01  reason=queue full  oldest=missing",
            ],
        ),
        (
            MODELS,
            "model_manifest.bin",
            ["host version 7 (labels): 2 columns, graph 600000 bytes, state 1000 bytes in 2 chunks", "720 windows"],
        ),
        (MODELS, "model_chunk.bin", ["chunk host/7/1  256 bytes"]),
        (MODELS, "model_pointer.bin", ["pointer host", "version 7 from 2026-01-01T00:00:10.000Z"]),
    ],
)
def test_a_record_is_shown_with_what_matters(topic: Topic, name: str, parts: list[str]) -> None:
    text = readable(decode(topic, golden(name))).plain
    for part in parts:
        assert part in text


def test_a_dead_letter_is_shown_with_origin_reason_and_first_bytes() -> None:
    headers = dict(dead_letter_headers(Position("pulsetrain.samples", 3, 41), "malformed: not the body"))
    letter = decode(DEAD_LETTER, received(b"\x1b[31m\xff" + b"x" * 100, dict(headers)))
    text = readable(letter).plain
    assert "pulsetrain.samples[3]@41: malformed: not the body" in text
    assert "106 bytes: \\x1b[31m\\xff" + "x" * 54 in text
    assert "x" * 55 not in text


def test_a_dead_letter_of_another_producer_is_shown_without_headers() -> None:
    assert decode(DEAD_LETTER, received(b"?", {"reason": None})) == DeadLetter("?", "?", "?", "", b"?")


def test_a_tombstone_is_a_deletion_where_the_topic_is_compacted_and_no_record_elsewhere() -> None:
    assert readable(decode(LABELS, received(None))).plain == "deleted node-00"
    with pytest.raises(DecodeError, match="empty"):
        decode(STATUS, received(None))


def test_what_can_not_be_decoded_is_shown_with_position_and_reason() -> None:
    line = undecodable(Position("pulsetrain.status", 2, 17), "invalid: \x1b[2J")
    assert line.plain == "undecodable pulsetrain.status[2]@17: invalid: \\x1b[2J"


@st.composite
def mutated_golden_messages(draw: st.DrawFn, name: str) -> bytes:
    """The message, a few places of it overwritten (so that lengths before a text still hold)."""
    message = bytearray((GOLDEN / name).read_bytes())
    for _ in range(draw(st.integers(0, 3))):
        patch = draw(st.one_of(st.sampled_from(COMMANDING), st.binary(min_size=1, max_size=8)))
        place = draw(st.integers(0, len(message) - len(patch)))
        message[place : place + len(patch)] = patch
    return bytes(message)


def shown(topic: Topic, value: bytes) -> str | None:
    """The text on the terminal, without its line ends; None if the message is refused."""
    headers = dict(dead_letter_headers(Position("t", 0, 0), value.decode(errors="replace")))
    try:
        return readable(decode(topic, received(value, dict(headers)))).plain.replace("\n", "")
    except DecodeError:
        return None


@pytest.mark.parametrize("topic", ALL_TOPICS, ids=lambda topic: topic.name)
@given(data=st.data())
def test_any_bytes_on_any_topic_are_shown_or_refused(topic: Topic, data: st.DataObject) -> None:
    mutated = st.sampled_from(GOLDEN_NAMES[topic]).flatmap(mutated_golden_messages)
    text = shown(topic, data.draw(st.one_of(mutated, st.binary(max_size=60))))
    assert text is None or text.isprintable()


@pytest.mark.parametrize("topic", ALL_TOPICS, ids=lambda topic: topic.name)
def test_a_command_to_the_terminal_is_escaped_or_refused_at_every_place_of_a_message(topic: Topic) -> None:
    for name in GOLDEN_NAMES[topic]:
        message = (GOLDEN / name).read_bytes()
        texts = [
            shown(topic, message[:place] + command + message[place + len(command) :])
            for command in COMMANDING
            for place in range(len(message) - len(command))
        ]
        assert all(text is None or text.isprintable() for text in texts)
        escaped = {text for text in texts if text and re.search(r"\\x1b|\\x7f|\\x9b|\\u202e", text)}
        assert len(escaped) >= 10, name


@given(st.text())
def test_no_text_of_a_message_can_command_the_terminal(text: str) -> None:
    status = Status(
        source="a", event=StatusEvent.STARTED, severity=Severity.INFO, at=AT, message=text, details={text: text}
    )
    assert readable(status).plain.isprintable()
    if text.isprintable():
        assert text in readable(status).plain


def line(topic: Topic, message: Received) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(json_line(message, decode(topic, message)), parse_constant=pytest.fail)
    return parsed


def test_a_json_line_has_position_key_and_every_field() -> None:
    parsed = line(SAMPLES, golden("sample_block.bin"))
    record = parsed.pop("record")
    assert parsed == {
        "topic": "pulsetrain.t",
        "partition": 2,
        "offset": 17,
        "at": "2026-01-01T00:00:00Z",
        "key": "node-00",
    }
    assert record["ticks_ns"] == [1_767_225_600_000_000_000, 1_767_225_600_100_000_000]
    assert record["values"] == [[0.25, 8_589_934_592.0, None], [-0.0, 5e-324, 71.3]]
    assert record["missing"] == {"hw.gpu.temperature": "not_supported"}


@pytest.mark.parametrize(("topic", "name"), [(ANOMALIES, "anomaly.json"), (STATUS, "status.json")])
def test_a_json_line_carries_a_json_record_unchanged(topic: Topic, name: str) -> None:
    assert line(topic, golden(name))["record"] == json.loads((GOLDEN / name).read_bytes())


@pytest.mark.parametrize("name", ["model_manifest.bin", "model_chunk.bin", "model_pointer.bin"])
def test_a_json_line_carries_model_records(name: str) -> None:
    assert line(MODELS, golden(name))["record"]["name"] == "host"


def test_a_json_line_says_what_was_wrong_and_what_was_deleted() -> None:
    assert json.loads(json_line(received(b"?"), None, "malformed: ?"))["error"] == "malformed: ?"
    assert json.loads(json_line(received(None), Tombstone("node-00")))["record"] is None


def test_a_manifest_shows_how_its_columns_were_chosen() -> None:
    message = (GOLDEN.parent / "v2" / "model_manifest.bin").read_bytes()

    text = readable(decode(MODELS, received(message))).plain

    assert "step     stability: 120 windows that share no sample, in 4 spans of time" in text
    assert "step     timeliness: not taken, no fault is labelled" in text
    assert "dropped  volatile 2 of 5: system.memory.usage__mean (0.5) ..." in text
    assert "dropped  duplicate 1 of 5: system.memory.usage__median (0.992) as system.memory.usage__maximum" in text
    assert line(MODELS, received(message))["record"]["selection"]["dropped"][0] == {
        "reason": "volatile",
        "count": 2,
        "named": [{"name": "system.memory.usage__mean", "figure": 0.5, "kept": None}],
    }
