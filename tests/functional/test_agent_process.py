"""The agent as a process of its own: killed, told to read its settings anew, ended; with its spool and its log file."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from pulsetrain.cli.brokers.embedded import EmbeddedBroker
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.sample_block import SampleBlock, decode_sample_block
from pulsetrain.schemas.topics import TopicNames
from tests.processes import PulsetrainProcess, wait_until
from tests.topic_log import TopicReader

NOWHERE = "127.0.0.1:1"
WAIT_SECONDS = 60.0


@contextmanager
def agent(
    bootstrap: str, prefix: str, folder: Path, toml: str = "", log: str = "agent.out"
) -> Iterator[PulsetrainProcess]:
    """A running agent with its spool in `folder`."""
    config = folder / "pulsetrain.toml"
    config.write_text(
        f"[agent]\nnode = 'node-00'\nflush_seconds = 2.0\n{toml}\n[agent.spool]\nfolder = '{folder}/spool'\n"
        "[agent.budget]\ncpu_percent = 1e6\nmemory_mebibytes = 1e6\nload_per_core = 1e6\n"
    )
    command = ["agent", "--config", str(config), "--bootstrap", bootstrap, "--prefix", prefix]
    with PulsetrainProcess(command, folder / log) as process:
        yield process


def spooled_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in (folder / "spool").glob("*.spool"))


def has_spooled(folder: Path, enough_bytes: int) -> bool:
    return spooled_bytes(folder) >= enough_bytes


def events(status: TopicReader) -> list[str]:
    return [json.loads(record.value or b"{}")["event"] for record in status.poll()]


def test_what_an_agent_read_before_it_was_killed_comes_first_when_kafka_is_there(
    broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    topics = TopicNames(unique)
    broker.declare([topics.samples, topics.status])
    kafka = KafkaSettings(bootstrap=broker.bootstrap)
    for number in range(2):
        enough = spooled_bytes(tmp_path) + 60_000
        with agent(NOWHERE, unique, tmp_path, log=f"{number}.out") as process:
            wait_until("messages in the spool", partial(has_spooled, tmp_path, enough), WAIT_SECONDS)
            process.kill()
    with agent(broker.bootstrap, unique, tmp_path) as process:
        samples = TopicReader(kafka, topics.samples)

        def blocks() -> list[SampleBlock]:
            found = [decode_sample_block(record.value or b"") for record in samples.poll()]
            return found if len({block.session for block in found}) >= 3 else []

        received = wait_until("blocks of three sessions", blocks, WAIT_SECONDS)
        process.terminate()
        assert process.wait(WAIT_SECONDS) == 0
        samples.close()
        assert "messages of an earlier run are sent first" in process.log()
    assert len([session for session, _ in groupby(block.session for block in received)]) == 3
    for _, session in groupby(received, lambda block: block.session):
        newest = None
        sequences: dict[str, int] = {}
        for block in session:
            assert block.sent_until_ns == newest
            newest = max(newest or 0, int(block.ticks_ns[-1]))
            assert block.sequence == sequences.get(block.collector, 0)
            sequences[block.collector] = block.sequence + 1
    assert list((tmp_path / "spool").glob("*.spool")) == []


def test_an_agent_that_ends_while_kafka_is_away_says_what_stays_for_the_next_start(unique: str, tmp_path: Path) -> None:
    with agent(NOWHERE, unique, tmp_path) as process:
        wait_until("messages in the spool", lambda: has_spooled(tmp_path, 10_000), WAIT_SECONDS)
        process.terminate()
        assert process.wait(WAIT_SECONDS) == 0
        assert f"messages stay in {tmp_path}/spool for the next start." in process.log()
        assert "lost" not in process.log()


def test_settings_are_read_anew_on_sighup_and_wrong_ones_are_rejected(
    broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    topics = TopicNames(unique)
    broker.declare([topics.samples, topics.status])
    kafka = KafkaSettings(bootstrap=broker.bootstrap)
    status, samples = TopicReader(kafka, topics.status), TopicReader(kafka, topics.samples)

    def blocks(where: Callable[[SampleBlock], bool]) -> list[SampleBlock]:
        return [block for record in samples.poll() if where(block := decode_sample_block(record.value or b""))]

    with agent(broker.bootstrap, unique, tmp_path) as process:
        config = tmp_path / "pulsetrain.toml"
        wait_until("a block", lambda: blocks(lambda _: True), WAIT_SECONDS)
        good = config.read_text()

        config.write_text(good.replace("[agent]", "[agent]\ninterval_ms = 5"))
        process.hang_up()
        wait_until("a rejection", lambda: "settings_rejected" in events(status), WAIT_SECONDS)

        changed = good.replace("[agent]", "[agent]\ninterval_ms = 200\nlabels = { job = 'secret-7' }")
        config.write_text(changed.replace("node-00", "node-01"))
        process.hang_up()
        slower = wait_until(
            "blocks with the new interval", lambda: blocks(lambda block: block.interval_ns == 200_000_000), WAIT_SECONDS
        )
        process.terminate()
        assert process.wait(WAIT_SECONDS) == 0
        log = process.log()
    told = {message["event"]: message for message in (json.loads(record.value or b"{}") for record in status.poll())}
    assert "agent.interval_ms is 5; it must lie between 10 and 60000" in told["settings_rejected"]["message"]
    assert told["settings_reloaded"]["details"] == {"agent.interval_ms": "100 -> 200", "agent.labels": "changed"}
    assert "What changed in agent.node holds after a restart." in told["settings_reloaded"]["message"]
    assert "secret-7" not in json.dumps(told) + log
    assert {(block.node, block.labels["job"]) for block in slower} == {("node-00", "secret-7")}
    everything = [decode_sample_block(record.value or b"") for record in samples.poll()]
    assert len({block.session for block in everything}) == 2
    assert events(status).count("started") == 2
    assert events(status).count("stopped") == 1
    status.close()
    samples.close()


def test_the_log_goes_to_the_file_that_is_named(unique: str, tmp_path: Path) -> None:
    toml = f"[agent.log]\nfile = '{tmp_path}/agent.log'"
    with agent(NOWHERE, unique, tmp_path, toml) as process:
        log = tmp_path / "agent.log"
        wait_until("a line", lambda: log.exists() and "Node node-00: reading" in log.read_text(), WAIT_SECONDS)
        process.terminate()
        assert process.wait(WAIT_SECONDS) == 0
        assert process.log() == ""


def test_why_an_agent_ends_is_in_its_log_file_too(unique: str, tmp_path: Path) -> None:
    toml = f"[agent.log]\nfile = '{tmp_path}/agent.log'\n"
    security = "[kafka.security]\n'security.protocol' = 'ssl'\n'ssl.ca.location' = '/nowhere/ca.pem'"
    with agent(NOWHERE, unique, tmp_path, toml + security) as process:
        assert process.wait(WAIT_SECONDS) == 2
        assert process.log().startswith("Error: The Kafka settings can't work: ")
    assert "The agent ends: The Kafka settings can't work: " in (tmp_path / "agent.log").read_text()


def test_a_log_file_that_cannot_be_written_is_one_sentence_and_exit_code_1(unique: str, tmp_path: Path) -> None:
    with agent(NOWHERE, unique, tmp_path, f"[agent.log]\nfile = '{tmp_path}'") as process:
        assert process.wait(WAIT_SECONDS) == 1
        assert process.log().startswith(f"Error: agent.log.file '{tmp_path}' can't be written: Is a directory.")


def test_a_spool_that_cannot_be_used_is_a_warning_and_no_end(unique: str, tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("no folder")
    with agent(NOWHERE, unique, tmp_path) as process:
        wait_until("the first sample", lambda: "reading" in process.log(), WAIT_SECONDS)
        assert f"The spool {tmp_path}/spool can't be used: File exists." in process.log()
        assert process.alive()


def test_the_command_keeps_its_process_and_its_flags_when_it_becomes_the_agent(unique: str, tmp_path: Path) -> None:
    with agent(NOWHERE, unique, tmp_path) as process:

        def agents_command() -> str | None:
            line = Path(f"/proc/{process.pid}/cmdline").read_text()
            return line if "node_agent" in line else None

        command = wait_until("the agent's own program", agents_command, WAIT_SECONDS)
        environment = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
    assert command.split("\0")[1:4] == ["-P", "-m", "pulsetrain.cli.node_agent"]
    assert f"PULSETRAIN_KAFKA__BOOTSTRAP={NOWHERE}".encode() in environment
    assert f"PULSETRAIN_TOPICS__PREFIX={unique}".encode() in environment
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "1")
    assert f"OPENBLAS_NUM_THREADS={threads}".encode() in environment


def test_a_segment_that_cannot_be_read_is_told_and_keeps_nothing_else_from_being_sent(
    broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    topics = TopicNames(unique)
    broker.declare([topics.samples, topics.status])
    status = TopicReader(KafkaSettings(bootstrap=broker.bootstrap), topics.status)
    segment = tmp_path / "spool" / "00000000000000000001.spool"
    segment.mkdir(parents=True)

    def told() -> list[dict[str, Any]]:
        messages = [json.loads(record.value or b"{}") for record in status.poll()]
        return messages if "heartbeat" in {message["event"] for message in messages} else []

    with agent(broker.bootstrap, unique, tmp_path) as process:
        messages = wait_until("a heartbeat", told, WAIT_SECONDS)
        process.terminate()
        assert process.wait(WAIT_SECONDS) == 0
        assert process.log().count(str(segment)) == 1
    status.close()
    by_event = {message["event"]: message for message in messages}
    assert f"first {segment} (it is a folder)" in by_event["samples_dropped"]["message"]
    assert by_event["heartbeat"]["details"]["spool_unreadable_files"] == 1
