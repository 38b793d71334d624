"""From ticks to blocks: borders, sequence numbers, the chain of sent_until."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pulsetrain.agents.collectors.base import Notice
from pulsetrain.agents.collectors.scheduled import Scheduled
from pulsetrain.agents.errors import CollectError
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.runner import Runner
from pulsetrain.agents.session import Node, read_boot_id
from pulsetrain.schemas.sample_block import SampleBlock, decode_sample_block, encode_sample_block
from tests.unit.agents.fakes import ScriptedCollector

MS = 1_000_000
SECOND = 1000 * MS
START = 1_700_000_000 * SECOND - 250 * MS
RECORDED = Path(__file__).parents[2] / "data/proc/epyc_vm/proc"


@dataclass
class Outlet:
    """Keeps everything; blocks as a reader would see them."""

    blocks: list[SampleBlock] = field(default_factory=list)
    ticks_before: list[int] = field(default_factory=list)
    """How many ticks were over when each block came."""
    fates: list[tuple[str, str | None]] = field(default_factory=list)
    ticks: list[int] = field(default_factory=list)
    unsupported: list[tuple[str, str]] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    def block(self, block: SampleBlock) -> None:
        self.ticks_before.append(len(self.ticks))
        self.blocks.append(decode_sample_block(encode_sample_block(block)))

    def collector_read(self, collector: str, failure: str | None) -> None:
        self.fates.append((collector, failure))

    def tick_done(self, time_ns: int) -> None:
        self.ticks.append(time_ns)

    def collector_unsupported(self, collector: str, reason: str) -> None:
        self.unsupported.append((collector, reason))

    def notice(self, notice: Notice) -> None:
        self.notices.append(notice)


class Script:
    """A clock that moves on by waiting, says stop after so many ticks, and does what the test wants before some."""

    def __init__(self, ticks: int) -> None:
        self.now_ns = START
        self.left = ticks
        self.before: dict[int, int] = {}

    def time_ns(self) -> int:
        return self.now_ns

    def wait(self, seconds: float) -> bool:
        self.now_ns += round(seconds * 1e9) + self.before.pop(self.left, 0)
        self.left -= 1
        return self.left < 0


def run(
    script: Script, *collectors: ScriptedCollector | Scheduled, block_seconds: float = 1.0
) -> tuple[Outlet, RunStats]:
    outlet, stats = Outlet(), RunStats()
    node = Node("node-7", "boot", {"job": "train"})
    scheduled = [entry if isinstance(entry, Scheduled) else Scheduled(entry) for entry in collectors]
    runner = Runner(node, scheduled, 100 * MS, int(block_seconds * SECOND), outlet, stats)
    runner.run(script.time_ns, script.wait)
    return outlet, stats


def test_blocks_end_at_whole_seconds_and_the_last_one_when_the_agent_stops() -> None:
    outlet, stats = run(Script(ticks=17), ScriptedCollector("cpu", ["a"]))
    assert [len(block.ticks_ns) for block in outlet.blocks] == [2, 10, 5]
    assert outlet.blocks[1].ticks_ns.tolist() == [1_700_000_000 * SECOND + n * 100 * MS for n in range(10)]
    assert stats.ticks == 17
    assert len(outlet.ticks) == 17


def test_a_block_says_who_speaks() -> None:
    outlet, _ = run(Script(ticks=3), ScriptedCollector("cpu", ["a"]))
    block = outlet.blocks[0]
    assert (block.node, block.boot_id, block.entity, block.collector) == ("node-7", "boot", "node-7/host", "host")
    assert (block.interval_ns, block.labels) == (100 * MS, {"job": "train"})


def test_all_collectors_of_an_entity_make_one_block() -> None:
    outlet, _ = run(Script(ticks=3), ScriptedCollector("cpu", ["a"]), ScriptedCollector("disk", ["b"]))
    assert {block.metrics for block in outlet.blocks} == {("a", "b")}
    assert outlet.fates[:2] == [("cpu", None), ("disk", None)]


def test_sequence_numbers_count_by_collector_and_sent_until_chains_through_the_node() -> None:
    gpu = ScriptedCollector("nvml", ["g"], entity="gpu:1")
    outlet, _ = run(Script(ticks=23), ScriptedCollector("cpu", ["a"]), gpu)
    assert [(block.collector, block.sequence) for block in outlet.blocks] == [
        (collector, sequence) for sequence in range(4) for collector in ("gpu:1", "host")
    ]
    newest: int | None = None
    for block in outlet.blocks:
        assert block.sent_until_ns == newest
        newest = max(newest or 0, int(block.ticks_ns[-1]))


def test_what_is_ready_goes_with_the_end_of_the_fastest_block_and_before_it() -> None:
    slow = Scheduled(ScriptedCollector("tcp", ["t"]), 1000)
    outlet, _ = run(Script(ticks=45), ScriptedCollector("cpu", ["a"]), slow)
    sent = [
        (before, block.collector, [tick // (100 * MS) % 100 for tick in block.ticks_ns.tolist()])
        for before, block in zip(outlet.ticks_before, outlet.blocks, strict=True)
    ]
    # The first tick is the second last of its second. The slow block has two readings and is full at the second one.
    # |0 1|2 ... 11|12 ... 21|22 ... 31|32 ... 41|42 43 44
    #      s        s         s         s         s
    assert [entry for entry in sent if entry[1] != "host"] == [
        (21, "host:1000ms", [0, 10]),
        (41, "host:1000ms", [20, 30]),
        (45, "host:1000ms", [40]),
    ]
    assert [before for before, collector, _ in sent if collector == "host"] == [1, 11, 21, 31, 41, 45]
    assert [collector for before, collector, _ in sent if before in (21, 41)] == ["host:1000ms", "host"] * 2


def test_nothing_waits_for_a_block_that_takes_longer_than_two_seconds() -> None:
    slow = Scheduled(ScriptedCollector("tcp", ["t"]), 1000)
    outlet, _ = run(Script(ticks=65), ScriptedCollector("cpu", ["a"]), slow, block_seconds=3.0)
    sent = zip(outlet.ticks_before, outlet.blocks, strict=True)
    # Tick 2 is at a second that is the last of three; the slow block is full, and goes, at its reading there.
    assert [before for before, block in sent if block.collector != "host"] == [2, 32, 62]


def test_every_start_is_a_session_of_its_own() -> None:
    first, _ = run(Script(ticks=3), ScriptedCollector("cpu", ["a"]))
    second, _ = run(Script(ticks=3), ScriptedCollector("cpu", ["a"]))
    assert first.blocks[0].session != second.blocks[0].session
    assert second.blocks[0].sent_until_ns is None


def test_a_clock_set_back_ends_the_block_and_begins_a_session() -> None:
    script = Script(ticks=8)
    script.before[2] = -3600 * SECOND
    outlet, stats = run(script, ScriptedCollector("cpu", ["a"]))
    sessions = [block.session for block in outlet.blocks]
    assert len(set(sessions)) == 2
    after = [block for block in outlet.blocks if block.session == sessions[-1]]
    assert (after[0].sequence, after[0].sent_until_ns) == (0, None)
    # The sleep in which the clock was set back led to no tick.
    assert sum(len(block.ticks_ns) for block in outlet.blocks) == stats.ticks == 7


def test_skipped_ticks_are_counted_and_a_block_never_spans_a_border() -> None:
    script = Script(ticks=12)
    script.before[6] = 1300 * MS
    outlet, stats = run(script, ScriptedCollector("cpu", ["a"]))
    assert stats.skipped_ticks == 13
    for block in outlet.blocks:
        assert len({tick // SECOND for tick in block.ticks_ns.tolist()}) == 1


def test_a_block_longer_than_a_message_may_be_is_sent_in_parts() -> None:
    wide = ScriptedCollector("gpu", [f"m{n}" for n in range(4000)])
    outlet, stats = run(Script(ticks=60), wide, block_seconds=6.0)
    assert sum(len(block.ticks_ns) for block in outlet.blocks) == stats.ticks == 60
    assert [block.sequence for block in outlet.blocks] == list(range(len(outlet.blocks)))


def test_the_fate_of_each_collector_is_told_with_each_block() -> None:
    disk = ScriptedCollector("disk", ["b"])
    disk.failure = CollectError("gone")
    outlet, _ = run(Script(ticks=12), ScriptedCollector("cpu", ["a"]), disk)
    assert outlet.fates == [("cpu", None), ("disk", "gone")] * 2
    assert outlet.blocks[0].missing == {"b": "gone"}


def test_the_boot_id_is_read_from_proc(tmp_path: Path) -> None:
    assert read_boot_id(RECORDED) == "00000000-0000-4000-8000-000000000001"
    assert read_boot_id(tmp_path) == ""


@pytest.mark.parametrize("block_seconds", [0.1, 0.25, 2.0])
def test_any_length_of_a_block_keeps_every_tick(block_seconds: float) -> None:
    outlet, _ = run(Script(ticks=31), ScriptedCollector("cpu", ["a"]), block_seconds=block_seconds)
    ticks = [tick for block in outlet.blocks for tick in block.ticks_ns.tolist()]
    assert ticks == [START + 50 * MS + n * 100 * MS for n in range(31)]
