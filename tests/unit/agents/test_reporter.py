"""Status messages: each episode is told once, heartbeats come in time."""

from typing import Any

import pytest

from pulsetrain.agents.collectors.base import Notice
from pulsetrain.agents.governor import Usage
from pulsetrain.agents.publisher import Publisher
from pulsetrain.agents.reporter import Reporter
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.schemas.json_record import decode_json
from pulsetrain.schemas.status import Severity, Status, StatusEvent

SECOND = 1_000_000_000
NOW = 1_700_000_000 * SECOND


class Recorder:
    """A producer that keeps what it is given."""

    def __init__(self) -> None:
        self.messages: list[Status] = []
        self.keys: set[bytes] = set()

    def produce(self, topic: str, *, key: bytes, value: bytes, on_delivery: Any, timestamp: int) -> None:
        assert topic == "status"
        self.keys.add(key)
        self.messages.append(decode_json(value, Status))

    def poll(self, timeout: float) -> None:
        """There is nothing to report."""


def reporter() -> tuple[Reporter, Recorder, RunStats]:
    recorder, stats = Recorder(), RunStats()
    opened: Any = lambda _: recorder  # noqa: E731
    return Reporter("n1", "status", Publisher(opened, stats, 10_000), stats, 10.0, lambda: NOW), recorder, stats


def test_messages_carry_the_node_as_source_and_key() -> None:
    says, recorder, _ = reporter()
    says.started(200, {"pressure_cpu": "/proc/pressure/cpu: No such file"})
    assert recorder.keys == {b"n1"}
    message = recorder.messages[0]
    assert (message.source, message.event, message.severity) == ("n1", StatusEvent.STARTED, Severity.INFO)
    assert message.details == {"metrics": 200, "pressure_cpu": "/proc/pressure/cpu: No such file"}
    assert message.at.timestamp() == 1_700_000_000


