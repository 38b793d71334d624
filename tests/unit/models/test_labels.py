"""The label book: newest label wins, counted once, unknown anomalies refused."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.models.labels import LabelBook, LabelOutcome, unix_ns
from pulsetrain.schemas.anomaly import Anomaly, AnomalyState, DataQuality, Model, anomaly_id, utc_time
from pulsetrain.schemas.label import Label, LabelVerdict

NS = 1_000_000_000
NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
NOON_NS = 1_740_830_400 * NS
ENTITY = "node7/host"
ANOMALY_ID = anomaly_id(ENTITY, NOON_NS, "detect")


def anomaly(
    revision: int = 0,
    seconds: int = 0,
    state: AnomalyState = AnomalyState.OPEN,
    entity: str = ENTITY,
    first_end_ns: int = NOON_NS,
) -> Anomaly:
    """A revision whose newest window ends `seconds` after the first one."""
    return Anomaly(
        id=anomaly_id(entity, first_end_ns, "detect"),
        revision=revision,
        state=state,
        stage="detect",
        entity=entity,
        node="node7",
        labels={},
        first_window_end=utc_time(first_end_ns),
        window_start=utc_time(first_end_ns + (seconds - 30) * NS),
        window_end=utc_time(first_end_ns + seconds * NS),
        flagged_windows=1,
        score=9.0,
        votes=[],
        evidence=[],
        model=Model(name="host", version=1),
        data_quality=DataQuality(missing=0, filled=0, late=0, out_of_order=0, invalid=0, imputed_columns=0),
    )


def label(verdict: LabelVerdict = LabelVerdict.FALSE_POSITIVE, minutes: int = 0, by: str = "ana") -> Label:
    return Label(anomaly_id=ANOMALY_ID, verdict=verdict, by=by, at=NOON + timedelta(minutes=minutes))


def missed(minutes: int = 0) -> Label:
    return Label(
        anomaly_id=f"{ENTITY}@20250301T120000",
        verdict=LabelVerdict.MISSED,
        by="ana",
        at=NOON + timedelta(minutes=minutes),
        entity=ENTITY,
        start=NOON,
        end=NOON + timedelta(seconds=40),
    )


def book_with_anomaly() -> LabelBook:
    book = LabelBook()
    book.observe(anomaly())
    return book


def test_the_same_label_delivered_twice_counts_once() -> None:
    book = book_with_anomaly()

    assert book.add(label()) is LabelOutcome.ACCEPTED
    assert book.add(label()) is LabelOutcome.REPEATED
    assert [episode.label for episode in book.episodes()] == [label()]


def test_a_label_with_an_older_time_never_overrides_a_newer_one() -> None:
    book = book_with_anomaly()
    book.add(label(LabelVerdict.FALSE_POSITIVE, minutes=10))

    assert book.holding(label().anomaly_id) == label(LabelVerdict.FALSE_POSITIVE, minutes=10)
    assert book.add(label(LabelVerdict.TRUE_POSITIVE, minutes=5)) is LabelOutcome.OUTDATED
    assert book.holding(label().anomaly_id) == label(LabelVerdict.FALSE_POSITIVE, minutes=10)
    assert book.holding("another") is None
    assert book.episodes()[0].label.verdict is LabelVerdict.FALSE_POSITIVE


def test_a_newer_label_overrides() -> None:
    book = book_with_anomaly()
    book.add(label(LabelVerdict.FALSE_POSITIVE, minutes=5))

    assert book.add(label(LabelVerdict.TRUE_POSITIVE, minutes=10)) is LabelOutcome.ACCEPTED
    assert book.episodes()[0].label.verdict is LabelVerdict.TRUE_POSITIVE


def test_the_same_moment_in_another_time_zone_is_the_same_label() -> None:
    book = book_with_anomaly()
    book.add(label())
    elsewhere = Label(
        anomaly_id=ANOMALY_ID,
        verdict=LabelVerdict.FALSE_POSITIVE,
        by="ana",
        at=datetime.fromisoformat("2025-03-01T14:00:00+02:00"),
    )

    assert book.add(elsewhere) is LabelOutcome.REPEATED


def test_a_label_of_an_anomaly_that_nobody_reported_is_refused() -> None:
    book = LabelBook()

    assert book.add(label()) is LabelOutcome.UNKNOWN_ANOMALY
    assert LabelOutcome.UNKNOWN_ANOMALY.value == "unknown anomaly"
    assert book.episodes() == ()


def test_a_missed_fault_needs_no_anomaly_and_brings_its_own_time() -> None:
    book = LabelBook()

    assert book.add(missed()) is LabelOutcome.ACCEPTED

    (episode,) = book.episodes()
    assert (episode.entity, episode.start_ns, episode.end_ns) == (ENTITY, NOON_NS, NOON_NS + 40 * NS)
    assert episode.is_missed_fault


def test_a_verdict_about_a_missed_fault_is_refused_because_it_names_no_anomaly() -> None:
    book = LabelBook()
    book.add(missed())
    verdict = Label(anomaly_id=missed().anomaly_id, verdict=LabelVerdict.FALSE_POSITIVE, by="ana", at=NOON)

    assert book.add(verdict) is LabelOutcome.UNKNOWN_ANOMALY


@given(
    st.lists(
        st.builds(label, st.sampled_from([LabelVerdict.FALSE_POSITIVE, LabelVerdict.TRUE_POSITIVE]), st.integers(0, 3)),
        min_size=1,
        max_size=6,
    ).flatmap(lambda labels: st.tuples(st.just(labels), st.permutations(labels + labels[:2])))
)
def test_labels_in_any_order_and_some_of_them_twice_end_in_the_same_book(
    orders: tuple[list[Label], list[Label]],
) -> None:
    books = [book_with_anomaly(), book_with_anomaly()]
    for book, labels in zip(books, orders, strict=True):
        for each in labels:
            book.add(each)

    assert books[0].episodes() == books[1].episodes()
    assert books[0].episodes()[0].label.at == max(each.at for each in orders[0])


def test_a_revision_that_is_not_newer_is_dropped() -> None:
    book = LabelBook()
    book.observe(anomaly(revision=3, seconds=15))

    assert book.observe(anomaly(revision=3, seconds=20)) is None
    assert book.observe(anomaly(revision=2, seconds=10)) is None


def test_an_episode_grows_with_its_anomaly_until_that_closes() -> None:
    book = book_with_anomaly()
    book.add(label())

    book.observe(anomaly(revision=1, seconds=20))
    growing = book.episode(ANOMALY_ID)
    book.observe(anomaly(revision=2, seconds=35, state=AnomalyState.CLOSED))
    settled = book.episode(ANOMALY_ID)

    assert growing is not None
    assert settled is not None
    assert not growing.is_settled
    assert settled.is_settled
    assert settled.start_ns == NOON_NS
    # The last flagged window, rounded up to the microsecond that JSON times are cut to.
    assert growing.end_ns == settled.end_ns == NOON_NS + 20 * NS + 999


def test_what_a_model_has_learned_stays_known_when_the_anomalies_topic_has_forgotten_it() -> None:
    before = book_with_anomaly()
    before.add(label(minutes=5))
    after = LabelBook()

    after.restore(before.episodes())

    assert [(episode.label, episode.start_ns) for episode in after.episodes()] == [(label(minutes=5), NOON_NS)]
    assert after.add(label(minutes=5)) is LabelOutcome.REPEATED
    assert after.add(label(LabelVerdict.TRUE_POSITIVE, minutes=6)) is LabelOutcome.ACCEPTED


def test_an_unlabelled_anomaly_is_forgotten_before_a_labelled_one() -> None:
    book = LabelBook(max_anomalies=2)
    book.observe(anomaly())
    book.add(label())
    for minute in (1, 2, 3):
        book.observe(anomaly(first_end_ns=NOON_NS + 60 * minute * NS))

    assert [episode.id for episode in book.episodes()] == [ANOMALY_ID]
    assert book.add(label(minutes=9)) is LabelOutcome.ACCEPTED


def test_the_oldest_labels_give_way_beyond_the_bound() -> None:
    book = LabelBook(max_labels=2)
    for minute in (3, 1, 2):
        first_end_ns = NOON_NS + 60 * minute * NS
        book.observe(anomaly(first_end_ns=first_end_ns))
        book.add(
            Label(
                anomaly_id=anomaly_id(ENTITY, first_end_ns, "detect"),
                verdict=LabelVerdict.TRUE_POSITIVE,
                by="ana",
                at=NOON + timedelta(minutes=minute),
            )
        )

    assert [episode.label.at.minute for episode in book.episodes()] == [2, 3]


@pytest.mark.parametrize("text", ["2025-03-01T12:00:00Z", "2025-03-01T13:30:00+01:30"])
def test_unix_time_is_the_same_in_every_zone(text: str) -> None:
    assert unix_ns(datetime.fromisoformat(text)) == NOON_NS
