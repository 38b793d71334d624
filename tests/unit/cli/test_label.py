"""Labels as typed: what is filled in, and what is refused before anything is sent."""

import sys
from datetime import UTC, datetime

import pytest

from pulsetrain.cli.errors import ConfigError
from pulsetrain.cli.label import make_label
from pulsetrain.cli.main import main
from pulsetrain.schemas.label import Label, LabelVerdict

AT = datetime(2026, 1, 1, 8, 15, tzinfo=UTC)


def test_a_verdict_on_an_anomaly_needs_no_more_than_its_id() -> None:
    assert make_label("a/host@20260101T000030.000Z:detect", "false_positive", "olga", AT, "backup") == Label(
        anomaly_id="a/host@20260101T000030.000Z:detect",
        verdict=LabelVerdict.FALSE_POSITIVE,
        by="olga",
        at=AT,
        note="backup",
    )


def test_a_missed_fault_takes_entity_and_start_from_its_id() -> None:
    label = make_label("a/gpu:x@y@2026-01-01T02:00:00Z", "missed", "olga", AT, end="2026-01-01T04:00:00+01:00")
    assert label.entity == "a/gpu:x@y"
    assert label.start == datetime(2026, 1, 1, 2, tzinfo=UTC)
    assert label.end == datetime(2026, 1, 1, 3, tzinfo=UTC)


def test_a_missed_fault_given_in_full_is_taken_as_it_is() -> None:
    label = make_label(
        "a/host@shift-3", "missed", "o", AT, "", "a/host", "2026-01-01T02:00:00Z", "2026-01-01T02:05:00Z"
    )
    assert (label.anomaly_id, label.start) == ("a/host@shift-3", datetime(2026, 1, 1, 2, tzinfo=UTC))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"anomaly_id": ""}, "anomaly_id"),
        ({"anomaly_id": "a" * 513}, "anomaly_id"),
        ({"anomaly_id": "\udcff"}, "JSON"),
        ({"by": ""}, "by"),
        ({"note": "n" * 4097}, "note"),
        ({"entity": "a/host"}, "belong to a missed fault only"),
        ({"verdict": "missed"}, "a missed fault needs entity, start and a later end"),
        ({"verdict": "missed", "anomaly_id": "a/host@yesterday", "end": "2026-01-01T02:05:00Z"}, "start"),
        ({"verdict": "missed", "anomaly_id": "a/host@2026-01-01T02:00:00Z", "end": "2026-01-01T02:05:00"}, "end"),
        ({"verdict": "missed", "anomaly_id": "a/host@2026-01-01T02:00:00Z", "end": "2026-01-01T02:00:00Z"}, "later"),
    ],
)
def test_a_label_that_readers_would_refuse_is_one_sentence(changes: dict[str, str], reason: str) -> None:
    arguments = {"anomaly_id": "a", "verdict": "false_positive", "by": "olga", "at": AT, **changes}
    with pytest.raises(ConfigError, match=reason) as caught:
        make_label(**arguments)  # type: ignore[arg-type]
    assert str(caught.value).startswith("This is no valid label: ")
    assert "\n" not in str(caught.value)


def test_a_label_for_a_broker_that_is_not_there_gives_up_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pulsetrain.cli.label.CONFIRM_SECONDS", 0.1)
    monkeypatch.setattr(sys, "argv", ["pulsetrain", "label", "a", "true_positive", "--bootstrap", "127.0.0.1:1"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "gave up after" in capfd.readouterr().err
