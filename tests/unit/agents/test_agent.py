"""Which collectors an agent starts with, and what becomes of a block that can't be sent."""

import time
from typing import Any

import numpy as np

from pulsetrain.agents.collectors.base import Support
from pulsetrain.agents.collectors.scheduled import Scheduled
from pulsetrain.agents.outlet import KafkaOutlet
from pulsetrain.agents.publisher import Publisher
from pulsetrain.agents.reporter import Reporter
from pulsetrain.agents.run import supported_collectors
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.schemas.json_record import decode_json
from pulsetrain.schemas.sample_block import SampleBlock
from pulsetrain.schemas.status import Status, StatusEvent
from tests.unit.agents.fakes import ScriptedCollector


class Unsupported(ScriptedCollector):
    def is_supported(self) -> Support:
        return Support(False, "no such device")


class Faulty(ScriptedCollector):
    def is_supported(self) -> Support:
        raise RuntimeError("bug")


def test_collectors_that_are_not_supported_or_faulty_are_left_out_with_the_reason_and_closed() -> None:
    good, absent, faulty = ScriptedCollector("cpu", ["a"]), Unsupported("gpu", ["b"]), Faulty("disk", ["c"])
    registered = [Scheduled(collector) for collector in (absent, faulty, good)]
    supported, reasons = supported_collectors(registered, RunStats())
    assert [entry.collector for entry in supported] == [good]
    assert reasons == {"gpu": "no such device", "disk": "RuntimeError: bug"}
    assert (good.closed, absent.closed, faulty.closed) == (False, True, True)


class Recorder:
    """A producer that keeps what it is given."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes]] = []

    def produce(self, topic: str, *, key: bytes, value: bytes, on_delivery: Any, timestamp: int = 0) -> None:
        self.sent.append((topic, value))

    def poll(self, timeout: float) -> None:
        """There is nothing to report."""


def test_samples_of_a_block_that_cannot_be_encoded_are_reported_as_lost() -> None:
    recorder, stats = Recorder(), RunStats()
    opened: Any = lambda _: recorder  # noqa: E731
    publisher = Publisher(opened, stats, 10_000)
    outlet = KafkaOutlet(
        "samples", "n", publisher, Reporter("n", "status", publisher, stats, 10.0, time.time_ns), stats
    )
    outlet.block(
        SampleBlock(
            node="n",
            session="s",
            boot_id="",
            collector="host",
            entity="n/host",
            sequence=0,
            sent_until_ns=None,
            interval_ns=1,
            ticks_ns=np.array([5, 4], dtype=np.int64),
            metrics=("a", "b", "c"),
            values=np.zeros((2, 3)),
        )
    )
    outlet.tick_done(time.time_ns())
    assert {topic for topic, _ in recorder.sent} == {"status"}
    statuses = [decode_json(message, Status) for _, message in recorder.sent]
    lost = [status for status in statuses if status.event is StatusEvent.SAMPLES_DROPPED]
    assert len(lost) == 1
    assert lost[0].message.startswith("6 samples were lost since the last report: a block can't be sent (SampleBlock")
    assert "tick times must be positive and ascending" in lost[0].message
    assert lost[0].details["lost_samples"] == 6
