"""Which threads go on when the settings change, and what becomes of those that do not."""

from dataclasses import dataclass, field

import msgspec
import pytest

from pulsetrain.agents.background_threads import BackgroundThreads
from pulsetrain.agents.collector_list import BackgroundSource, background_collectors, background_sources
from pulsetrain.agents.collectors.base import Collected, Notice, Remembering, Roots
from pulsetrain.agents.collectors.scheduled import InBackground
from pulsetrain.agents.collectors.scrape import ScrapeTarget
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.settings import AgentSettings
from pulsetrain.schemas.status import Severity, StatusEvent
from tests.unit.agents.background_fakes import START, ScriptedBackground, seen

LOST = Notice(StatusEvent.GPU_LOST, Severity.ERROR, "GPU 3 is lost.", "gpu:3")


class Watching(ScriptedBackground):
    """Remembers: keeps in whose place it came, and how often that had been closed then."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, interval_ms=1)
        self.former: list[tuple[ScriptedBackground, int]] = []

    def take_over(self, former: ScriptedBackground) -> None:
        self.former.append((former, former.closed))


@dataclass
class Maker:
    """A source with one collector."""

    name: str = "nvml"
    made: list[Watching] = field(default_factory=list)

    def source(self, *depends_on: object) -> BackgroundSource:
        def make() -> list[InBackground]:
            self.made.append(Watching(self.name))
            return [InBackground(self.made[-1])]

        return BackgroundSource(depends_on, make)


def test_a_source_whose_settings_stay_goes_on_in_its_thread_at_full_pace() -> None:
    background, maker = BackgroundThreads(RunStats(), lambda _: None), Maker()
    (thread,) = background.of({"nvml": maker.source("a", 1)})
    thread.start()
    thread.slowed_by = 8
    assert background.of({"nvml": maker.source("a", 1)}) == [thread]
    thread.start()
    assert thread.slowed_by == 1
    assert not thread.join(0.0)
    assert maker.made[0].closed == 0
    background.close()
    assert (len(maker.made), maker.made[0].closed) == (1, 1)


def test_another_takes_the_place_of_one_whose_settings_changed_and_is_given_it_closed() -> None:
    background, maker = BackgroundThreads(RunStats(), lambda _: None), Maker()
    background.of({"nvml": maker.source(1)})
    (thread,) = background.of({"nvml": maker.source(2)})
    assert thread.collector is maker.made[1]
    assert [collector.former for collector in maker.made] == [[], [(maker.made[0], 1)]]
    assert maker.made[1].closed == 0
    background.close()
    assert maker.made[1].closed == 1


def test_what_a_collector_remembers_outlives_that_it_is_switched_off() -> None:
    background, maker = BackgroundThreads(RunStats(), lambda _: None), Maker()
    for sources in ({"nvml": maker.source()}, {}, {}, {"nvml": maker.source()}):
        background.of(sources)
    assert [collector.former for collector in maker.made] == [[], [(maker.made[0], 1)]]
    assert maker.made[1].closed == 0


def test_what_a_collector_remembers_outlives_one_that_could_not_be_made() -> None:
    def fail() -> list[InBackground]:
        raise ImportError("no pynvml")

    background, maker = BackgroundThreads(RunStats(), lambda _: None), Maker()
    for source in (maker.source(1), BackgroundSource((2,), fail), maker.source(3)):
        background.of({"nvml": source})
    assert [collector.former for collector in maker.made] == [[], [(maker.made[0], 1)]]


def test_which_gpus_there_were_is_remembered() -> None:
    collectors = [entry.collector for entry in background_collectors(Roots(), AgentSettings(node="n"))]
    assert [one.name for one in collectors if isinstance(one, Remembering)] == ["nvml", "nvml_health"]


def test_what_is_no_longer_wanted_ends_and_what_is_new_comes_in_the_order_of_the_list() -> None:
    background, maker, other = BackgroundThreads(RunStats(), lambda _: None), Maker("scrape"), Maker()
    background.of({"perf": maker.source(), "nvml": other.source()})
    threads = background.of({"scrape": maker.source(), "nvml": other.source()})
    assert [thread.collector for thread in threads] == [maker.made[1], other.made[0]]
    assert other.made[0].former == []
    assert [collector.closed for collector in maker.made] == [1, 0]


def test_what_an_ended_collector_told_last_is_told_and_its_observations_are_counted() -> None:
    told: list[Notice] = []
    stats, maker = RunStats(), Maker()
    background = BackgroundThreads(stats, told.append)
    (thread,) = background.of({"nvml": maker.source(1)})
    maker.made[0].answers = [Collected([seen("gpu:1", START, 1.0, 2.0)], [LOST])]
    # One call, as its thread makes it.
    thread._ask(START, is_tick=True)
    background.of({})
    assert told == [LOST]
    assert stats.lost_samples == 2
    assert list(stats.loss_reasons) == ["a collector ended"]


def test_what_could_not_be_made_is_tried_again_each_time() -> None:
    tries = []

    def make() -> list[InBackground]:
        tries.append(1)
        raise ValueError("no such file")

    background = BackgroundThreads(RunStats(), lambda _: None)
    for _ in range(2):
        (thread,) = background.of({"scrape_t": BackgroundSource((), make)})
        assert thread.name == "scrape_t"
    assert len(tries) == 2


TARGET = {"name": "a", "url": "http://127.0.0.1:1/a"}
BEFORE: dict[str, object] = {"node": "n", "scrape": [TARGET, {"name": "b", "url": "http://127.0.0.1:1/b"}]}
EVERYTHING = {
    "containers", "infiniband", "hwmon", "scrape_a", "scrape_b", "perf", "training", "nvml"
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "anew"),
    [
        ({"interval_ms": 250, "labels": {"rack": "7"}, "budget": {"cpu_percent": 2.0}}, set()),
        ({"nvml": {"interval_ms": 500}}, {"nvml"}),
        ({"perf": {"interval_ms": 5000}}, {"perf"}),
        ({"hook": {"socket_path": "/run/other.sock"}}, {"training"}),
        ({"attribution": {"environment": False}}, {"containers", "training", "nvml"}),
        ({"scrape": [TARGET, {"name": "b", "url": "http://127.0.0.1:1/c"}]}, {"scrape_b"}),
    ],
)
def test_a_change_of_settings_concerns_only_the_sources_that_depend_on_it(
    change: dict[str, object], anew: set[str]
) -> None:
    before = background_sources(Roots(), msgspec.convert(BEFORE, AgentSettings))
    after = background_sources(Roots(), msgspec.convert(BEFORE | change, AgentSettings))
    assert before.keys() == after.keys() == EVERYTHING
    assert {name for name in before if before[name].depends_on != after[name].depends_on} == anew


@pytest.mark.parametrize("name", ["nvml", "perf", "hook"])
def test_what_is_switched_off_is_no_source(name: str) -> None:
    sources = background_sources(Roots(), msgspec.convert(BEFORE | {name: {"enabled": "off"}}, AgentSettings))
    assert EVERYTHING - sources.keys() == {name if name != "hook" else "training"}


def test_another_proc_concerns_all_that_reads_it() -> None:
    settings = AgentSettings(node="n", scrape=(ScrapeTarget(name="a", url="http://127.0.0.1:1/a"),))
    before, after = background_sources(Roots(), settings), background_sources(Roots(sys=Roots().proc), settings)
    assert {name for name in before if before[name].depends_on == after[name].depends_on} == {"scrape_a"}
