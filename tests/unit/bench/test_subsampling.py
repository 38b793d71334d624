"""Blocks of a longer interval, worked out by hand."""

import msgspec
import numpy as np

from pulsetrain.schemas.sample_block import SampleBlock
from tests.bench.subsampling import at_interval

MS = 1_000_000
SHARE, COUNTER = "system.cpu.utilization{cpu.mode=user}", "system.paging.faults"


def block(first_ms: int, values: list[list[float]], interval_ms: int = 100, collector: str = "host") -> SampleBlock:
    """Ticks from `first_ms` on, a millisecond late."""
    ticks_ns = MS * (first_ms + 1 + interval_ms * np.arange(len(values)))
    return SampleBlock(
        node="n",
        session="s",
        boot_id="b",
        collector=collector,
        entity="n/host",
        sequence=0,
        sent_until_ns=None,
        interval_ns=interval_ms * MS,
        ticks_ns=ticks_ns,
        metrics=(SHARE, COUNTER),
        values=np.array(values),
    )


def test_counters_are_those_of_the_tick_and_shares_the_mean_since_the_tick_before() -> None:
    blocks = [
        block(1000, [[0.1, 10], [0.3, 20], [0.5, 30]]),
        block(1300, [[0.7, 40], [0.2, 50], [0.6, 60]]),
    ]
    one, two = at_interval(blocks, 200 * MS)
    assert one.interval_ns == two.interval_ns == 200 * MS
    assert (one.ticks_ns // MS).tolist() == [1001, 1201]
    np.testing.assert_allclose(one.values, [[0.1, 10], [0.4, 30]])
    # The share of the tick at 1,300 ms is 0.7, that of 1,400 ms 0.2.
    assert (two.ticks_ns // MS).tolist() == [1401]
    np.testing.assert_allclose(two.values, [[0.45, 50]])
    assert (one.sent_until_ns, two.sent_until_ns) == (None, 1201 * MS)


def test_blocks_without_a_tick_on_the_grid_are_not_sent() -> None:
    blocks = [block(1000, [[0.0, 1]]), block(1100, [[0.2, 2], [0.4, 3]]), block(1500, [[0.6, 4]])]
    kept = list(at_interval(blocks, 500 * MS))
    assert [(one.ticks_ns // MS).tolist() for one in kept] == [[1001], [1501]]
    assert kept[1].sent_until_ns == 1001 * MS


def test_slower_sources_stay_as_they_are() -> None:
    slow = block(1000, [[0.1, 1], [0.2, 2]], interval_ms=1000, collector="slow")
    kept = list(at_interval([slow, block(1000, [[0.1, 1]] * 10)], 500 * MS))
    assert kept[0] == msgspec.structs.replace(slow, sent_until_ns=None)
    assert kept[1].sent_until_ns == 2001 * MS
    assert len(kept[1].ticks_ns) == 2


def test_a_missing_share_makes_the_mean_missing() -> None:
    (kept,) = at_interval([block(1000, [[0.1, 1], [np.nan, 2], [0.5, 3]])], 200 * MS)
    np.testing.assert_allclose(kept.values, [[0.1, 1], [np.nan, 3]])
