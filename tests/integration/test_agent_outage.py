"""Kafka goes away under a running agent, which is killed and started again meanwhile: every block arrives, in order."""

from itertools import groupby
from pathlib import Path

import pytest

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from pulsetrain.cli.topics import create_topics
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.sample_block import SampleBlock, decode_sample_block
from pulsetrain.schemas.topics import TopicNames
from tests.processes import PulsetrainProcess, wait_until
from tests.topic_log import TopicReader

WAIT_SECONDS = 90.0


def unique_blocks(samples: TopicReader) -> list[SampleBlock]:
    """In the order of their first arrival; a block may come twice."""
    blocks: dict[tuple[str, str, int], SampleBlock] = {}
    for record in samples.poll():
        block = decode_sample_block(record.value or b"")
        blocks.setdefault((block.session, block.collector, block.sequence), block)
    return list(blocks.values())


@pytest.mark.timeout(300)
def test_an_agent_that_is_killed_while_kafka_is_away_loses_no_block_that_it_had_made(
    kafka: ApacheKafka, unique: str, tmp_path: Path
) -> None:
    settings = KafkaSettings(bootstrap=kafka.bootstrap)
    create_topics(settings, unique, 4, replication_factor=1)
    samples = TopicReader(settings, TopicNames(unique).samples)
    config = tmp_path / "pulsetrain.toml"
    config.write_text(
        f"[agent]\nnode = 'node-00'\n[agent.spool]\nfolder = '{tmp_path}/spool'\n"
        "[agent.budget]\ncpu_percent = 1e6\nmemory_mebibytes = 1e6\nload_per_core = 1e6\n"
    )
    command = ["agent", "--config", str(config), "--bootstrap", kafka.bootstrap, "--prefix", unique]

    def spooled_bytes() -> int:
        return sum(path.stat().st_size for path in (tmp_path / "spool").glob("*.spool"))

    with PulsetrainProcess(command, tmp_path / "agent.log") as agent:
        wait_until("two blocks", lambda: len(unique_blocks(samples)) >= 2, WAIT_SECONDS)
        kafka.stop()
        try:
            wait_until("messages in the spool", lambda: spooled_bytes() > 50_000, WAIT_SECONDS)
            agent.kill()
            left = spooled_bytes()
            agent.start()
            wait_until("more messages in the spool", lambda: spooled_bytes() > left + 50_000, WAIT_SECONDS)
        finally:
            kafka.start()
        wait_until("an empty spool", lambda: spooled_bytes() == 0, WAIT_SECONDS)
        agent.terminate()
        assert agent.wait(WAIT_SECONDS) == 0
        assert "lost" not in agent.log()
    blocks = wait_until("blocks of both sessions", lambda: _of_two_sessions(unique_blocks(samples)), WAIT_SECONDS)
    samples.close()
    for _, session in groupby(blocks, lambda block: block.session):
        newest = None
        sequences: dict[str, int] = {}
        for block in session:
            assert block.sent_until_ns == newest
            newest = max(newest or 0, int(block.ticks_ns[-1]))
            assert block.sequence == sequences.get(block.collector, 0)
            sequences[block.collector] = block.sequence + 1


def _of_two_sessions(blocks: list[SampleBlock]) -> list[SampleBlock]:
    sessions = [session for session, _ in groupby(block.session for block in blocks)]
    assert len(sessions) <= 2, "blocks of the first session came after those of the second"
    return blocks if len(sessions) == 2 else []
