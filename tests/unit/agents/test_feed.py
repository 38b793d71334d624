"""What becomes of what threads bring: times, losses, failures, notices."""

from dataclasses import dataclass, field

import pytest

from pulsetrain.agents.background import MAX_WAITING, BackgroundThread
from pulsetrain.agents.collectors.base import Collected, Notice, Support
from pulsetrain.agents.collectors.scheduled import InBackground
from pulsetrain.agents.errors import CollectError
from pulsetrain.agents.feed import BackgroundFeed
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.session import Batch
from pulsetrain.schemas.status import Severity, StatusEvent
from tests.unit.agents.background_fakes import MS, SECOND, START, Clock, ScriptedBackground, seen


@dataclass
class Listener:
    told: list[tuple[str, str | None]] = field(default_factory=list)
    unsupported: list[tuple[str, str]] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    def collector_read(self, collector: str, failure: str | None) -> None:
        self.told.append((collector, failure))

    def collector_unsupported(self, collector: str, reason: str) -> None:
        self.unsupported.append((collector, reason))

    def notice(self, notice: Notice) -> None:
        self.notices.append(notice)


@dataclass
class Fed:
    batches: list[Batch]
    listener: Listener
    stats: RunStats


def feed(collector: ScriptedBackground, seconds: float, clock: Clock | None = None) -> Fed:
    """What came of a collector that was asked for so long."""
    clock = clock or Clock(0)
    clock.end_ns = START + round(seconds * SECOND)
    thread = BackgroundThread(InBackground(collector), clock.time_ns, clock.monotonic)
    listener, stats = Listener(), RunStats()
    background = BackgroundFeed([thread], listener, stats)
    thread.run(clock.wait)
    return Fed([*background.due(clock.now_ns, 100 * MS), *background.finish(clock.now_ns)], listener, stats)


def test_observations_become_batches_and_the_collector_is_up() -> None:
    collector = ScriptedBackground([Collected([seen("gpu:1", START + SECOND, 1.0)]), Collected()])
    fed = feed(collector, 2.5)
    assert [batch.entity for batch in fed.batches] == ["gpu:1"]
    assert fed.listener.told == [("nvml", None), ("nvml", None)]
    assert fed.stats.collectors["nvml"].is_up


def test_an_answer_that_took_too_long_for_the_ticks_time_gets_the_time_of_its_arrival() -> None:
    collector, clock = ScriptedBackground([Collected([seen("gpu:1", START + SECOND, 1.0)]), Collected()]), Clock(0)
    collector.before = lambda _: clock.spend(2.2) if len(collector.asked_ns) == 1 else None
    (batch,) = feed(collector, 4.5, clock).batches
    assert batch.samples.ticks_ns.tolist() == [START + 3200 * MS]


def test_an_answer_in_time_keeps_the_ticks_time_and_a_time_of_its_own_is_never_changed() -> None:
    collector, clock = ScriptedBackground(), Clock(0)
    own_ns = START + 3 * MS
    collector.answers = [
        Collected([seen("gpu:1", START + SECOND, 1.0)]),
        Collected([seen("gpu:2", own_ns, 1.0)]),
        Collected(),
    ]
    collector.before = lambda _: clock.spend(1.2 if len(collector.asked_ns) == 1 else 2.5)
    times = {batch.entity: batch.samples.ticks_ns.tolist() for batch in feed(collector, 6.5, clock).batches}
    assert times == {"gpu:1": [START + SECOND], "gpu:2": [own_ns]}


def test_an_observation_ahead_of_the_clock_is_lost_and_counted_since_it_would_make_all_others_late() -> None:
    collector = ScriptedBackground([Collected([seen("gpu:1", START + 3600 * SECOND, 1.0, 2.0)]), Collected()])
    fed = feed(collector, 2.5)
    assert not fed.batches
    assert fed.stats.lost_samples == 2
    reason = "an observation of gpu:1 lies ahead of the clock"
    assert fed.stats.loss_reasons == {"unusable observation": f"nvml brought {reason}"}
    assert fed.listener.told == [("nvml", reason), ("nvml", None)]


