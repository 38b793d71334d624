"""The window rules one by one, on logs small enough to be worked out by hand."""

import numpy as np
import pytest

from pulsetrain.schemas.status import StatusEvent
from pulsetrain.streams.settings import WindowSettings
from pulsetrain.streams.windows import ClosedWindow, WindowEngine
from tests.unit.streams.windows.partition import EPOCH, SECOND, SETTINGS, Partition, at, starts

TUMBLING = WindowSettings(length_seconds=60, hop_seconds=60, allowed_lateness_seconds=10)


def seconds_of(window: ClosedWindow) -> list[float]:
    return [round((int(tick) - EPOCH) / SECOND, 3) for tick in window.entities[0].sources[0].ticks_ns]


def test_a_window_holds_what_came_before_the_watermark_passed_its_end_and_counts_the_rest() -> None:
    #   tick    -1    5  59.95   62   58   58    75   57
    #   window        [0 ------------ 60)
    #   newest                   62 (watermark 52)  75 (watermark 65: closed)
    partition = Partition(WindowEngine(TUMBLING))
    for second in (-1, 5, 59.95, 62):
        assert starts(partition.send(second)) == []
    grace = partition.block(58)
    assert starts(partition.read(grace, append_seconds=63)) == []
    assert starts(partition.read(grace, append_seconds=64)) == []
    step = partition.send(75)
    assert starts(step) == [0]
    assert step.windows[0].complete
    assert seconds_of(step.windows[0]) == [5, 58, 59.95]
    assert starts(partition.send(57, append=77)) == []
    assert partition.engine.counts.late == 1
    assert partition.engine.counts.duplicate == 1
    assert partition.engine.counts.used == 6  # -1, 5, 59.95, 62, 58 and 75


def test_after_a_restart_old_windows_close_by_the_timer_and_nothing_is_left() -> None:
    partition = Partition()
    partition.send(*range(13))
    assert partition.engine.windows_open == 3
    assert starts(partition.engine.advance(at(13 + 64.999))) == []  # 60 s of silence and the margin of 5 s
    step = partition.engine.advance(at(13 + 65))
    assert starts(step) == [0, 5, 10]
    assert not any(window.complete for window in step.windows)
    assert (partition.engine.windows_open, partition.engine.nodes, step.safe_offset) == (0, 0, 1)


def test_the_first_window_of_a_session_starts_at_the_first_hop_after_its_first_tick() -> None:
    partition = Partition()
    partition.send(7, 8)
    assert starts(partition.send(*range(9, 43))) == [10]


def test_a_first_tick_on_a_window_start_serves_that_window() -> None:
    partition = Partition()
    partition.send(5.003, 6)
    step = partition.send(37)
    assert starts(step) == [5]
    assert seconds_of(step.windows[0]) == [5.003, 6]


def test_a_tick_within_the_tolerance_before_a_start_belongs_to_the_window_that_starts_there() -> None:
    partition = Partition()
    partition.send(0, 4.997)
    partition.send(29.994, 29.996, 31)
    step = partition.send(37)
    assert starts(step) == [0, 5]
    assert seconds_of(step.windows[0]) == [0, 4.997, 29.994]
    assert seconds_of(step.windows[1]) == [4.997, 29.994, 29.996, 31]


def test_a_new_session_ends_the_old_one_and_leaves_its_windows_incomplete() -> None:
    partition = Partition()
    partition.send(*range(13))
    step = partition.send(20, 21, session="next")
    assert starts(step) == [0, 5, 10]
    assert {window.session for window in step.windows} == {"s"}
    assert not any(window.complete for window in step.windows)


def test_a_gap_of_a_window_length_begins_a_new_run() -> None:
    partition = Partition()
    partition.send(0, 1)
    step = partition.send(31, 32)
    assert starts(step) == [0]
    assert not step.windows[0].complete
    assert starts(partition.send(*range(33, 68))) == [35]


