"""The simulated agents of the crash test: repeatable, and with every trouble that they promise."""

from collections import Counter

import numpy as np

from pulsetrain.schemas.sample_block import SampleBlock, encode_sample_block
from pulsetrain.streams.settings import WindowSettings
from pulsetrain.streams.windows import WindowEngine
from tests.crash.sources import SECOND_NS
from tests.crash.troubled_agent import CALM, TroubledAgent, Troubles

START_NS = 1_800_000_000 * SECOND_NS
WINDOWS = WindowSettings(length_seconds=6.0, hop_seconds=2.0)


def _agent(troubles: Troubles, seed: int = 3) -> TroubledAgent:
    return TroubledAgent("node", seed, START_NS, troubles)


def _blocks(agent: TroubledAgent, seconds: int, at_takeover: bool = False) -> list[SampleBlock]:
    return [block for _ in range(seconds) for block in agent.send_second(at_takeover)]


def _identity(block: SampleBlock) -> tuple[str, str, int]:
    return block.session, block.collector, block.sequence


def test_the_same_seed_gives_the_same_blocks_and_takeovers_only_add_copies() -> None:
    one, other = _blocks(_agent(Troubles()), 600), _blocks(_agent(Troubles()), 600)
    at_takeover = _blocks(_agent(Troubles()), 600, at_takeover=True)

    assert [encode_sample_block(block) for block in one] == [encode_sample_block(block) for block in other]
    assert {encode_sample_block(block) for block in at_takeover} == {encode_sample_block(block) for block in one}
    assert len(at_takeover) > len(one)


def test_a_calm_agent_sends_each_block_once_and_in_order_of_its_times() -> None:
    blocks = _blocks(_agent(CALM), 60)

    assert len({_identity(block) for block in blocks}) == len(blocks)
    assert Counter(block.collector for block in blocks) == {"cpu": 60, "gpu": 30, "scrape": 4, "steps": 60}
    newest: int | None = None
    for block in blocks:
        assert block.sent_until_ns == newest
        newest = max(newest or 0, int(block.ticks_ns[-1]))
    assert len({int(step) for block in blocks if block.collector == "steps" for step in np.diff(block.ticks_ns)}) > 100


def test_an_hour_of_troubles_has_all_of_them() -> None:
    agent = _agent(Troubles())
    blocks = _blocks(agent, 3600)

    assert set(agent.happened) == {
        "agent restarts",
        "reboots",
        "backlogs sent late",
        "blocks doubled",
        "blocks late",
        "blocks lost",
        "faults",
    }
    assert len({_identity(block) for block in blocks}) < len(blocks)
    assert len({block.boot_id for block in blocks}) == 1 + agent.happened["reboots"]
    assert len({block.session for block in blocks}) <= 1 + agent.happened["agent restarts"] + agent.happened["reboots"]


def test_its_marker_closes_every_window_before_it_and_opens_none() -> None:
    agent, engine = _agent(Troubles()), WindowEngine(WINDOWS)
    blocks = _blocks(agent, 120) + agent.finish(WINDOWS)

    for offset, block in enumerate(blocks):
        step = engine.process(block, offset, int(block.ticks_ns[-1]))

    assert engine.windows_open == 0
    assert step.safe_offset == len(blocks)
