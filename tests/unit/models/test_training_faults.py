"""Which labelled faults have a say in the choice of columns, and with which of their windows."""

from datetime import UTC, datetime, timedelta

from pulsetrain.models.labels import LabelledEpisode
from pulsetrain.models.training_faults import MAX_FAULTS, fault_windows, settled_faults
from pulsetrain.models.training_windows import TrainingWindows
from pulsetrain.schemas.label import Label, LabelVerdict
from tests.unit.models.test_trainer import HOST, NS, ns, windows

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)


def _episode(verdict: LabelVerdict, start: float, end: float, is_settled: bool = True) -> LabelledEpisode:
    is_missed = verdict is LabelVerdict.MISSED
    label = Label(
        anomaly_id=f"{HOST}@{start}",
        verdict=verdict,
        by="ana",
        at=NOON,
        entity=HOST if is_missed else None,
        start=NOON if is_missed else None,
        end=NOON + timedelta(seconds=1) if is_missed else None,
    )
    return LabelledEpisode(label, HOST, ns(start), ns(end), is_settled)


def _kept() -> TrainingWindows:
    kept = TrainingWindows(3600 * NS, 3600 * NS)
    for each in windows(0, 300):
        kept.add(each)
    return kept


def test_false_positives_and_what_still_grows_are_no_settled_faults() -> None:
    confirmed = _episode(LabelVerdict.TRUE_POSITIVE, 100, 120)
    missed = _episode(LabelVerdict.MISSED, 200, 220)

    assert settled_faults(
        [
            _episode(LabelVerdict.FALSE_POSITIVE, 10, 20),
            confirmed,
            _episode(LabelVerdict.TRUE_POSITIVE, 130, 140, is_settled=False),
            missed,
        ]
    ) == (confirmed, missed)


def test_of_many_faults_the_newest_labels_count() -> None:
    many = [_episode(LabelVerdict.TRUE_POSITIVE, start, start + 1) for start in range(MAX_FAULTS + 5)]

    assert settled_faults(many) == tuple(many[5:])


def test_a_confirmed_fault_comes_with_the_windows_of_five_window_lengths_around_it() -> None:
    (fault,) = fault_windows(_kept(), [_episode(LabelVerdict.TRUE_POSITIVE, 100, 120)], 5 * NS)

    assert (fault.first_end_ns, fault.last_end_ns) == (ns(100), ns(120))
    assert fault.windows.ends_ns.tolist() == [ns(second) for second in range(75, 146, 5)]


def test_the_windows_of_a_missed_fault_share_half_of_the_shorter_of_the_two() -> None:
    # A window of 30 s holds half of a fault of 10 s, from 100 to 110, if it ends in 105 .. 135.
    short, long = (fault_windows(_kept(), [_episode(LabelVerdict.MISSED, 100, end)], 30 * NS)[0] for end in (110, 200))

    assert (short.first_end_ns, short.last_end_ns) == (ns(105), ns(135))
    # Of a fault from 100 to 200 it holds half of itself if it ends in 115 .. 215.
    assert (long.first_end_ns, long.last_end_ns) == (ns(115), ns(215))


def test_a_fault_whose_windows_are_gone_still_counts() -> None:
    (fault,) = fault_windows(_kept(), [_episode(LabelVerdict.TRUE_POSITIVE, 9000, 9050)], 5 * NS)

    assert len(fault.windows) == 0