def test_no_window_starts_in_a_hole() -> None:
    #   sent      0 .. 8    [lost: 9 .. 21]   22 .. 60
    #   starts    0  5       (10  15  20)     25 ...
    partition = Partition()
    partition.send(*range(9))
    partition.block(*range(9, 22))
    assert starts(partition.send(*range(22, 61))) == [0, 5, 25]


def test_a_worker_without_state_leaves_windows_up_to_sent_until_to_its_predecessor() -> None:
    partition = Partition()
    partition.block(*range(12))
    assert starts(partition.send(*range(12, 48))) == [15]


def test_a_far_jump_of_what_was_sent_costs_nothing() -> None:
    partition = Partition()
    partition.send(*range(9))
    partition.sent_until["s"] = at(100_000_000)
    step = partition.send(100_000_001)
    assert starts(step) == [0, 5]


def test_a_late_block_is_counted_in_its_open_windows_and_not_used() -> None:
    partition = Partition()
    partition.send(0, 1, 20)
    step = partition.send(12, 17, collector="gpu", metrics=("m", "k"), append=22)
    assert step.safe_offset is None  # windows that start at 15 or before are open
    assert partition.engine.counts.late == 4
    step = partition.send(47)
    late = {
        start: {source.collector: source.late.tolist() for source in window.entities[0].sources}
        for start, window in zip(starts(step), step.windows, strict=True)
    }
    assert late == {
        0: {"gpu": [2, 2], "host": [0]},
        5: {"gpu": [2, 2], "host": [0]},
        10: {"gpu": [2, 2], "host": [0]},
        15: {"gpu": [1, 1], "host": [0]},
    }
    gpu = step.windows[0].entities[0].sources[0]
    assert gpu.values.shape == (0, 2)


def test_rows_older_than_what_their_source_sent_before_are_out_of_order() -> None:
    partition = Partition()
    partition.send(0, 1, 4)
    partition.send(2, 3, 5)
    partition.send(0, 1, collector="gpu")  # behind the other collector, but in its own order
    step = partition.send(32)
    assert [source.out_of_order.tolist() for source in step.windows[0].entities[0].sources] == [[0], [2]]
    assert seconds_of_source(step.windows[0], "host") == [0, 1, 2, 3, 4, 5]


def seconds_of_source(window: ClosedWindow, collector: str) -> list[float]:
    [source] = [source for source in window.entities[0].sources if source.collector == collector]
    return [(int(tick) - EPOCH) / SECOND for tick in source.ticks_ns]


def test_a_block_is_safe_once_no_open_window_starts_at_or_before_its_last_tick() -> None:
    partition = Partition()
    assert partition.send(0, 1, 2).safe_offset is None
    assert partition.send(3, 4, 5).safe_offset is None
    assert partition.send(*range(6, 32)).safe_offset is None
    assert partition.send(32).safe_offset == 1  # [0, 30) is closed; [5, 35) needs tick 5
    assert partition.engine.skip(4).safe_offset == 1
    assert partition.send(37).safe_offset == 2


def test_an_undecodable_message_is_safe_at_once_when_nothing_before_it_is_held() -> None:
    assert WindowEngine(SETTINGS).skip(6).safe_offset == 7


def test_a_copy_of_a_block_changes_nothing_and_is_counted() -> None:
    partition = Partition()
    first = partition.block(0, 1)
    partition.read(first)
    partition.send(2, 3)
    assert partition.read(first, append_seconds=5).windows == []
    step = partition.send(32)
    assert starts(step) == [0]
    assert seconds_of(step.windows[0]) == [0, 1, 2, 3]
    assert partition.engine.counts.duplicate == 2


def test_a_copy_that_comes_after_its_windows_are_closed_begins_no_run() -> None:
    partition = Partition()
    first = partition.block(0, 1)
    partition.read(first)
    partition.send(*range(2, 40))
    assert partition.read(first, append_seconds=41).windows == []
    assert starts(partition.send(42)) == [10]
    assert partition.engine.counts.late == 2