def test_a_heartbeat_comes_every_ten_seconds_with_the_counters() -> None:
    says, recorder, stats = reporter()
    for tenth in range(301):
        stats.ticks += 1
        says.beat(NOW + tenth * SECOND // 10)
    assert [message.event for message in recorder.messages] == [StatusEvent.HEARTBEAT] * 4
    assert [message.details["ticks"] for message in recorder.messages] == [1, 101, 201, 301]


def test_a_spool_that_cannot_be_written_is_in_the_heartbeats() -> None:
    says, recorder, stats = reporter()
    stats.spool_failures = 3
    says.beat(NOW)
    assert recorder.messages[0].details["spool_failures"] == 3


def test_heartbeats_go_on_after_the_clock_was_set_back() -> None:
    says, recorder, _ = reporter()
    says.beat(NOW)
    says.beat(NOW - 3600 * SECOND)
    assert len(recorder.messages) == 2


def test_a_failure_is_told_once_an_episode_and_its_end_once(caplog: pytest.LogCaptureFixture) -> None:
    says, recorder, _ = reporter()
    for failure in (None, "gone", "gone", "gone too", None, None, "gone"):
        says.collector_read("disk", failure)
        says.collector_read("cpu", None)
    assert [message.event for message in recorder.messages] == [
        StatusEvent.COLLECTOR_FAILED,
        StatusEvent.COLLECTOR_RECOVERED,
        StatusEvent.COLLECTOR_FAILED,
    ]
    assert "disk" in recorder.messages[0].message
    assert "gone" in recorder.messages[0].message
    assert recorder.messages[0].severity is Severity.WARNING
    # On the node too, where it can be read while Kafka is away.
    assert caplog.messages == [message.message for message in recorder.messages]


def test_a_collector_that_fails_every_other_second_floods_nobody_and_its_end_is_told_at_last() -> None:
    now_ns, recorder, stats = [NOW], Recorder(), RunStats()
    opened: Any = lambda _: recorder  # noqa: E731
    says = Reporter("n1", "status", Publisher(opened, stats, 10_000), stats, 10.0, lambda: now_ns[0])
    for second in range(3600):
        now_ns[0] += SECOND
        says.collector_read("disk", None if second % 2 else "sometimes")
    assert [message.event for message in recorder.messages] == [
        StatusEvent.COLLECTOR_FAILED,
        StatusEvent.COLLECTOR_RECOVERED,
        StatusEvent.COLLECTOR_FAILED,
    ]
    for _ in range(61):
        now_ns[0] += SECOND
        says.collector_read("disk", None)
    assert [message.event for message in recorder.messages[3:]] == [StatusEvent.COLLECTOR_RECOVERED]
    assert (recorder.messages[3].at - recorder.messages[2].at).total_seconds() == pytest.approx(3600, abs=100)


def losses(recorder: Recorder) -> list[Status]:
    return [message for message in recorder.messages if message.event is StatusEvent.SAMPLES_DROPPED]


def test_lost_samples_are_reported_with_the_next_heartbeat_and_not_again() -> None:
    says, recorder, stats = reporter()
    says.beat(NOW)
    stats.dropped, stats.failed = 3, 2
    stats.lose(4000, "TOPIC_AUTHORIZATION_FAILED", "Topic authorization failed")
    stats.lose(999, "TOPIC_AUTHORIZATION_FAILED", "Topic authorization failed")
    stats.lose(1, "encode", "a block can't be sent")
    for tenth in range(1, 250):
        says.beat(NOW + tenth * SECOND // 10)
    assert [message.message for message in losses(recorder)] == [
        "5000 samples were lost since the last report: Topic authorization failed; a block can't be sent."
    ]
    assert losses(recorder)[0].details["lost_samples"] == 5000


def test_messages_without_samples_are_no_lost_samples() -> None:
    says, recorder, stats = reporter()
    stats.failed = stats.dropped = 7
    stats.lose(0, "_MSG_TIMED_OUT", "Message timed out")
    says.beat(NOW)
    assert losses(recorder) == []


def test_an_episode_of_losses_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    says, recorder, stats = reporter()
    for beat, lost in enumerate([0, 5, 5, 5, 0, 5, 5]):
        stats.lose(lost, "x", f"reason {beat}")
        says.beat(NOW + beat * 10 * SECOND)
    assert len(losses(recorder)) == 5
    assert [line.partition(": ")[2] for line in caplog.messages] == ["reason 1.", "reason 5."]


def test_the_end_is_told_with_the_counters() -> None:
    says, recorder, stats = reporter()
    stats.ticks = 7
    says.stopped()
    assert (recorder.messages[0].event, recorder.messages[0].details["ticks"]) == (StatusEvent.STOPPED, 7)


def test_a_source_that_is_absent_is_in_the_heartbeats_and_its_coming_is_told_once() -> None:
    says, recorder, _ = reporter()
    for _ in range(3):
        says.collector_unsupported("nvml", "Driver/library version mismatch")
    says.beat(NOW)
    assert recorder.messages[0].details["unsupported.nvml"] == "Driver/library version mismatch"
    for _ in range(3):
        says.collector_read("nvml", None)
    says.beat(NOW + 10 * SECOND)
    assert [message.event for message in recorder.messages] == [
        StatusEvent.HEARTBEAT,
        StatusEvent.COLLECTOR_RECOVERED,
        StatusEvent.HEARTBEAT,
    ]
    assert "unsupported.nvml" not in recorder.messages[-1].details


def test_a_source_that_is_absent_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    says, _, _ = reporter()
    with caplog.at_level("INFO"):
        for _ in range(100):
            says.collector_unsupported("nvml", "no library")
    assert len(caplog.messages) == 1


def test_an_absent_source_that_comes_and_fails_has_failed() -> None:
    says, recorder, _ = reporter()
    says.collector_unsupported("nvml", "no library")
    says.collector_read("nvml", "GPU is lost")
    says.collector_read("nvml", None)
    assert [message.event for message in recorder.messages] == [
        StatusEvent.COLLECTOR_FAILED,
        StatusEvent.COLLECTOR_RECOVERED,
    ]


def test_a_notice_becomes_a_status_message_about_its_entity() -> None:
    says, recorder, _ = reporter()
    says.notice(Notice(StatusEvent.GPU_LOST, Severity.ERROR, "GPU 3 is lost.", "gpu:3", {"index": 3}))
    says.notice(Notice(StatusEvent.GPU_XID, Severity.WARNING, "Xid 43.", "train/rank:3"))
    says.notice(Notice(StatusEvent.SETTINGS_RELOADED, Severity.INFO, "Read anew."))
    assert [message.entity for message in recorder.messages] == ["n1/gpu:3", "train/rank:3", None]
    first = recorder.messages[0]
    assert (first.event, first.severity, first.message, first.details) == (
        StatusEvent.GPU_LOST,
        Severity.ERROR,
        "GPU 3 is lost.",
        {"index": 3},
    )


def test_degraded_mode_is_told_at_each_step_down_and_when_it_is_over() -> None:
    says, recorder, _ = reporter()
    usage = Usage(1.4, 50.0, 0.5)
    says.degraded(1, usage, ["cpu_percent"], {"host:1000ms": 2})
    says.degraded(2, usage, ["cpu_percent"], {"host:1000ms": 4})
    says.degraded(1, usage, [], {"host:1000ms": 2})
    says.degraded(0, usage, [], {})
    assert [message.event for message in recorder.messages] == [
        StatusEvent.DEGRADED_MODE_ENTERED,
        StatusEvent.DEGRADED_MODE_ENTERED,
        StatusEvent.DEGRADED_MODE_LEFT,
    ]
    assert recorder.messages[0].details == {
        "level": 1,
        "exceeded": "cpu_percent",
        "cpu_percent": 1.4,
        "memory_mebibytes": 50.0,
        "load_per_core": 0.5,
        "slowed.host:1000ms": 2,
    }
    assert "over its limit of cpu_percent" in recorder.messages[0].message


def test_other_settings_end_degraded_mode_and_neither_hide_a_failure_nor_the_end_of_one() -> None:
    says, recorder, stats = reporter()
    stats.degraded_level = 1
    says.degraded(1, Usage(1.4, 50.0, 0.5), ["cpu_percent"], {"host:1000ms": 2})
    for collector in ("scrape_a", "scrape_b"):
        says.collector_read(collector, "connection refused")
    says.begin_anew(heartbeat_seconds=10.0)
    says.collector_read("scrape_a", "connection refused")
    says.collector_read("scrape_b", None)
    says.begin_anew(heartbeat_seconds=10.0)
    for _ in range(2):
        says.collector_read("scrape_a", None)
        says.collector_read("scrape_b", None)
    told = [(message.event, message.details.get("collector")) for message in recorder.messages]
    failed, recovered = StatusEvent.COLLECTOR_FAILED, StatusEvent.COLLECTOR_RECOVERED
    assert told == [
        (StatusEvent.DEGRADED_MODE_ENTERED, None),
        (failed, "scrape_a"),
        (failed, "scrape_b"),
        (StatusEvent.DEGRADED_MODE_LEFT, None),
        (failed, "scrape_a"),
        (recovered, "scrape_b"),
        (recovered, "scrape_a"),
    ]
    assert stats.degraded_level == 0


def test_a_message_that_cannot_be_sent_is_logged_and_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    says, recorder, _ = reporter()
    says.notice(Notice(StatusEvent.GPU_LOST, Severity.ERROR, "GPU 3 is lost.", "gpu:\udcff"))
    says.notice(Notice(StatusEvent.GPU_LOST, Severity.ERROR, "GPU 4 is lost.", "gpu:4", {"log": "x" * 300_000}))
    says.beat(NOW)
    assert [message.event for message in recorder.messages] == [StatusEvent.HEARTBEAT]
    assert [line.partition(" (")[0] for line in caplog.messages] == ["The status message gpu_lost can't be sent"] * 2
    assert "GPU 3 is lost." in caplog.text
