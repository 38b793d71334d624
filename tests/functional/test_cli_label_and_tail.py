"""`pulsetrain label` and `pulsetrain tail` as real processes on the embedded broker."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiokafka.partitioner import DefaultPartitioner
from confluent_kafka import Producer

from pulsetrain.cli.brokers.embedded import EMBEDDED_PARTITIONS, EmbeddedBroker
from tests.processes import wait_until

PULSETRAIN = [sys.executable, "-m", "pulsetrain.cli.main"]
GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "v1"


def pulsetrain(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PULSETRAIN, *arguments], capture_output=True, text=True, timeout=60, check=False)


class Tail:
    """A running `pulsetrain tail` and what it has written so far."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path, errors: Path) -> None:
        self.process = process
        self._output = output
        self._errors = errors

    def output(self) -> str:
        return self._output.read_text()

    def errors(self) -> str:
        return self._errors.read_text()

    def interrupt(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)


@contextmanager
def tailing(folder: Path, *arguments: str) -> Iterator[Tail]:
    output, errors = folder / "stdout", folder / "stderr"
    with output.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen([*PULSETRAIN, "tail", *arguments], stdout=out, stderr=err)
    try:
        yield Tail(process, output, errors)
    finally:
        process.kill()
        process.wait()


def send(broker: EmbeddedBroker, topic: str, *values: bytes) -> None:
    """All to partition 0, so that they are read in this order."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for value in values:
        producer.produce(topic, key=b"node-00", value=value, partition=0)
    assert producer.flush(20) == 0


@pytest.mark.parametrize("anomaly_id", ["node-00", "node-03", "node-01/host@20260101T000030.000Z:detect"])
def test_a_label_is_confirmed_in_the_partition_where_the_workers_place_its_key(
    broker: EmbeddedBroker, unique: str, anomaly_id: str
) -> None:
    done = pulsetrain("label", anomaly_id, "true_positive", "--bootstrap", broker.bootstrap, "--prefix", unique)
    assert done.returncode == 0, done.stderr
    found = re.search(rf"Stored in {re.escape(unique)}labels, partition (\d), offset 0\.", done.stdout)
    assert found, done.stdout
    partitions = list(range(EMBEDDED_PARTITIONS))
    assert int(found[1]) == DefaultPartitioner()(anomaly_id.encode(), partitions, partitions)
    if anomaly_id == "node-00":
        assert found[1] == "3"  # Java's murmur2 of node-00 modulo 4


def test_a_label_sent_is_the_label_read(broker: EmbeddedBroker, unique: str) -> None:
    where = ("--bootstrap", broker.bootstrap, "--prefix", unique)
    note = "nightly [bold]backup[/bold] – no fault"
    sent = pulsetrain("label", "a/host@x:detect", "false_positive", "--by", "olga", "--note", note, *where)
    assert sent.returncode == 0, sent.stderr
    assert sent.stdout.startswith("Sent false_positive for a/host@x:detect by olga at 20")
    read = pulsetrain("tail", "labels", "--from-beginning", "--count", "1", "--json", *where)
    assert read.returncode == 0, read.stderr
    message = json.loads(read.stdout)
    assert message["key"] == "a/host@x:detect"
    record = message["record"]
    assert (record["anomaly_id"], record["verdict"]) == ("a/host@x:detect", "false_positive")
    assert (record["by"], record["note"], record["entity"]) == ("olga", note, None)
    shown = pulsetrain("tail", "labels", "--from-beginning", "--count", "1", *where)
    assert f"false_positive a/host@x:detect by olga: {note}" in shown.stdout


def test_a_label_that_is_none_is_not_sent(broker: EmbeddedBroker, unique: str) -> None:
    done = pulsetrain("label", "a/host", "missed", "--bootstrap", broker.bootstrap, "--prefix", unique)
    assert done.returncode == 2
    assert done.stderr == (
        "Error: This is no valid label: a missed fault needs entity, start and a later end. Nothing was sent.\n"
    )


def test_avro_messages_are_read_decoded(broker: EmbeddedBroker, unique: str) -> None:
    send(broker, f"{unique}samples", (GOLDEN / "sample_block.bin").read_bytes())
    done = pulsetrain(
        "tail", "samples", "--from-beginning", "--count", "1", "--bootstrap", broker.bootstrap, "--prefix", unique
    )
    assert done.returncode == 0, done.stderr
    assert "node-00/host host block 42: 2 ticks x 3 metrics, 16.7% missing" in done.stdout
    assert f"Reading {unique}samples on {broker.bootstrap} from the beginning" in done.stderr


def test_tail_shows_what_comes_goes_on_after_poison_and_ends_with_ctrl_c(
    broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    topic, status = f"{unique}status", (GOLDEN / "status.json").read_bytes()
    send(broker, topic, status.replace(b"blocks could not", b"came before"))
    with tailing(tmp_path, "status", "--bootstrap", broker.bootstrap, "--prefix", unique) as tail:
        wait_until("tail to read", lambda: "from now on" in tail.errors(), 30)
        send(broker, topic, status, b'{"source":5}', b"", b"\xff\xfe\x1b[2J", status.replace(b"12 of", b"last of"))
        wait_until("the last message", lambda: "last of 1200 blocks" in tail.output(), 30)
        assert tail.interrupt() == 130
    lines = tail.output().splitlines()
    assert "12 of 1200 blocks could not be sent" in lines[0]
    assert lines[1].startswith(f"undecodable {topic}[0]@2: invalid: Status: Expected `str`, got `int`")
    assert lines[2].startswith(f"undecodable {topic}[0]@3: empty: ")
    assert lines[3].startswith(f"undecodable {topic}[0]@4: malformed: ")
    assert "came before" not in tail.output()
    assert "\x1b" not in tail.output()
    assert "Traceback" not in tail.errors()


def test_tail_reads_on_past_timestamps_that_no_calendar_has(broker: EmbeddedBroker, unique: str) -> None:
    topic, status = f"{unique}status", (GOLDEN / "status.json").read_bytes()
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    microseconds = 1_767_225_600_000_000
    for timestamp in (microseconds, 2**63 - 1, 1_767_225_600_000):
        producer.produce(topic, value=status, partition=0, timestamp=timestamp)
    assert producer.flush(20) == 0
    arguments = ("--from-beginning", "--count", "3", "--bootstrap", broker.bootstrap, "--prefix", unique)
    done = pulsetrain("tail", "status", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["at"] for line in done.stdout.splitlines()] == [None, None, "2026-01-01T00:00:00Z"]


def test_tail_waits_a_moment_for_a_topic_that_is_only_just_being_made(
    broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    arguments = ("status", "--from-beginning", "--count", "1", "--bootstrap", broker.bootstrap, "--prefix", unique)
    with tailing(tmp_path, *arguments) as tail:
        send(broker, f"{unique}status", (GOLDEN / "status.json").read_bytes())
        assert tail.process.wait(30) == 0
    assert "12 of 1200 blocks could not be sent" in tail.output()


def test_tail_ends_quietly_when_its_reader_does(broker: EmbeddedBroker, unique: str) -> None:
    send(broker, f"{unique}status", *[(GOLDEN / "status.json").read_bytes()] * 2000)
    arguments = ["tail", "status", "--from-beginning", "--bootstrap", broker.bootstrap, "--prefix", unique]
    with subprocess.Popen([*PULSETRAIN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(30) == 1
        assert b"Traceback" not in process.stderr.read()


def test_tail_waits_for_a_broker_that_is_not_there_and_says_so(tmp_path: Path) -> None:
    with tailing(tmp_path, "status", "--bootstrap", "127.0.0.1:1") as tail:
        wait_until("a second try", lambda: tail.errors().count("No Kafka broker answers at 127.0.0.1:1") == 2, 30)
        assert tail.interrupt() == 130
    assert "Traceback" not in tail.errors()


def test_the_topics_of_the_embedded_broker_are_listed(broker: EmbeddedBroker, unique: str) -> None:
    send(broker, f"{unique}status", b"{}")
    done = pulsetrain("topics", "list", "--bootstrap", broker.bootstrap, "--prefix", unique)
    assert done.returncode == 0, done.stderr
    rows = {row[0]: row[1] for row in map(str.split, done.stdout.splitlines()) if row and row[0].startswith(unique)}
    assert rows[f"{unique}status"] == str(EMBEDDED_PARTITIONS)
    assert rows[f"{unique}samples"] == "missing"