@pytest.mark.parametrize(("recalls", "emitted"), [(True, []), (False, [0, 5])])
def test_a_copy_met_right_after_a_takeover_opens_no_window_again_if_its_original_is_recalled(
    recalls: bool, emitted: list[float]
) -> None:
    partition = Partition()
    original = partition.block(*range(9))
    if recalls:
        partition.engine.recall(original, at(9))
    partition.read(original, append_seconds=60)
    assert starts(partition.engine.advance(at(200))) == emitted


def test_what_is_left_of_an_ended_session_is_late_and_does_not_end_its_successor() -> None:
    partition = Partition()
    partition.send(0, 1)
    leftover = partition.block(2, 3)
    partition.send(10, 11, session="next")
    step = partition.read(leftover, append_seconds=13)
    assert (step.windows, step.safe_offset) == ([], 1)
    assert partition.engine.counts.late == 2
    assert starts(partition.send(*range(12, 42), session="next")) == []
    assert starts(partition.send(42, session="next")) == [10]


def test_a_session_begins_at_once_after_the_clock_was_set_back() -> None:
    partition = Partition()
    partition.send(100, 101)
    step = partition.send(50, 51, session="next", append=103)
    assert starts(step) == [100]
    assert starts(partition.send(*range(52, 83), session="next", append=110)) == [50]


def test_a_silent_node_is_flushed_by_any_block_of_the_partition() -> None:
    partition = Partition()
    partition.send(0, 1, node="quiet", session="q", append=2)
    assert partition.send(50, append=61).events == []
    step = partition.send(51, append=62)
    assert starts(step) == [0]
    assert not step.windows[0].complete
    assert [(event.event, event.node) for event in step.events] == [(StatusEvent.NODE_SILENT, "quiet")]
    assert partition.send(52, append=130).events[0].node == "n"
    step = partition.send(53, node="quiet", session="q", append=131)
    assert [(event.event, event.node) for event in step.events] == [(StatusEvent.NODE_RETURNED, "quiet")]


def test_append_times_that_go_back_do_not_turn_time_back() -> None:
    partition = Partition()
    partition.send(0, append=100)
    partition.send(1, append=40)
    assert starts(partition.send(2, node="other", session="o", append=159)) == []
    assert starts(partition.send(3, node="other", session="o", append=160)) == [0]


def test_a_clock_that_stands_still_does_not_hold_the_partition() -> None:
    partition = Partition()
    for append in (0, 40, 80, 120):
        assert starts(partition.send(append / 1000, append=append)) == []
    step = partition.send(0.125, append=121)
    assert starts(step) == [0]
    assert [event.event for event in step.events] == [StatusEvent.CLOCK_STUCK]
    assert not step.windows[0].complete
    assert step.safe_offset == 5


def test_only_windows_that_need_the_long_held_block_are_closed() -> None:
    partition = Partition()
    partition.send(0, append=0)
    partition.send(5, append=50)
    partition.send(10, append=100)
    step = partition.send(11, append=121)
    assert (starts(step), step.safe_offset) == ([0], 1)


def test_a_clock_in_the_future_is_reported_once_and_its_samples_are_not_used() -> None:
    partition = Partition()
    assert partition.send(0, append=1).events == []
    step = partition.send(302, append=1)
    assert [event.event for event in step.events] == [StatusEvent.CLOCK_IN_FUTURE]
    assert partition.send(303, append=2).events == []
    assert partition.engine.counts.quarantined == 2
    assert starts(partition.send(3, session="next", append=4)) == [0]
    assert [event.event for event in partition.send(400, session="next", append=5).events] == [
        StatusEvent.CLOCK_IN_FUTURE
    ]


def test_exactly_the_limit_ahead_is_no_future() -> None:
    partition = Partition()
    partition.send(301, append=1)
    assert partition.engine.counts.used == 1


