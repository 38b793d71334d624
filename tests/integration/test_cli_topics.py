"""`pulsetrain topics` and `pulsetrain kafka` with Apache Kafka."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its types forget to export what it does
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from tests.processes import wait_until

PULSETRAIN = [sys.executable, "-m", "pulsetrain.cli.main"]


def pulsetrain(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PULSETRAIN, *arguments], capture_output=True, text=True, timeout=90, check=False)


def states(output: str, prefix: str) -> dict[str, str]:
    """Topic without prefix to the last word of its row."""
    rows = [line.split() for line in output.splitlines() if line.strip().startswith(prefix)]
    return {row[0].removeprefix(prefix): row[-1] for row in rows}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


NAMES = ["samples", "features", "anomalies", "labels", "models", "status", "dead-letter"]


def test_topics_are_created_once_and_compared_afterwards(kafka: ApacheKafka, unique: str) -> None:
    where = ("--bootstrap", kafka.bootstrap, "--prefix", unique)
    first = pulsetrain("topics", "create", *where)
    assert first.returncode == 0, first.stderr
    assert states(first.stdout, unique) == dict.fromkeys(NAMES, "created")

    again = pulsetrain("topics", "create", *where)
    assert again.returncode == 0, again.stderr
    assert states(again.stdout, unique) == dict.fromkeys(NAMES, "exists")

    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    retention = ConfigEntry("retention.ms", "1000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, f"{unique}status", incremental_configs=[retention])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)
    other = pulsetrain("topics", "create", *where, "--partitions", "6")
    assert other.returncode == 1
    expected = dict.fromkeys(NAMES, "differs") | {"labels": "exists", "models": "exists"}
    assert states(other.stdout, unique) == expected
    assert f"{unique}features differs: partitions is 4 and should be 6.\n" in other.stderr
    assert (
        f"{unique}status differs: partitions is 4 and should be 6; retention.ms is 1000 and should be 604800000.\n"
    ) in other.stderr
    assert "Topics are never changed" in other.stderr


def test_samples_are_stamped_by_the_broker_and_labels_compacted(kafka: ApacheKafka, unique: str) -> None:
    created = pulsetrain("topics", "create", "--bootstrap", kafka.bootstrap, "--prefix", unique, "--partitions", "2")
    assert created.returncode == 0, created.stderr
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    resources = [ConfigResource(ResourceType.TOPIC, unique + name) for name in ("samples", "labels")]
    samples, labels = (future.result(30) for future in admin.describe_configs(resources).values())
    assert samples["message.timestamp.type"].value == "LogAppendTime"
    assert labels["cleanup.policy"].value == "compact"
    topics = admin.list_topics(timeout=30).topics
    assert len(topics[f"{unique}samples"].partitions) == 2
    assert len(topics[f"{unique}labels"].partitions) == 1


def test_more_copies_than_brokers_are_refused_in_one_sentence(kafka: ApacheKafka, unique: str) -> None:
    refused = pulsetrain(
        "topics", "create", "--bootstrap", kafka.bootstrap, "--prefix", unique, "--replication-factor", "3"
    )
    assert refused.returncode == 1
    assert "did not create the topic" in refused.stderr
    assert "replication factor" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_topic_that_does_not_exist_is_one_sentence(kafka: ApacheKafka, unique: str) -> None:
    done = pulsetrain("tail", "status", "--bootstrap", kafka.bootstrap, "--prefix", unique)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: There is no topic {unique}status on {kafka.bootstrap}: create the topics")


def test_kafka_in_the_foreground_has_the_topics_and_stops_with_ctrl_c(tmp_path: Path, kafka: ApacheKafka) -> None:
    taken = kafka.bootstrap.rpartition(":")[2]
    refused = pulsetrain("kafka", "--port", taken)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"Error: Port {taken} on 127.0.0.1 is taken")

    log, port = tmp_path / "log", free_port()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*PULSETRAIN, "kafka", "--data-dir", str(tmp_path / "data"), "--port", str(port), "--prefix", "own."],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        found = wait_until(
            "Apache Kafka in the foreground",
            lambda: re.search(r"answers at (\S+) with 7 topics; Ctrl-C stops it", log.read_text()),
            90,
        )
        assert found[1] == f"127.0.0.1:{port}"
        listed = pulsetrain("topics", "list", "--bootstrap", found[1], "--prefix", "own.")
        assert "missing" not in listed.stdout
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
    assert "Traceback" not in log.read_text()
    assert pulsetrain("kafka", "--port", "0").returncode == 2
