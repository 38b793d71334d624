"""The thread of a slow source: its schedule, its deadline, its second chances and its end."""

import threading

import pytest

from pulsetrain.agents.background import MAX_WAITING, BackgroundThread, Outcome, start_all, stop_all
from pulsetrain.agents.collectors.base import Collected, Support
from pulsetrain.agents.collectors.scheduled import InBackground
from pulsetrain.agents.errors import CollectError
from tests.unit.agents.background_fakes import SECOND, START, WAIT_SECONDS, Clock, ScriptedBackground, seen


def run(collector: ScriptedBackground, seconds: float, clock: Clock | None = None) -> list[Outcome]:
    """Let the body of the thread run on an injected clock, in this thread."""
    clock = clock or Clock(0)
    clock.end_ns = START + round(seconds * SECOND)
    thread = BackgroundThread(InBackground(collector), clock.time_ns, clock.monotonic)
    thread.run(clock.wait)
    return list(thread.outcomes())


def test_it_is_asked_at_wall_clock_multiples_of_its_interval() -> None:
    collector = ScriptedBackground(interval_ms=2500)
    run(collector, 10.1)
    assert collector.asked_ns == [START + n * 5 * SECOND // 2 for n in range(1, 5)]


def test_a_slow_call_moves_no_tick_and_none_is_caught_up() -> None:
    collector, clock = ScriptedBackground(deadline_seconds=9.0), Clock(0)
    collector.before = lambda _: clock.spend(2.3) if len(collector.asked_ns) == 2 else None
    run(collector, 8.5, clock)
    assert [(asked - START) // SECOND for asked in collector.asked_ns] == [1, 2, 5, 6, 7, 8]


def test_what_comes_after_the_deadline_is_thrown_away_and_counts_as_failed() -> None:
    collector, clock = ScriptedBackground([Collected([seen("gpu:1", START, 1.0)])]), Clock(0)
    collector.before = lambda _: clock.spend(4.5) if len(collector.asked_ns) == 1 else None
    late, *rest = run(collector, 8.5, clock)
    assert late.collected is None
    assert late.failure == "answered after 4.5 s, later than its deadline of 3 s"
    assert all(outcome.collected is not None for outcome in rest)
    assert [outcome.tick_ns for outcome in rest] == [START + n * SECOND for n in (6, 7, 8)]


@pytest.mark.parametrize(
    ("failure", "reason"), [(CollectError("driver gone"), "driver gone"), (ValueError("bug"), "ValueError: bug")]
)
def test_a_failing_call_says_why_and_the_next_one_is_made_all_the_same(failure: Exception, reason: str) -> None:
    outcomes = run(ScriptedBackground([failure, Collected()]), 3.5)
    assert [outcome.failure for outcome in outcomes] == [reason, None, None]


def test_a_source_that_is_absent_is_tried_again_ever_more_rarely_and_used_once_it_is_there() -> None:
    collector = ScriptedBackground()
    collector.supports = [*[Support(False, "no libnvidia-ml.so.1")] * 3, Support(True)]
    outcomes = run(collector, 100.0)
    absent = [outcome for outcome in outcomes if outcome.is_unsupported]
    # At the start, then 10 s and 20 s later, and 40 s after that it is there.
    assert [(outcome.tick_ns - START) // SECOND for outcome in absent] == [0, 10, 30]
    assert {outcome.failure for outcome in absent} == {"no libnvidia-ml.so.1"}
    assert collector.asked_ns[0] == START + 70 * SECOND
    assert collector.support_asked == 4


def test_an_error_when_the_source_is_tried_is_a_failure_and_it_is_tried_again() -> None:
    collector = ScriptedBackground()
    collector.supports = [CollectError("driver/library version mismatch"), Support(True)]
    outcomes = run(collector, 11.5)
    assert (outcomes[0].failure, outcomes[0].is_unsupported) == ("driver/library version mismatch", False)
    assert len(collector.asked_ns) == 2


def test_what_nobody_takes_is_bounded_and_counted() -> None:
    clock = Clock(START + (MAX_WAITING + 7) * SECOND + 1)
    collector = ScriptedBackground([Collected([seen("gpu:1", START, 1.0, 2.0)])])
    thread = BackgroundThread(InBackground(collector), clock.time_ns, clock.monotonic)
    thread.run(clock.wait)
    assert len(list(thread.outcomes())) == MAX_WAITING
    assert thread.new_drops() == (7, 14)
    assert thread.new_drops() == (0, 0)


def test_a_slower_interval_holds_from_the_next_tick_on() -> None:
    clock = Clock(START + 20 * SECOND + 1)
    collector = ScriptedBackground()
    thread = BackgroundThread(InBackground(collector), clock.time_ns, clock.monotonic)

    def slow_down(tick_ns: int) -> None:
        thread.slowed_by = 4 if tick_ns >= START + 3 * SECOND else 1

    collector.before = slow_down
    thread.run(clock.wait)
    assert [(asked - START) // SECOND for asked in collector.asked_ns] == [1, 2, 3, 4, 8, 12, 16, 20]


class WithChild(ScriptedBackground):
    """Has something that goes on between the calls."""

    slowed_by = 1


def test_a_collector_that_does_something_between_its_calls_is_told_how_slow_it_is_to_be() -> None:
    clock = Clock(START + 8 * SECOND + 1)
    collector, told = WithChild(), []
    thread = BackgroundThread(InBackground(collector), clock.time_ns, clock.monotonic)

    def change(tick_ns: int) -> None:
        told.append(collector.slowed_by)
        thread.slowed_by = 2 if tick_ns == START + 2 * SECOND else thread.slowed_by
        if tick_ns == START + 6 * SECOND:
            thread.begin_anew()

    collector.before = change
    thread.run(clock.wait)
    assert [(asked - START) // SECOND for asked in collector.asked_ns] == [1, 2, 4, 6, 7, 8]
    assert told == [1, 1, 2, 2, 1, 1]


def test_a_new_session_begins_at_full_pace_and_tries_again_soon_what_was_not_supported() -> None:
    clock = Clock(START + 200 * SECOND + 1)
    collector = ScriptedBackground()
    collector.supports = [*[Support(False, "no perf")] * 4, Support(True)]
    thread = BackgroundThread(InBackground(collector), clock.time_ns, clock.monotonic)

    def wait(seconds: float) -> bool:
        if clock.now_ns == START + 100 * SECOND:
            # After tries at 0, 10, 30 and 70 s the next would be at 150 s.
            thread.begin_anew()
        return clock.wait(seconds)

    thread.run(wait)
    # Whoever has nothing to read wakes every five seconds.
    assert collector.asked_ns[0] == START + 105 * SECOND


class Hanging(ScriptedBackground):
    """A call that comes back when the test says so, on a clock of the test's."""

    def __init__(self) -> None:
        super().__init__([Collected([seen("gpu:1", START, 1.0)])], interval_ms=1)
        self.called, self.released = threading.Event(), threading.Event()
        self.seconds = 0.0
        self.before = self._hang

    def _hang(self, _: int) -> None:
        self.called.set()
        assert self.released.wait(WAIT_SECONDS), "nobody released the call"

    def thread(self) -> BackgroundThread:
        return BackgroundThread(InBackground(self), monotonic=lambda: self.seconds)


def test_a_hanging_call_is_seen_after_its_deadline_and_no_second_one_is_made() -> None:
    collector = Hanging()
    thread = collector.thread()
    thread.start()
    assert collector.called.wait(WAIT_SECONDS), "the collector was not called"
    assert thread.hangs_since_ns() is None
    collector.seconds = 3.1
    assert thread.hangs_since_ns() == collector.asked_ns[0]
    assert len(collector.asked_ns) == 1
    thread.stop()
    collector.released.set()
    assert thread.join(WAIT_SECONDS), "the thread did not end"
    assert thread.hangs_since_ns() is None
    assert [outcome.collected for outcome in thread.outcomes()] == [None]
    assert collector.closed == 1


def test_the_end_does_not_wait_for_a_hanging_call_but_closes_its_collector() -> None:
    hanging, quick = Hanging(), ScriptedBackground(name="quick")
    threads = [hanging.thread(), BackgroundThread(InBackground(quick))]
    start_all(threads)
    assert hanging.called.wait(WAIT_SECONDS), "the collector was not called"
    assert "nvml" in stop_all(threads, seconds=0.2)
    assert hanging.was_closed.wait(WAIT_SECONDS), "the hanging collector was not closed"
    assert quick.was_closed.wait(WAIT_SECONDS), "the quick collector was not closed"
    hanging.released.set()
    assert threads[0].join(WAIT_SECONDS), "the thread did not end"
    assert hanging.closed == 1


def test_a_call_that_only_waits_for_its_source_ends_when_that_is_closed_and_is_not_left_behind() -> None:
    class Waiting(Hanging):
        """Waits for the next lines of a child process, which `close` ends."""

        def close(self) -> None:
            super().close()
            self.released.set()

    collector = Waiting()
    threads = [collector.thread()]
    start_all(threads)
    assert collector.called.wait(WAIT_SECONDS), "the collector was not called"
    assert stop_all(threads, seconds=3.0) == []
    assert collector.closed == 1


def test_threads_that_never_began_are_closed_and_not_waited_for() -> None:
    collector = ScriptedBackground()
    assert stop_all([BackgroundThread(InBackground(collector))]) == []
    assert collector.closed == 1


def test_a_collector_that_fails_to_close_does_not_keep_the_agent(caplog: pytest.LogCaptureFixture) -> None:
    class Stubborn(ScriptedBackground):
        def close(self) -> None:
            super().close()
            raise OSError("busy")

    collector = Stubborn()
    thread = BackgroundThread(InBackground(collector))
    thread.start()
    thread.stop()
    assert thread.join(WAIT_SECONDS), "the thread did not end"
    assert "nvml could not be closed" in caplog.text
