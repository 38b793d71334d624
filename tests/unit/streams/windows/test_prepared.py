"""Windows that are put together before they close; that they hold the right samples is tested on random logs."""

from tests.unit.streams.windows.partition import EPOCH, SECOND, Partition, starts


def test_a_window_is_prepared_with_its_last_sample_and_closes_as_the_same_object() -> None:
    partition = Partition()
    assert partition.send(*range(29)).prepared == []
    [prepared] = partition.send(29).prepared
    assert prepared.start_ns == EPOCH
    assert partition.send(30).prepared == []
    assert starts(partition.send(31)) == []
    [closed] = partition.send(32).windows
    assert closed is prepared


def test_what_comes_for_a_window_after_it_was_prepared_is_in_it() -> None:
    partition = Partition()
    [prepared] = partition.send(*range(30)).prepared
    assert partition.send(29.5).prepared == []
    [closed] = partition.send(30, 31, 32).windows
    assert closed is not prepared
    assert int(closed.entities[0].sources[0].ticks_ns[-1]) == EPOCH + 29.5 * SECOND


def test_a_late_sample_is_counted_in_a_window_that_was_prepared() -> None:
    partition = Partition()
    assert partition.send(*range(30)).prepared
    partition.sent_until["s"] = EPOCH + 31 * SECOND
    late = partition.block(20.5, collector="other")
    assert partition.read(late).windows == []
    [closed] = partition.send(32).windows
    assert [int(source.late.sum()) for source in closed.entities[0].sources] == [0, 1]


def test_a_window_is_prepared_only_when_every_source_has_sent_what_lies_in_it() -> None:
    partition = Partition()
    partition.send(*range(20))
    partition.send(*range(20), collector="other", metrics=("o",))
    assert partition.send(*range(20, 30)).prepared == []
    assert len(partition.send(*range(20, 30), collector="other", metrics=("o",)).prepared) == 1


def test_a_prepared_window_of_a_session_that_ends_is_closed_as_incomplete() -> None:
    partition = Partition()
    [prepared] = partition.send(*range(30)).prepared
    closed = partition.send(33, session="next").windows[0]
    assert (closed.start_ns, closed.complete, prepared.complete) == (prepared.start_ns, False, True)
