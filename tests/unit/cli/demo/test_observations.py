"""What the demo knows of the topics."""

from pulsetrain.cli.decoding import DeadLetter
from pulsetrain.cli.demo.journal import Journal, Tone
from pulsetrain.cli.demo.observations import Observations, Rate, Shown
from pulsetrain.schemas.anomaly import AnomalyState
from pulsetrain.schemas.status import StatusEvent
from tests.unit.cli.demo.world import BEGIN, NS, anomaly, status, window


def observations() -> tuple[Observations, Journal]:
    journal = Journal(lambda: BEGIN)
    return Observations(lambda: BEGIN, journal), journal


def test_windows_give_event_time_and_the_course_of_the_shown_metrics() -> None:
    seen, _ = observations()
    for end in (BEGIN, BEGIN + 1, BEGIN + 12):
        seen.take(window(end))
    assert (seen.windows, seen.event_seconds, seen.entity) == (3, 12.0, "node-00/host")
    assert (seen.newest_start_seconds, seen.newest_end_seconds) == (BEGIN + 7, BEGIN + 12)
    assert list(seen.history[Shown.CPU_BUSY]) == [0.5, 0.5, 0.5]


def test_an_anomaly_is_open_until_its_closing_revision() -> None:
    seen, journal = observations()
    opened = anomaly("system.cpu.utilization", end=BEGIN)
    seen.take(opened)
    assert seen.open_anomalies() == {opened.id}
    seen.take(anomaly("system.cpu.utilization", end=BEGIN + 1, first_end=BEGIN, revision=1))
    seen.take(anomaly(end=BEGIN + 9, first_end=BEGIN, revision=2, state=AnomalyState.CLOSED))
    assert not seen.open_anomalies()
    assert len(seen.revisions) == 3
    assert [note.text for note in journal.notes] == [
        "anomaly, score 2.0: cpu.utilization +12 σ",
        "the anomaly is over, 3 windows were flagged",
    ]


def test_a_version_scores_once_it_is_loaded_and_its_time_has_come() -> None:
    seen, _ = observations()
    effective_ns = round((BEGIN + 10) * NS)
    seen.take(status(StatusEvent.MODEL_PUBLISHED, version=3, effective_from_ns=effective_ns, windows=60, labels=1))
    model = seen.published[0]
    assert (model.version, model.windows, model.labels) == (3, 60, 1)
    seen.take(window(BEGIN + 10))
    assert not seen.is_scoring(model)
    seen.take(status(StatusEvent.MODEL_LOADED, version=3))
    assert seen.is_scoring(model)


def test_a_version_that_is_loaded_waits_for_its_effective_from_time() -> None:
    seen, _ = observations()
    effective_ns = round((BEGIN + 10) * NS)
    seen.take(status(StatusEvent.MODEL_PUBLISHED, version=1, effective_from_ns=effective_ns, windows=60, labels=0))
    seen.take(status(StatusEvent.MODEL_LOADED, version=1))
    seen.take(window(BEGIN + 9))
    assert not seen.is_scoring(seen.published[0])


def test_heartbeats_of_the_detect_stage_give_the_counts_and_are_not_told() -> None:
    seen, journal = observations()
    seen.take(status(StatusEvent.HEARTBEAT, scored=9, flagged=4, benign=2))
    seen.take(status(StatusEvent.HEARTBEAT, ticks=100))
    assert (seen.scored, seen.flagged, seen.excused) == (9, 4, 2)
    assert not journal.notes


def test_setbacks_and_dead_letters_are_told_and_counted() -> None:
    seen, journal = observations()
    seen.take(status(StatusEvent.TRAINING_REFUSED, "nothing new\x1b[2J"))
    seen.take(DeadLetter("demo.samples", "0", "7", "no Avro record", b""))
    assert seen.setbacks == ["nothing new\x1b[2J"]
    assert seen.dead_letters == 1
    assert [note.text for note in journal.notes] == [
        "learn: nothing new\\x1b[2J",
        "dead letter from demo.samples: no Avro record",
    ]
    assert journal.notes[1].tone is Tone.PROBLEM


def test_a_rate_counts_the_last_five_seconds() -> None:
    rate = Rate()
    for at in range(10):
        rate.add(BEGIN + at, 100)
    assert rate.per_second(BEGIN + 9) == 100
    assert rate.per_second(BEGIN + 12) == 40
    assert rate.per_second(BEGIN + 60) == 0
