"""The life of the perf child, with a child and clocks that the test moves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pulsetrain.agents.collectors.base import Observation, Roots
from pulsetrain.agents.collectors.perf.child import Child, Processes
from pulsetrain.agents.collectors.perf.collector import PerfCollector, perf_interval_ms
from pulsetrain.agents.collectors.perf.settings import PerfSettings
from pulsetrain.agents.collectors.perf.trial import Answer
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas.catalogue import find, metric_name

RECORDED = Path("tests/data/perf/perf-6.1-virtual-machine.csv").read_bytes()
START_NS = 1_800_000_000_000_000_000
SECOND = 1_000_000_000
BY_THE_RULE = PerfSettings(interval_ms=1)
"""As often as is allowed: every 125 ms on two cores."""
MIGRATIONS = "system.linux.cpu_migration.rate"
SKIPPED = "pulsetrain.agent.lines.skipped{agent.collector=perf}"


@dataclass
class Clock:
    """Wall clock and monotonic clock, which move together unless the wall clock is set."""

    monotonic_ns: int = 5 * SECOND
    wall_ns: int = START_NS

    def advance(self, seconds: float) -> None:
        self.monotonic_ns += round(seconds * SECOND)
        self.wall_ns += round(seconds * SECOND)


@dataclass
class FakeChild:
    """Prints what the test wrote; while it is waited for, time passes and the next part is printed."""

    clock: Clock
    parts: list[tuple[float, bytes]] = field(default_factory=list)
    printed: list[bytes] = field(default_factory=list)
    code: int | None = None
    complaint: str = ""
    too_long_lines: int = 0
    is_closed: bool = False

    def print(self, seconds: float, *counts: tuple[str, int]) -> None:
        self.printed += [row(seconds, event, count) for event, count in counts]

    def wait(self, seconds: float) -> None:
        if not self.parts:
            self.clock.advance(seconds)
            return
        after_seconds, part = self.parts.pop(0)
        self.clock.advance(after_seconds)
        self.printed.append(part)

    def lines(self) -> list[bytes]:
        printed, self.printed = self.printed, []
        return printed

    def exit_code(self) -> int | None:
        return self.code

    def error_text(self) -> str:
        return self.complaint

    def end(self) -> None:
        self.code = -15

    def close(self) -> None:
        self.is_closed = True


class Machine:
    """A virtual machine with perf 6.1 on it."""

    def __init__(self, tmp_path: Path, settings: PerfSettings = BY_THE_RULE, program: str | None = "/usr/bin/perf"):
        self.clock = Clock()
        self.children: list[FakeChild] = []
        self.commands: list[list[str]] = []
        self.failure: OSError | None = None
        self.collector = PerfCollector(
            settings,
            Roots(tmp_path, tmp_path),
            Processes(program, self.run, self.start),
            logical_cores=2,
            monotonic_ns=lambda: self.clock.monotonic_ns,
            wall_ns=lambda: self.clock.wall_ns,
        )

    def run(self, command: Sequence[str], seconds: float) -> Answer | None:
        assert 0.0 < seconds < 1.0
        return Answer(0, RECORDED, "")

    def start(self, command: Sequence[str]) -> Child:
        self.commands.append(list(command))
        if self.failure is not None:
            raise self.failure
        self.children.append(FakeChild(self.clock))
        return self.children[-1]

    def begin(self) -> FakeChild:
        """Perf has been tried and started, and has said nothing yet."""
        assert self.collector.is_supported().supported
        assert self.collector.collect(self.clock.wall_ns).observations == ()
        return self.children[-1]

    def collect(self) -> Observation:
        (observation,) = self.collector.collect(self.clock.wall_ns).observations
        return observation


def row(seconds: float, event: str, count: int) -> bytes:
    return f"     {seconds:.9f};{count};;{event};100;100.00;;".encode()


def value(observation: Observation, identifier: str) -> float:
    return observation.values[observation.metrics.index(identifier)]


@pytest.mark.parametrize(
    ("cores", "wanted_ms", "expected_ms"),
    [(2, 1, 125), (4, 1, 250), (1, 1, 63), (128, 1000, 8000), (128, 9000, 9000), (4, 1000, 1000)],
)
def test_the_interval_follows_the_number_of_cores_and_is_never_below(
    cores: int, wanted_ms: int, expected_ms: int
) -> None:
    assert perf_interval_ms(cores, wanted_ms) == expected_ms


def test_one_child_counts_and_its_intervals_become_observations_at_their_ends(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert machine.collector.is_supported().supported
    machine.children.clear()
    start_ns = machine.clock.wall_ns
    assert machine.collector.collect(start_ns).observations == ()
    (child,) = machine.children
    started_ns = START_NS
    child.print(0.125, ("cpu-migrations", 10))
    child.print(0.25, ("cpu-migrations", 20))
    first = machine.collect()
    assert first.entity == "host"
    assert first.time_ns == started_ns + 250_000_000
    assert value(first, MIGRATIONS) == 30 / 0.25
    child.parts = [(0.1, row(0.375, "cpu-migrations", 5))]
    second = machine.collect()
    assert second.time_ns == started_ns + 375_000_000
    assert value(second, MIGRATIONS) == 5 / 0.125
    assert len(machine.children) == 1
    assert machine.commands[0][-2:] == ["-e", "cpu-migrations"]


def test_what_is_missing_for_good_is_said_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    child = machine.begin()
    child.print(0.125, ("cpu-migrations", 1))
    child.print(0.25, ("cpu-migrations", 1))
    first = machine.collect()
    reason = "no hardware counters here, as in most virtual machines"
    assert first.missing["system.cpu.instructions_per_cycle"] == reason
    assert math.isnan(value(first, "system.cpu.instructions_per_cycle"))
    child.print(0.375, ("cpu-migrations", 1))
    second = machine.collect()
    assert second.missing == {}
    assert second.metrics == (MIGRATIONS, SKIPPED)


def test_intervals_that_piled_up_become_one(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    child = machine.begin()
    for number in range(1, 9):
        child.print(number / 8, ("cpu-migrations", number))
    observation = machine.collect()
    assert value(observation, MIGRATIONS) == 36.0
    assert observation.time_ns <= machine.clock.wall_ns


def test_an_interval_is_dated_by_the_wall_clock_of_when_it_is_read(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    child = machine.begin()
    machine.clock.wall_ns += 3600 * SECOND
    child.print(0.125, ("cpu-migrations", 1))
    child.print(0.25, ("cpu-migrations", 1))
    assert machine.collect().time_ns == START_NS + 3600 * SECOND + 250_000_000


def test_lines_that_cannot_be_understood_are_counted_across_children(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    child = machine.begin()
    child.printed += [b"6376827291,,cycles,cg,2011741096,100,00,3,GHz", b"# started on Sun Nov 29 21:18:14 2026", b""]
    child.too_long_lines = 2
    child.print(0.125, ("cpu-migrations", 1))
    child.print(0.25, ("cpu-migrations", 1))
    assert value(machine.collect(), SKIPPED) == 3
    child.code = -9
    with pytest.raises(CollectError):
        machine.collector.collect(machine.clock.wall_ns)
    machine.clock.advance(2.0)
    assert machine.collector.collect(machine.clock.wall_ns).observations == ()
    second = machine.children[1]
    second.printed.append(b"garbage")
    second.print(0.125, ("cpu-migrations", 1))
    second.print(0.25, ("cpu-migrations", 1))
    assert value(machine.collect(), SKIPPED) == 4


def test_a_child_that_dies_is_started_again_after_pauses_that_double(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.begin()
    pauses = []
    for _ in range(11):
        machine.children[-1].code, machine.children[-1].complaint = 1, "perf: out of memory"
        with pytest.raises(CollectError, match=r"perf ended with code 1: perf: out of memory; next try in"):
            machine.collector.collect(machine.clock.wall_ns)
        assert machine.children[-1].is_closed
        died_ns, count = machine.clock.monotonic_ns, len(machine.children)
        while len(machine.children) == count:
            machine.clock.advance(0.5)
            try:
                machine.collector.collect(machine.clock.wall_ns)
            except CollectError as error:
                assert "out of memory" in str(error)  # noqa: PT017
            else:
                pauses.append(machine.clock.monotonic_ns - died_ns)
    # A call that finds the pause over also waits for the first interval: 1.1875 s at 125 ms.
    assert [round(pause / SECOND - 1.1875) for pause in pauses] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_a_complete_interval_makes_the_next_pause_short_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.begin()
    for _ in range(5):
        machine.children[-1].code = 1
        with pytest.raises(CollectError):
            machine.collector.collect(machine.clock.wall_ns)
        machine.clock.advance(301)
        machine.collector.collect(machine.clock.wall_ns)
    child = machine.children[-1]
    child.print(0.125, ("cpu-migrations", 1))
    child.print(0.25, ("cpu-migrations", 1))
    machine.collect()
    child.code = 1
    with pytest.raises(CollectError, match="next try in 1 s"):
        machine.collector.collect(machine.clock.wall_ns)


def test_what_a_dying_child_printed_last_is_kept(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    child = machine.begin()
    child.print(0.125, ("cpu-migrations", 1))
    child.print(0.25, ("cpu-migrations", 1))
    child.code = 1
    assert value(machine.collect(), MIGRATIONS) == 8.0
    with pytest.raises(CollectError, match="perf ended with code 1"):
        machine.collector.collect(machine.clock.wall_ns)


def test_a_child_that_says_nothing_for_ten_seconds_is_replaced(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    silent = machine.begin()
    silent.printed.append(b"0,5;1;;cycles;1;100,00;;")
    while machine.clock.monotonic_ns < 13 * SECOND:
        assert machine.collector.collect(machine.clock.wall_ns).observations == ()
    machine.clock.advance(3)
    with pytest.raises(CollectError, match=r"no interval for 1\d s: a word stands where a number belongs: b'0,5;"):
        machine.collector.collect(machine.clock.wall_ns)
    assert silent.is_closed
    machine.clock.advance(1.0)
    machine.collector.collect(machine.clock.wall_ns)
    assert len(machine.children) == 2


def test_a_child_that_cannot_be_started_is_tried_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert machine.collector.is_supported().supported
    machine.failure = OSError(12, "Cannot allocate memory")
    for _ in range(3):
        with pytest.raises(CollectError, match="can't be started: Cannot allocate memory"):
            machine.collector.collect(machine.clock.wall_ns)
    assert len(machine.commands) == 1
    machine.clock.advance(1.0)
    machine.failure = None
    machine.collector.collect(machine.clock.wall_ns)
    assert len(machine.children) == 1


def test_slowed_down_perf_itself_counts_over_longer_intervals_and_nothing_it_has_counted_is_lost(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path)
    child = machine.begin()
    child.print(0.125, ("cpu-migrations", 10))
    child.print(0.25, ("cpu-migrations", 20))
    machine.collector.slowed_by = 8
    assert value(machine.collect(), MIGRATIONS) == 30 / 0.25
    assert child.is_closed
    assert [command[command.index("-I") + 1] for command in machine.commands] == ["125", "1000"]

    slow = machine.children[1]
    slow.parts = [(1.0, row(1.0, "cpu-migrations", 40)), (1.0, row(2.0, "cpu-migrations", 50))]
    began_ns = machine.clock.wall_ns
    observation = machine.collect()
    assert (value(observation, MIGRATIONS), observation.time_ns - began_ns) == ((40 + 50) / 2, 2 * SECOND)
    assert not slow.is_closed

    machine.collector.slowed_by = 1
    slow.print(3.0, ("cpu-migrations", 60))
    assert value(machine.collect(), MIGRATIONS) == 60.0
    assert slow.is_closed
    assert machine.commands[2] == machine.commands[0]


def test_slowed_down_it_has_time_for_its_longer_interval(tmp_path: Path) -> None:
    machine = Machine(tmp_path, PerfSettings(interval_ms=1000))
    at_full_pace = machine.collector.deadline_seconds
    machine.collector.slowed_by = 8
    assert machine.collector.deadline_seconds == pytest.approx(at_full_pace + 1.5 * 7)


def test_a_slower_child_that_cannot_be_started_fails_at_the_next_call(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.begin().print(0.125, ("cpu-migrations", 10))
    machine.children[0].print(0.25, ("cpu-migrations", 10))
    machine.collector.slowed_by = 2
    machine.failure = OSError(12, "Cannot allocate memory")
    assert value(machine.collect(), MIGRATIONS) == 20 / 0.25
    with pytest.raises(CollectError, match="can't be started: Cannot allocate memory"):
        machine.collect()


def test_a_closed_collector_ends_its_child_and_starts_none(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    child = machine.begin()
    machine.collector.close()
    machine.collector.close()
    assert child.is_closed
    assert machine.collector.collect(machine.clock.wall_ns).observations == ()
    assert len(machine.children) == 1


def test_switched_off_or_without_perf_it_says_so(tmp_path: Path) -> None:
    off = Machine(tmp_path, PerfSettings(enabled="off")).collector.is_supported()
    assert (off.supported, off.reason) == (False, "switched off (perf.enabled)")
    absent = Machine(tmp_path, program=None).collector.is_supported()
    assert not absent.supported
    assert "linux-perf" in absent.reason


def test_every_metric_is_announced_and_in_the_catalogue(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    child = machine.begin()
    child.print(0.125, ("cpu-migrations", 1))
    child.print(0.25, ("cpu-migrations", 1))
    observation = machine.collect()
    assert {metric_name(identifier) for identifier in observation.metrics} <= set(machine.collector.metric_names)
    assert all(find(identifier) is not None for identifier in observation.metrics)
    assert machine.collector.source == "perf stat -a -I 125 (2 logical cores)"
