"""Anomaly, Label and Status as JSON: what is taken, what is refused, and with which words."""

import json
import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.schemas.anomaly import (
    Anomaly,
    AnomalyState,
    DataQuality,
    Evidence,
    Model,
    Vote,
    anomaly_id,
    utc_time,
)
from pulsetrain.schemas.errors import DecodeError, DecodeFailure, EncodeError
from pulsetrain.schemas.json_record import MAX_JSON_BYTES, decode_json, encode_json
from pulsetrain.schemas.label import Label, LabelVerdict
from pulsetrain.schemas.status import Severity, Status, StatusEvent

LABEL: dict[str, Any] = {
    "anomaly_id": "a/host@20260101T000030.000Z:detect",
    "verdict": "false_positive",
    "by": "olga",
    "at": "2026-01-01T08:15:00Z",
}
MISSED: dict[str, Any] = LABEL | {
    "anomaly_id": "a/host@2026-01-01T02:00:00Z",
    "verdict": "missed",
    "entity": "a/host",
    "start": "2026-01-01T02:00:00+02:00",
    "end": "2026-01-01T00:05:00Z",
}
STATUS: dict[str, Any] = {
    "source": "a",
    "event": "heartbeat",
    "severity": "info",
    "at": "2026-01-01T08:15:00Z",
    "message": "",
}


def label(**changes: Any) -> bytes:
    return json.dumps(LABEL | changes).encode()


def refusal(message: bytes, record_type: type[Any] = Label) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        decode_json(message, record_type)
    return caught.value


@pytest.mark.parametrize(
    ("message", "failure"),
    [
        (b"", DecodeFailure.EMPTY),
        (b"null", DecodeFailure.INVALID),
        (b"[]", DecodeFailure.INVALID),
        (b'"label"', DecodeFailure.INVALID),
        (b"\xff\xfe", DecodeFailure.MALFORMED),
        (b'{"anomaly_id":"a"', DecodeFailure.MALFORMED),
        (label()[:-1], DecodeFailure.MALFORMED),
        (label() + label(), DecodeFailure.MALFORMED),
        (label(by=5), DecodeFailure.INVALID),
        (label(by=None), DecodeFailure.INVALID),
        (label(by=""), DecodeFailure.INVALID),
        (label(by="o" * 513), DecodeFailure.INVALID),
        (label(note="n" * 4097), DecodeFailure.INVALID),
        (label(anomaly_id=["a"]), DecodeFailure.INVALID),
        (label(verdict="maybe"), DecodeFailure.INVALID),
        (label(at="2026-01-01T08:15:00"), DecodeFailure.INVALID),
        (label(at="yesterday"), DecodeFailure.INVALID),
        (label(at=1767255300), DecodeFailure.INVALID),
        (label(at="0001-01-01T00:00:00+23:59"), DecodeFailure.INVALID),
        (label(at="9999-12-31T23:59:59-23:59"), DecodeFailure.INVALID),
        (label(by="\ud800"), DecodeFailure.MALFORMED),
        (b'{"shift":' + b"[" * 200_000, DecodeFailure.MALFORMED),
        (label(note="n" * MAX_JSON_BYTES), DecodeFailure.OVERSIZED),
    ],
)
def test_a_bad_label_is_refused_and_the_reason_is_told_apart(message: bytes, failure: DecodeFailure) -> None:
    assert refusal(message).failure is failure


def test_a_tombstone_is_empty() -> None:
    with pytest.raises(DecodeError) as caught:
        decode_json(None, Label)
    assert caught.value.failure is DecodeFailure.EMPTY


def test_the_refusal_names_the_field_and_what_was_expected() -> None:
    assert str(refusal(label(by=5))) == "invalid: Label: Expected `str`, got `int` - at `$.by`"
    assert "`at`" in str(refusal(json.dumps({k: v for k, v in LABEL.items() if k != "at"}).encode()))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_json_does_not_have_are_refused(number: str) -> None:
    message = json.dumps(STATUS | {"details": {"v": 1.5}}).replace("1.5", number).encode()
    assert refusal(message, Status).failure in {DecodeFailure.MALFORMED, DecodeFailure.INVALID}


@pytest.mark.parametrize("value", ["abc", True, [1], {"a": 1}])
def test_a_score_that_is_no_number_is_refused(value: object) -> None:
    quality = {"missing": 0, "filled": 0, "late": 0, "out_of_order": 0, "invalid": 0, "imputed_columns": 0}
    vote = {"detector": "zscore", "score": 1.0, "threshold": 3, "flagged": False}
    assert msgspec.convert(vote, Vote).threshold == 3.0
    for field, record_type, good in (("score", Vote, vote), ("missing", DataQuality, quality)):
        assert refusal(json.dumps(good | {field: value}).encode(), record_type).failure is DecodeFailure.INVALID


@pytest.mark.parametrize(("share", "good"), [(0, True), (1, True), (-0.01, False), (1.01, False), (None, False)])
def test_a_share_lies_between_0_and_1(share: float | None, good: bool) -> None:
    quality = {"missing": share, "filled": 0, "late": 0, "out_of_order": 0, "invalid": 0, "imputed_columns": 0}
    message = json.dumps(quality).encode()
    if good:
        assert decode_json(message, DataQuality).missing == share
    else:
        assert refusal(message, DataQuality).failure is DecodeFailure.INVALID


def test_a_label_written_by_hand_is_read_and_unknown_fields_are_ignored() -> None:
    assert decode_json(label(shift="night"), Label) == Label(
        anomaly_id="a/host@20260101T000030.000Z:detect",
        verdict=LabelVerdict.FALSE_POSITIVE,
        by="olga",
        at=datetime(2026, 1, 1, 8, 15, tzinfo=UTC),
    )


