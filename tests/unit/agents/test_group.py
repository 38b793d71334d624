"""Groups of collectors: which go together, when they are due, where their blocks end."""

from pulsetrain.agents.collectors.scheduled import Importance, Scheduled
from pulsetrain.agents.group import Group, groups_of
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.schedule import block_time_ns, tick_interval_ns
from tests.unit.agents.background_fakes import MS, SECOND, START
from tests.unit.agents.fakes import ScriptedCollector


def groups(*scheduled: Scheduled, interval_ms: int = 100) -> list[Group]:
    return groups_of(scheduled, interval_ms * MS, SECOND, RunStats())


def entry(name: str, interval_ms: int | None = None, entity: str = "host") -> Scheduled:
    return Scheduled(ScriptedCollector(name, [name], entity), interval_ms, Importance.LOW)


def blocks(group: Group, *grid_ms: int) -> list[list[int]]:
    """Ticks of the blocks that a group makes of grid points, in milliseconds."""
    taken = []
    for grid in grid_ms:
        time_ns = START + grid * MS
        if group.is_due(time_ns):
            if group.is_over(time_ns):
                taken.append(group.take()[0])
            group.read(time_ns, time_ns)
            if group.is_full:
                taken.append(group.take()[0])
    taken.append(group.take()[0])
    return [((batch.samples.ticks_ns - START) // MS).tolist() for batch in taken if batch is not None]


def test_collectors_of_one_entity_and_interval_are_one_group() -> None:
    made = groups(entry("cpu"), entry("load", 1000), entry("gpu", entity="gpu:1"), entry("disk"), entry("agent", 1000))
    assert [(group.name, group.interval_ns // MS, group.metrics) for group in made] == [
        ("gpu:1", 100, 1),
        ("host", 100, 2),
        ("host:1000ms", 1000, 2),
    ]


def test_an_interval_is_a_multiple_of_the_agents_and_never_shorter() -> None:
    assert [group.interval_ns // MS for group in groups(entry("a", 1000), interval_ms=300)] == [1200]
    assert [group.name for group in groups(entry("a", 1000), entry("b"), interval_ms=5000)] == ["host"]


def test_a_group_is_as_important_as_its_most_important_collector() -> None:
    low, high = entry("a"), Scheduled(ScriptedCollector("b", ["b"]), None, Importance.HIGH)
    assert [group.importance for group in groups(low, high)] == [Importance.HIGH]


def test_a_slow_group_is_read_at_its_own_multiples_two_to_a_block() -> None:
    (group,) = groups(entry("a", 1000))
    group.begin(START - 30 * MS)
    assert blocks(group, *range(0, 5000, 100)) == [[0, 1000], [2000, 3000], [4000]]


def test_a_grid_point_that_was_missed_is_read_at_the_next_tick_and_not_caught_up() -> None:
    (group,) = groups(entry("a", 1000))
    group.begin(START - 30 * MS)
    assert blocks(group, 0, 100, 3200, 3300, 4000) == [[0], [3200], [4000]]


def test_another_interval_begins_with_a_block() -> None:
    (group,) = groups(entry("a"))
    group.begin(START - 30 * MS)
    assert len(blocks(group, *range(0, 500, 100))) == 1
    group.read(START + 500 * MS, START + 500 * MS)
    group.slowed_by = 4
    assert group.interval_ns == 100 * MS
    batch, _ = group.take()
    assert batch is not None
    assert batch.interval_ns == 100 * MS
    assert blocks(group, *range(600, 3000, 100)) == [[800], [1200, 1600], [2000, 2400, 2800]]
    batch, _ = group.take()
    assert batch is None
    assert group.interval_ns == 400 * MS


def test_a_changed_interval_never_leaves_its_grid() -> None:
    (group,) = groups(entry("a", 1000))
    group.begin(START - 30 * MS)
    assert blocks(group, *range(0, 3000, 100)) == [[0, 1000], [2000]]
    group.slowed_by = 8
    # 8 s after the epoch's multiples, of which START is one.
    assert blocks(group, *range(3000, 9000, 100)) == [[8000]]
    group.slowed_by = 2
    assert blocks(group, *range(9000, 19000, 100)) == [[16000], [18000]]


def test_a_block_holds_two_readings_unless_the_first_would_wait_too_long() -> None:
    times = {interval: block_time_ns(interval * MS, SECOND) // MS for interval in (100, 500, 800, 1000, 2000)}
    assert times == {100: 1000, 500: 1000, 800: 1600, 1000: 2000, 2000: 1000}


def test_a_long_interval_is_cut_into_equal_ticks() -> None:
    parts = {interval: tick_interval_ns(interval * MS, 500 * MS) / MS for interval in (100, 500, 700, 5000)}
    assert parts == {100: 100, 500: 500, 700: 350, 5000: 500}
    assert 701 * MS % tick_interval_ns(701 * MS, 500 * MS) == 0
