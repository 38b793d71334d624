"""Samples in, verdict out, label in, new model version out and loaded: all through topics of Apache Kafka."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from pulsetrain.cli.topics import create_topics
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.sample_block import encode_sample_block
from pulsetrain.schemas.topics import TopicNames
from tests.processes import PulsetrainProcess, wait_until
from tests.simulation import SECOND_NS, SimulatedNode
from tests.topic_log import GroupProgress, Record, TopicReader, produce

CONFIG = """
[worker]
heartbeat_seconds = 1.0

[worker.windows]
length_seconds = 5.0
hop_seconds = 1.0

[worker.learn]
warm_up_seconds = 60.0
activation_delay_seconds = 3.0
"""

NODES = 4
NORMAL = (0.0, 0.0, 0.0, 0.0)
BENIGN_JOB = (30.0, 20.0, 0.0, 0.0)
LARGER_JOB = (90.0, 60.0, 0.0, 0.0)
FAULT = (0.0, 0.0, 0.0, -25.0)
FAULT_DURING_JOB = (30.0, 20.0, 0.0, -25.0)

FAULT_SECONDS = 15
LIMIT_SECONDS = 270.0
"""For all waits of a test together."""


class Loop:
    """All workers and four simulated nodes; what happens is done to the first."""

    def __init__(self, kafka: ApacheKafka, prefix: str, folder: Path) -> None:
        self.kafka = KafkaSettings(bootstrap=kafka.bootstrap)
        self.topics = TopicNames(prefix)
        create_topics(self.kafka, prefix, 4, replication_factor=1)
        config = folder / "pulsetrain.toml"
        config.write_text(CONFIG)
        self.flags = ["--config", str(config), "--bootstrap", kafka.bootstrap, "--prefix", prefix]
        self.workers = PulsetrainProcess(["worker", "features", "learn", *self.flags], folder / "workers.log")
        self.detect = PulsetrainProcess(["worker", "detect", *self.flags], folder / "detect.log")
        self._progress = GroupProgress(self.kafka, f"{prefix}detect", self.topics.features)
        start_ns = time.time_ns() // SECOND_NS * SECOND_NS - 1200 * SECOND_NS
        self.nodes = [SimulatedNode(f"node-{number}", number, start_ns) for number in range(NODES)]
        self.anomalies = TopicReader(self.kafka, self.topics.anomalies)
        self.status = TopicReader(self.kafka, self.topics.status)
        self._seconds = 0
        self._deadline = time.monotonic() + LIMIT_SECONDS

    def play(self, seconds: int, shift: Sequence[float] = NORMAL) -> None:
        """So many seconds of samples of every node; the first one's are shifted."""
        first, *others = self.nodes
        blocks = [block for _ in range(seconds) for block in (first.block(shift), *(node.block() for node in others))]
        records = [(block.node.encode(), encode_sample_block(block)) for block in blocks]
        produce(self.kafka, self.topics.samples, records)
        self._seconds += seconds

    def wait_for_windows(self) -> None:
        """Until every window that the samples so far make is on the features topic."""
        # The watermark is 2.1 s behind the end of the last block, and the first window ends at 5 s.
        windows = NODES * (self._seconds - 7)
        wait_until(f"{windows} windows", lambda: sum(self._progress.ends().values()) >= windows, self._seconds_left())

    def is_judged(self) -> bool:
        """Whether the detect stage is done with every window on the features topic."""
        return self._progress.committed() == self._progress.ends()

    def wait_until_judged(self) -> None:
        """Until the detect stage is done with every window that the samples so far make."""
        self.wait_for_windows()
        wait_until("all windows to be judged", self.is_judged, self._seconds_left())

    def wait_for_status(self, what: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first status message that satisfies the condition."""

        def found(records: list[Record]) -> list[dict[str, Any]]:
            return [status for record in records if condition(status := json.loads(record.value or b"{}"))]

        return found(self.status.until(what, lambda seen: bool(found(seen)), self._seconds_left()))[0]

    def anomalies_of_first_node(self) -> list[dict[str, Any]]:
        """Every revision, in order."""
        self.anomalies.poll(1.0)
        return self._of_first_node()

    def _of_first_node(self) -> list[dict[str, Any]]:
        verdicts = [json.loads(record.value or b"{}") for record in self.anomalies.records]
        return [verdict for verdict in verdicts if verdict["node"] == "node-0"]

    def wait_for_anomaly_of_first_node(self, known: int) -> None:
        """Until there are more of its verdicts than are known."""
        self.anomalies.until("a verdict", lambda _: len(self._of_first_node()) > known, self._seconds_left())

    def close(self) -> None:
        """Leaves the broker."""
        self.anomalies.close()
        self.status.close()
        self._progress.close()

    def label(self, anomaly_id: str, verdict: str, folder: Path) -> None:
        """Labels as an operator does."""
        with PulsetrainProcess(
            ["label", anomaly_id, verdict, "--by", "operator", *self.flags], folder / "label.log"
        ) as command:
            assert command.wait(self._seconds_left()) == 0, command.log()

    def _seconds_left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())


@pytest.fixture
def loop(kafka: ApacheKafka, unique: str, tmp_path: Path) -> Iterator[Loop]:
    """The loop, running."""
    running = Loop(kafka, unique, tmp_path)
    with running.workers, running.detect:
        yield running
    running.close()


@pytest.mark.timeout(400)
def test_a_false_positive_is_learned_and_real_faults_are_still_flagged(loop: Loop, tmp_path: Path) -> None:
    loop.play(80)
    loop.wait_for_status("the first version to be loaded", lambda s: s["event"] == "model_loaded")
    loop.play(15)
    loop.wait_until_judged()
    before = loop.anomalies_of_first_node()

    loop.play(10, BENIGN_JOB)
    loop.play(15)
    loop.wait_until_judged()
    episode = loop.anomalies_of_first_node()[len(before) :]
    assert episode, "the job was not flagged"
    assert [verdict["state"] for verdict in episode][-1] == "closed"
    assert {verdict["id"] for verdict in episode} == {episode[0]["id"]}
    strongest = max(episode, key=lambda verdict: verdict["score"])
    assert {evidence["metric"] for evidence in strongest["evidence"][:2]} == {"test.gauge.0", "test.gauge.1"}
    assert sum(vote["flagged"] for vote in strongest["votes"]) >= 2
    assert strongest["model"] == {"name": "host", "version": 1}

    loop.label(episode[0]["id"], "false_positive", tmp_path)
    loop.wait_for_status(
        "version 2 to be loaded", lambda s: s["event"] == "model_loaded" and s["details"]["version"] == 2
    )
    loop.play(10)
    loop.wait_until_judged()

    def verdicts_during(shift: Sequence[float]) -> list[dict[str, Any]]:
        known = len(loop.anomalies_of_first_node())
        loop.play(10, shift)
        loop.play(15)
        loop.wait_until_judged()
        return loop.anomalies_of_first_node()[known:]

    assert verdicts_during(BENIGN_JOB) == []
    for fault in (FAULT, FAULT_DURING_JOB, LARGER_JOB):
        verdicts = verdicts_during(fault)
        assert verdicts, f"{fault} was not flagged"
        assert {verdict["model"]["version"] for verdict in verdicts} == {2}


@pytest.mark.timeout(400)
def test_a_detect_worker_killed_in_the_middle_of_an_anomaly_loses_and_changes_no_verdict(loop: Loop) -> None:
    loop.play(80)
    loop.wait_for_status("the first version to be loaded", lambda s: s["event"] == "model_loaded")
    loop.play(15)
    loop.wait_until_judged()

    before = len(loop.anomalies_of_first_node())
    loop.play(FAULT_SECONDS - 5, FAULT)
    loop.wait_for_anomaly_of_first_node(before)
    # The worker stands still at an open anomaly until its other windows are on the topic, and never gets to them.
    loop.detect.pause()
    loop.play(5, FAULT)
    loop.play(20)
    loop.wait_for_windows()
    assert not loop.is_judged()
    loop.detect.kill()
    loop.detect.start()
    loop.wait_until_judged()
    _assert_one_whole_anomaly(loop.anomalies_of_first_node()[before:])


def _assert_one_whole_anomaly(verdicts: list[dict[str, Any]]) -> None:
    """All revisions of one anomaly are there, copies are equal, and the last one closes it."""
    contents: dict[tuple[str, int], set[str]] = {}
    for verdict in verdicts:
        contents.setdefault((verdict["id"], verdict["revision"]), set()).add(json.dumps(verdict, sort_keys=True))
    assert [different for different in contents.values() if len(different) > 1] == []
    assert len({anomaly_id for anomaly_id, _ in contents}) == 1
    assert sorted(revision for _, revision in contents) == list(range(len(contents)))
    last = max(verdicts, key=lambda verdict: verdict["revision"])
    assert last["state"] == "closed"
    # A fault of n seconds is in n + 4 windows of 5 s each 1 s, in the first and last of them for 1 s only.
    assert FAULT_SECONDS <= last["flagged_windows"] <= FAULT_SECONDS + 4