def test_a_missed_fault_carries_where_and_when_it_was() -> None:
    missed = decode_json(json.dumps(MISSED).encode(), Label)
    assert missed.start == datetime(2026, 1, 1, 0, 0, tzinfo=UTC)
    assert missed.end == datetime(2026, 1, 1, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "changes",
    [
        {"entity": None},
        {"start": None},
        {"end": None},
        {"end": MISSED["start"]},
        {"end": "2026-01-01T01:59:59+02:00"},
        {"verdict": "true_positive"},
    ],
)
def test_a_missed_fault_without_a_place_or_a_span_is_refused(changes: dict[str, Any]) -> None:
    assert "missed fault" in str(refusal(json.dumps(MISSED | changes).encode()))


times = st.datetimes(
    datetime(1970, 1, 2),  # noqa: DTZ001
    datetime(2261, 12, 30),  # noqa: DTZ001
    timezones=st.just(UTC) | st.integers(-23, 23).map(lambda hours: timezone(timedelta(hours=hours))),
)
texts = st.text(min_size=1, max_size=30)
numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)
shares = st.floats(0, 1)
counts = st.integers(0, 2**63 - 1)
labels = st.builds(
    Label, anomaly_id=texts, verdict=st.sampled_from(["false_positive", "true_positive"]).map(LabelVerdict),
    by=texts, at=times, note=st.text(max_size=50), entity=st.none(), start=st.none(), end=st.none(),
)  # fmt: skip
statuses = st.builds(
    Status, source=texts, event=st.sampled_from(StatusEvent), severity=st.sampled_from(Severity), at=times,
    message=st.text(), entity=st.none() | texts,
    details=st.dictionaries(st.text(), st.text() | st.integers(-(2**63), 2**63 - 1) | numbers, max_size=4),
)  # fmt: skip
anomalies = st.builds(
    Anomaly, id=texts, revision=counts, state=st.sampled_from(AnomalyState), stage=texts, entity=texts,
    node=texts, labels=st.dictionaries(st.text(), st.text(), max_size=3), first_window_end=times,
    window_start=times, window_end=times, flagged_windows=counts, score=numbers,
    votes=st.lists(
        st.builds(Vote, detector=texts, score=numbers, threshold=numbers, flagged=st.booleans()), max_size=3
    ),
    evidence=st.lists(
        st.builds(Evidence, metric=texts, feature=texts, value=numbers, expected=numbers, deviation_sigma=numbers),
        max_size=3,
    ),
    model=st.builds(Model, name=texts, version=counts),
    data_quality=st.builds(
        DataQuality, missing=shares, filled=shares, late=shares, out_of_order=shares, invalid=shares,
        imputed_columns=counts,
    ),
)  # fmt: skip


@given(labels | statuses | anomalies)
def test_what_is_encoded_is_decoded(record: msgspec.Struct) -> None:
    message = encode_json(record)
    assert decode_json(message, type(record)) == record
    json.loads(message, parse_constant=pytest.fail)  # the standard library reads it too, without NaN


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_can_not_carry_becomes_null(number: float) -> None:
    vote = Vote(detector="zscore", score=number, threshold=3.0, flagged=False)
    assert json.loads(encode_json(vote))["score"] is None


@pytest.mark.parametrize(
    "record",
    [
        DataQuality(missing=math.nan, filled=0, late=0, out_of_order=0, invalid=0, imputed_columns=0),
        DataQuality(missing=1.5, filled=0, late=0, out_of_order=0, invalid=0, imputed_columns=0),
        Model(name="", version=1),
        Model(name="host", version=-1),
        Model(name="host", version=2**63),
        Model(name="\ud800", version=1),
        Label(anomaly_id="a", verdict=LabelVerdict.TRUE_POSITIVE, by="o" * 513, at=datetime(2026, 1, 1, tzinfo=UTC)),
        Status(
            source="a",
            event=StatusEvent.STARTED,
            severity=Severity.INFO,
            at=datetime(2026, 1, 1, tzinfo=UTC),
            message="m" * MAX_JSON_BYTES,
        ),
    ],
)
def test_a_record_that_readers_would_refuse_is_not_encoded(record: msgspec.Struct) -> None:
    with pytest.raises(EncodeError, match=type(record).__name__):
        encode_json(record)


def test_a_time_without_an_offset_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="at needs an offset from UTC"):
        Label(
            anomaly_id="a",
            verdict=LabelVerdict.TRUE_POSITIVE,
            by="o",
            at=datetime(2026, 1, 1),  # noqa: DTZ001
        )


def test_nanoseconds_are_rounded_down_to_microseconds_in_utc() -> None:
    # 2026-01-01T00:00:00Z is 20454 days after the epoch.
    assert utc_time(20_454 * 86_400 * 10**9 + 1_999) == datetime(2026, 1, 1, microsecond=1, tzinfo=UTC)
    assert utc_time(0) == datetime(1970, 1, 1, tzinfo=UTC)
    assert utc_time(2**63 - 1) == datetime(2262, 4, 11, 23, 47, 16, 854_775, tzinfo=UTC)


def test_an_anomaly_is_named_by_entity_first_window_end_and_stage() -> None:
    end_ns = (20_454 * 86_400 + 30) * 10**9 + 250_000_000
    assert anomaly_id("a/host", end_ns, "detect") == "a/host@20260101T000030.250Z:detect"