@pytest.mark.parametrize("failures", [1, 3])
def test_failures_are_told_and_counted_and_so_is_the_recovery(failures: int) -> None:
    fed = feed(ScriptedBackground([CollectError("driver gone")] * failures + [Collected()]), failures + 1.5)
    assert fed.listener.told == [("nvml", "driver gone")] * failures + [("nvml", None)]
    assert (fed.stats.collectors["nvml"].failures, fed.stats.collectors["nvml"].is_up) == (failures, True)


def test_an_absent_source_is_no_failure() -> None:
    collector = ScriptedBackground()
    collector.supports = [Support(False, "no GPU")]
    fed = feed(collector, 5.5)
    assert fed.listener.unsupported == [("nvml", "no GPU")]
    assert not fed.listener.told
    assert (fed.stats.collectors["nvml"].failures, fed.stats.collectors["nvml"].is_up) == (0, None)


def test_notices_are_passed_on_and_a_flood_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    notice = Notice(StatusEvent.GPU_LOST, Severity.ERROR, "GPU 3 is lost.", "gpu:3")
    fed = feed(ScriptedBackground([Collected(notices=[notice] * 150), Collected()]), 2.5)
    assert fed.listener.notices == [notice] * 100
    assert "nvml had 50 more messages" in caplog.text


def test_what_has_happened_is_told_once_though_the_call_that_says_so_comes_too_late() -> None:
    lost = Notice(StatusEvent.GPU_LOST, Severity.ERROR, "GPU 3 is lost.", "gpu:3")
    collector, clock = ScriptedBackground([Collected([seen("gpu:1", START, 1.0)], [lost]), Collected()]), Clock(0)
    collector.before = lambda _: clock.spend(4.5) if len(collector.asked_ns) == 1 else None
    fed = feed(collector, 8.5, clock)
    assert fed.listener.notices == [lost]
    assert fed.listener.told[0] == ("nvml", "answered after 4.5 s, later than its deadline of 3 s")
    assert fed.batches == []


def test_what_has_happened_is_told_once_though_its_outcome_finds_no_room() -> None:
    lost, back = (Notice(event, Severity.ERROR, event) for event in (StatusEvent.GPU_LOST, StatusEvent.GPU_RETURNED))
    quiet = [Collected()] * (MAX_WAITING - 1)
    fed = feed(ScriptedBackground([Collected(notices=[lost]), *quiet, Collected(notices=[back]), Collected()]), 90.5)
    assert fed.listener.notices == [lost, back]


def test_a_hanging_call_is_told_once_and_its_end_too() -> None:
    collector, clock, listener = ScriptedBackground(), Clock(START + 20 * SECOND), Listener()
    stats = RunStats()
    thread = BackgroundThread(InBackground(collector), clock.time_ns, clock.monotonic)
    background = BackgroundFeed([thread], listener, stats)

    def hang(_: int) -> None:
        """Sixteen seconds, in which the runner looks every second."""
        if len(collector.asked_ns) == 1:
            for _second in range(16):
                clock.spend(1.0)
                assert not list(background.due(clock.now_ns, 100 * MS))

    collector.before = hang
    thread.run(clock.wait)
    list(background.due(clock.now_ns, 100 * MS))
    assert listener.told == [
        ("nvml", "no answer for 3 s, hanging since 2023-11-14T22:13:21+00:00"),
        ("nvml", "answered after 16.0 s, later than its deadline of 3 s"),
        *[("nvml", None)] * 2,
    ]
    assert stats.collectors["nvml"].is_up
    assert stats.collectors["nvml"].take_longest_seconds() == pytest.approx(16.0)


def test_outcomes_that_found_no_room_count_as_failures_and_their_samples_as_lost() -> None:
    answers = [Collected([seen("gpu:1", START + n * SECOND, 1.0, 2.0)]) for n in range(1, 71)]
    fed = feed(ScriptedBackground(answers), 70.5)
    assert fed.stats.collectors["nvml"].failures == 70 - 64
    assert fed.stats.lost_samples == 2 * (70 - 64)
    assert sum(batch.samples.values.size for batch in fed.batches) == 2 * 64