def test_metrics_that_come_and_go_are_missing_where_they_were_not_sent() -> None:
    partition = Partition()
    partition.send(0, metrics=("a", "b"), value=1)
    partition.send(1, metrics=("b", "c"), value=2)
    [window] = partition.send(32, metrics=("a", "b")).windows
    source = window.entities[0].sources[0]
    assert source.metrics == ("a", "b", "c")
    np.testing.assert_array_equal(source.values, [[1, 1, np.nan], [np.nan, 2, 2]])


def test_of_two_blocks_with_the_same_tick_the_later_one_wins_where_it_has_the_metric() -> None:
    partition = Partition()
    partition.send(0, 1, metrics=("a", "b"), value=1)
    partition.send(1, 2, metrics=("b",), value=2)
    [window] = partition.send(32, metrics=("a", "b")).windows
    np.testing.assert_array_equal(window.entities[0].sources[0].values, [[1, 1], [1, 2], [np.nan, 2]])


def test_labels_of_newer_blocks_win() -> None:
    partition = Partition()
    partition.send(0, labels={"job": "old", "rank": "0"})
    partition.send(1, labels={"job": "new"}, collector="gpu")
    [window] = partition.send(32).windows
    assert window.entities[0].labels == {"job": "new", "rank": "0"}


def test_an_empty_label_is_none() -> None:
    partition = Partition()
    partition.send(0, labels={"job": "llm", "pod": "trainer-0", "namespace": ""})
    partition.send(1, labels={"job": "llm", "pod": ""}, collector="gpu")
    [window] = partition.send(32).windows
    assert window.entities[0].labels == {"job": "llm"}


def test_a_device_keeps_its_windows_when_its_index_and_its_exporter_change() -> None:
    # Index 0 is device A before the reboot and device B after it; the exporter's pod has another name then.
    partition = Partition()
    for session, of_a, of_b, pod in (("s", "0", "1", "exporter-x1y2z"), ("next", "1", "0", "exporter-q9r8s")):
        second = 0 if session == "s" else 60
        for uuid, index, value in (("A", of_a, 1.0), ("B", of_b, 2.0)):
            partition.send(
                second,
                second + 1,
                entity=f"gpu:{uuid}",
                collector=f"gpu:{uuid}",
                session=session,
                boot_id=session,
                value=value,
                labels={"index": index, "Hostname": pod},
            )
    windows = partition.engine.advance(at(1000)).windows
    assert {window.node for window in windows} == {"n"}
    for window in windows:
        assert [entity.entity for entity in window.entities] == ["n/gpu:A", "n/gpu:B"]
        for entity, value in zip(window.entities, (1.0, 2.0), strict=True):
            assert np.unique(entity.sources[0].values).tolist() == [value]


def test_a_row_that_begins_another_boot_is_told() -> None:
    partition = Partition()
    partition.send(0, 1)
    partition.send(2, 3, boot_id="next")
    partition.send(4, 5, boot_id="next")
    [window] = partition.send(32, boot_id="next").windows
    assert window.entities[0].sources[0].reboot_rows.tolist() == [2]


def test_invalid_samples_are_missing_and_counted_by_reason() -> None:
    partition = Partition()
    partition.send(0, metrics=("a", "b"), value=np.inf)
    partition.send(1, metrics=("a",), value=9223372036854775794.0)
    partition.send(2, metrics=("system.cpu.utilization",), value=1543)
    [window] = partition.send(32).windows
    source = window.entities[0].sources[0]
    assert np.isnan(source.values).all()
    assert source.metrics == ("a", "b", "system.cpu.utilization")
    assert source.not_finite.tolist() == [1, 1, 0]
    assert source.sentinel.tolist() == [1, 0, 0]
    assert source.out_of_range.tolist() == [0, 0, 1]
    counts = partition.engine.counts
    assert (counts.not_finite, counts.sentinel, counts.out_of_range, counts.invalid) == (2, 1, 1, 4)
    assert partition.engine.unknown_metrics == {"a", "b", "m"}
