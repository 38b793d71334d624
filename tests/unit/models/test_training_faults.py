"""Which labelled faults have a say in the choice of columns, and with which of their windows."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from pulsetrain.models.labels import LabelledEpisode
from pulsetrain.models.selection.report import ColumnReport
from pulsetrain.models.training_faults import (
    MAX_FAULTS,
    FaultSpan,
    call_for_selection,
    fault_windows,
    settled_faults,
    with_windows,
)
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


def _settled(*episodes: LabelledEpisode) -> list[tuple[int, int]]:
    return [(span.first_end_ns, span.last_end_ns) for span in settled_faults(episodes, 5 * NS)]


def _spans(*starts: float, entity: str = HOST) -> list[FaultSpan]:
    return [FaultSpan(entity, ns(start), ns(start + 1)) for start in starts]


def test_false_positives_and_what_still_grows_are_no_settled_faults() -> None:
    assert _settled(
        _episode(LabelVerdict.FALSE_POSITIVE, 10, 20),
        _episode(LabelVerdict.TRUE_POSITIVE, 100, 120),
        _episode(LabelVerdict.TRUE_POSITIVE, 130, 140, is_settled=False),
        _episode(LabelVerdict.TRUE_POSITIVE, 200, 220),
    ) == [(ns(100), ns(120)), (ns(200), ns(220))]


def test_labels_of_the_same_time_and_entity_are_one_fault() -> None:
    again = _episode(LabelVerdict.TRUE_POSITIVE, 100, 120)
    elsewhere = replace(again, entity="node2/host")

    assert _settled(again, _episode(LabelVerdict.TRUE_POSITIVE, 115, 130), again) == [(ns(100), ns(130))]
    assert len(_settled(again, elsewhere)) == 2
    assert len(_settled(again, _episode(LabelVerdict.TRUE_POSITIVE, 121, 130))) == 2


def test_the_windows_of_a_missed_fault_share_half_of_the_shorter_of_the_two() -> None:
    # A window of 30 s holds half of a fault of 10 s, from 100 to 110, if it ends in 105 .. 135.
    (short,) = settled_faults([_episode(LabelVerdict.MISSED, 100, 110)], 30 * NS)
    (long,) = settled_faults([_episode(LabelVerdict.MISSED, 100, 200)], 30 * NS)

    assert (short.first_end_ns, short.last_end_ns) == (ns(105), ns(135))
    # Of a fault from 100 to 200 it holds half of itself if it ends in 115 .. 215.
    assert (long.first_end_ns, long.last_end_ns) == (ns(115), ns(215))


def test_of_many_faults_the_newest_with_windows_count() -> None:
    many = _spans(*range(MAX_FAULTS + 5))
    unheard = _spans(*range(MAX_FAULTS), entity="nobody/host")
    ends_ns = {HOST: [ns(second) for second in range(3, MAX_FAULTS + 5)]}

    assert with_windows([*many, *unheard, *_spans(9000)], ends_ns) == tuple(many[5:])


def test_three_faults_are_enough_and_afterwards_twice_as_many() -> None:
    def chosen(faults: int) -> ColumnReport:
        return ColumnReport((), (), faults=faults, newest_fault_end_ns=ns(1000))

    assert [call_for_selection(chosen(0), _spans(*range(count))) for count in (2, 3)] == [False, True]
    assert [call_for_selection(chosen(3), _spans(*range(count))) for count in (5, 6)] == [False, True]


def test_of_the_most_faults_that_count_half_have_to_be_new() -> None:
    full = ColumnReport((), (), faults=MAX_FAULTS, newest_fault_end_ns=ns(100))

    def with_newer(count: int) -> list[FaultSpan]:
        return _spans(*range(MAX_FAULTS - count), *range(200, 200 + count))

    assert [call_for_selection(full, with_newer(count)) for count in (0, 31, 32)] == [False, False, True]


def test_a_confirmed_fault_comes_with_the_windows_of_five_window_lengths_around_it() -> None:
    (fault,) = fault_windows(_kept(), [FaultSpan(HOST, ns(100), ns(120))], 5 * NS)

    assert (fault.first_end_ns, fault.last_end_ns) == (ns(100), ns(120))
    assert fault.windows.ends_ns.tolist() == [ns(second) for second in range(75, 146, 5)]
