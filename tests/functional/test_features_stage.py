"""The features stage in one process on the embedded broker: bad input, clocks, and counts that add up."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from pulsetrain.cli.brokers.embedded import EmbeddedBroker
from pulsetrain.schemas.feature_window import decode_feature_window
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.sample_block import MAX_BLOCK_BYTES, encode_sample_block
from pulsetrain.schemas.topics import ALL_TOPICS, TopicNames
from tests.processes import PulsetrainProcess
from tests.simulation import SECOND_NS, SimulatedNode
from tests.topic_log import Record, TopicReader, produce

CONFIG = """
[worker]
heartbeat_seconds = 0.5
declare_topics = false

[worker.windows]
length_seconds = 5.0
hop_seconds = 1.0
"""


class Stage:
    """A worker of the features stage with topics of its own."""

    def __init__(self, broker: EmbeddedBroker, prefix: str, folder: Path) -> None:
        self.kafka = KafkaSettings(bootstrap=broker.bootstrap)
        self.topics = TopicNames(prefix)
        broker.declare([topic.full_name(prefix) for topic in ALL_TOPICS])
        config = folder / "pulsetrain.toml"
        config.write_text(CONFIG)
        arguments = ["worker", "features", "--config", str(config), "--bootstrap", broker.bootstrap, "--prefix", prefix]
        self.worker = PulsetrainProcess(arguments, folder / "worker.log")

    def send(self, node: str, values: list[bytes]) -> None:
        """Writes messages of one node."""
        produce(self.kafka, self.topics.samples, [(node.encode(), value) for value in values])

    def reader(self, topic: str) -> TopicReader:
        """Reads one of the topics from its beginning."""
        return TopicReader(self.kafka, topic)

    def heartbeat(self, what: str, **wanted: int) -> dict[str, int]:
        """The details of the first heartbeat that has the wanted figures."""

        def matching(records: list[Record]) -> list[dict[str, int]]:
            statuses = [json.loads(record.value or b"{}") for record in records]
            beats = [status["details"] for status in statuses if status["event"] == "heartbeat"]
            return [beat for beat in beats if all(beat[name] == figure for name, figure in wanted.items())]

        reader = self.reader(self.topics.status)
        records = reader.until(f"a heartbeat with {what}", lambda seen: bool(matching(seen)))
        return matching(records)[-1]


@pytest.fixture
def stage(broker: EmbeddedBroker, unique: str, tmp_path: Path) -> Iterator[Stage]:
    """The worker, running."""
    running = Stage(broker, unique, tmp_path)
    with running.worker:
        yield running


def _node(name: str = "node-a") -> SimulatedNode:
    return SimulatedNode(name, 1, time.time_ns() // SECOND_NS * SECOND_NS - 60 * SECOND_NS)


def test_each_poison_message_goes_to_the_dead_letters_with_its_place_and_the_next_block_is_used(stage: Stage) -> None:
    good = [encode_sample_block(block) for block in _node().blocks(10)]
    poison = [
        b"",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"node":"a","v":"abc"}',
        b'{"node":"a","v":null}',
        b'{"v":1}',
        b'{"node":5,"v":1}',
        b'{"node":"a","v":NaN}',
        good[0][:40],
        good[0] + b"\x00",
        good[0] + bytes(MAX_BLOCK_BYTES + 1 - len(good[0])),
    ]
    stage.send("node-a", [*poison, *good])

    dead = stage.reader(stage.topics.dead_letter).until("every dead letter", lambda seen: len(seen) >= len(poison))
    assert [record.value or b"" for record in sorted(dead, key=lambda r: int(r.headers["offset"]))] == poison
    assert sorted(int(record.headers["offset"]) for record in dead) == list(range(len(poison)))
    assert {record.headers["topic"].decode() for record in dead} == {stage.topics.samples}
    assert {record.headers["reason"].decode().partition(":")[0] for record in dead} == {
        "empty",
        "unknown_schema",
        "malformed",
        "oversized",
    }

    # ticks 0 to 9.9 s: with 2 s of lateness the watermark is at 7.9, so windows end at 5, 6 and 7 s
    windows = stage.reader(stage.topics.features).until("three windows", lambda seen: len(seen) >= 3)
    assert [decode_feature_window(record.value).complete for record in windows] == [True] * 3
    assert stage.worker.alive()


def test_a_clock_in_the_future_is_quarantined_and_reported_once_while_other_nodes_go_on(stage: Stage) -> None:
    ahead = SimulatedNode("node-f", 2, (time.time_ns() // SECOND_NS + 600) * SECOND_NS)
    stage.send("node-f", [encode_sample_block(block) for block in ahead.blocks(3)])
    stage.send("node-a", [encode_sample_block(block) for block in _node().blocks(10)])

    beat = stage.heartbeat("all samples of both nodes", received=13 * 40, windows=3)
    assert beat["quarantined"] == 3 * 40
    assert beat["used"] == 10 * 40
    reports = [
        status
        for record in stage.reader(stage.topics.status).until("status messages", lambda seen: len(seen) > 3)
        if (status := json.loads(record.value or b"{}"))["event"] == "clock_in_future"
    ]
    assert len(reports) == 1
    assert "node-f" in reports[0]["message"]


def test_late_duplicate_and_invalid_samples_are_counted_and_everything_adds_up(stage: Stage) -> None:
    node = _node()
    blocks = list(node.blocks(12))
    duplicate = blocks[5]
    late = replace(blocks[2], sequence=100, sent_until_ns=int(blocks[10].ticks_ns[-1]))
    values = np.array(blocks[7].values)
    values[0, 0] = np.inf
    values[1, 1] = 9223372036854775794.0  # DCGM's int64 blank as it travels in a double
    values[2, 2] = np.nan  # missing: no sample
    blocks[7] = replace(blocks[7], values=values)
    sent = [*blocks[:6], duplicate, *blocks[6:11], late, blocks[11]]
    stage.send("node-a", [encode_sample_block(block) for block in sent])

    beat = stage.heartbeat("all samples", received=14 * 40 - 1)
    assert (beat["late"], beat["duplicate"], beat["invalid"], beat["quarantined"]) == (40, 40, 2, 0)
    parts = ("used", "late", "duplicate", "invalid", "quarantined", "dead_lettered")
    assert sum(beat[name] for name in parts) == beat["received"]
    # one node; 12 blocks of 10 ticks x 4 metrics of 8 bytes are held at most, with their ticks, and a window's message
    assert 0 < beat["state_bytes"] == beat["state_bytes_of_largest_node"] <= 12 * 10 * (4 + 1) * 8 + 4_000
    assert beat["remembered_nodes"] == beat["nodes"] == 1


def test_a_metric_that_nobody_knows_passes_under_its_own_name_and_is_reported(stage: Stage) -> None:
    node = _node()
    node.metrics = ("vendor.mystery__reading_",)
    stage.send("node-a", [encode_sample_block(block) for block in node.blocks(10)])

    windows = stage.reader(stage.topics.features).until("a window", lambda seen: len(seen) >= 1)
    window = decode_feature_window(windows[0].value)
    assert window.metrics == ("vendor.mystery__reading_",)
    assert np.isfinite(window.values).all()
    stage.heartbeat("the unknown metric", unknown_metrics=1)
