"""Background collectors through the runner: whose blocks, under which names, in which order, and how late."""

from collections.abc import Callable
from itertools import pairwise

from pulsetrain.agents.collectors.base import Collected, Observation, Support
from pulsetrain.agents.collectors.scheduled import InBackground, Scheduled
from pulsetrain.agents.feed import BackgroundFeed
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.runner import Runner
from pulsetrain.agents.session import Node
from pulsetrain.schemas.sample_block import SampleBlock
from tests.unit.agents.background_fakes import MS, SECOND, START, InStep, ScriptedBackground, seen
from tests.unit.agents.fakes import ScriptedCollector
from tests.unit.agents.test_runner import Outlet

LATENESS_NS = 2 * SECOND
"""design of the windows: a sample that comes so long after newer ones of its node is late."""


class Answering(ScriptedBackground):
    """Observes what a function says at each tick."""

    def __init__(self, observe: Callable[[int], list[Observation]], **what: int) -> None:
        super().__init__(**what)  # type: ignore[arg-type]
        self._observe = observe

    def collect(self, time_ns: int) -> Collected:
        super().collect(time_ns)
        return Collected(self._observe(time_ns))


def run(*collectors: ScriptedBackground, seconds: float = 10.0, interval_ms: int = 100) -> tuple[Outlet, RunStats]:
    """The runner with one host collector and these; all on one injected clock."""
    now_ns, outlet, stats = [START - 250 * MS], Outlet(), RunStats()
    threads = [InStep(InBackground(collector), lambda: now_ns[0]) for collector in collectors]

    def wait(pause: float) -> bool:
        now_ns[0] += round(pause * SECOND)
        for thread in threads:
            thread.step()
        return now_ns[0] > START + round(seconds * SECOND)

    runner = Runner(
        Node("node-7", "boot", {"job": "train", "rack": "r1"}),
        [Scheduled(ScriptedCollector("cpu", ["a"]))],
        interval_ms * MS,
        SECOND,
        outlet,
        stats,
        BackgroundFeed(threads, outlet, stats),
    )
    runner.run(lambda: now_ns[0], wait)
    return outlet, stats


def of(outlet: Outlet, collector: str) -> list[SampleBlock]:
    return [block for block in outlet.blocks if block.collector == collector]


def test_a_source_asked_every_second_makes_one_block_in_two_seconds() -> None:
    outlet, _ = run(Answering(lambda now: [seen("gpu:1", now, 1.0)]))
    blocks = of(outlet, "nvml")
    assert [block.ticks_ns.tolist() for block in blocks[:3]] == [
        [START - SECOND, START],
        [START + SECOND, START + 2 * SECOND],
        [START + 3 * SECOND, START + 4 * SECOND],
    ]
    assert {block.interval_ns for block in blocks} == {SECOND}


def test_an_entity_belongs_to_the_node_unless_its_name_is_global_and_its_labels_win() -> None:
    outlet, _ = run(
        Answering(lambda now: [seen("gpu:1", now, 1.0, job="other", pod="p"), seen("train/rank:3", now, 1.0)])
    )
    labels = {block.entity: block.labels for block in of(outlet, "nvml")}
    assert labels == {
        "node-7/gpu:1": {"job": "other", "rack": "r1", "pod": "p"},
        "train/rank:3": {"job": "train", "rack": "r1"},
    }


def test_blocks_of_all_collectors_are_one_chain_and_none_is_late_for_its_windows() -> None:
    slow = Answering(lambda now: [seen("host", now, 1.0)], interval_ms=700)
    steps = Answering(lambda now: [seen("train/rank:3", now - n * 37 * MS, 1.0) for n in (2, 1, 0)], interval_ms=300)
    slow.name, steps.name = "slow", "steps"
    for interval_ms in (100, 800, 5000):
        outlet, stats = run(slow, steps, seconds=30.0, interval_ms=interval_ms)
        newest: int | None = None
        for block in outlet.blocks:
            assert block.sent_until_ns == newest
            if block.collector != "host":
                assert newest is None or int(block.ticks_ns[0]) > newest - LATENESS_NS
            newest = max(newest or 0, int(block.ticks_ns[-1]))
        assert stats.lost_samples == 0
        for collector, asked in (("slow", slow.asked_ns), ("steps", steps.asked_ns)):
            ticks = [tick for block in of(outlet, collector) for tick in block.ticks_ns.tolist()]
            assert set(asked) >= set(ticks) if collector == "slow" else len(ticks) >= 3 * (len(asked) - 1)
            assert [block.sequence for block in of(outlet, collector)] == list(range(len(of(outlet, collector))))
        slow.asked_ns.clear()
        steps.asked_ns.clear()


def test_heartbeats_have_their_time_however_long_the_interval_is() -> None:
    outlet, stats = run(Answering(lambda now: [seen("gpu:1", now, 1.0)]), seconds=60.0, interval_ms=20_000)
    assert max(after - before for before, after in pairwise(outlet.ticks)) <= SECOND // 2
    assert (stats.ticks, stats.skipped_ticks) == (4, 0)


def test_the_last_observations_are_sent_when_the_agent_stops() -> None:
    collector = Answering(lambda now: [seen("gpu:1", now, 1.0)])
    outlet, _ = run(collector, seconds=5.0)
    assert [tick for block in of(outlet, "nvml") for tick in block.ticks_ns.tolist()] == collector.asked_ns


def test_a_source_that_comes_later_is_used_then_and_the_host_is_read_all_the_time() -> None:
    collector = Answering(lambda now: [seen("gpu:1", now, 1.0)])
    collector.supports = [*[Support(False, "Driver/library version mismatch")] * 2, Support(True)]
    outlet, stats = run(collector, seconds=60.0)
    assert outlet.unsupported == [("nvml", "Driver/library version mismatch")] * 2
    # Asked at the start, after 10 s and after 20 s more.
    assert collector.asked_ns[0] == START + 30 * SECOND
    assert int(of(outlet, "nvml")[0].ticks_ns[0]) == START + 30 * SECOND
    assert sum(len(block.ticks_ns) for block in of(outlet, "host")) == stats.ticks == 603


def test_a_clock_set_back_loses_nothing_that_was_gathered() -> None:
    now_ns, outlet, stats = [START], Outlet(), RunStats()
    collector = Answering(lambda now: [seen("gpu:1", now, 1.0)])
    thread = InStep(InBackground(collector), lambda: now_ns[0])
    steps = [0]

    def wait(pause: float) -> bool:
        now_ns[0] += round(pause * SECOND)
        thread.step()
        steps[0] += 1
        if steps[0] == 55:
            now_ns[0] -= 3600 * SECOND
        return steps[0] > 120

    runner = Runner(Node("n", "b", {}), [], 100 * MS, SECOND, outlet, stats, BackgroundFeed([thread], outlet, stats))
    runner.run(lambda: now_ns[0], wait)
    assert [tick for block in outlet.blocks for tick in block.ticks_ns.tolist()] == collector.asked_ns
    assert len({block.session for block in outlet.blocks}) == 2
    assert stats.lost_samples == 0
