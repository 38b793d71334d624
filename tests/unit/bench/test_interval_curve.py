"""Which faults a rule catches at which interval, on blocks in which that is known."""

from collections.abc import Iterator

import numpy as np

from pulsetrain.schemas.sample_block import SampleBlock
from tests.bench.faults import Fault
from tests.bench.interval_curve import judged

SECOND_NS = 1_000_000_000
START_NS = 1_800_000_000 * SECOND_NS
SECONDS = 150


def moment(seconds: float) -> int:
    return START_NS + int(seconds * SECOND_NS)


LOUD = Fault("processor", moment(60), moment(62))
SHORT = Fault("processor", moment(90.2), moment(90.6))
NOTHING = Fault("stall", moment(120), moment(121))


def blocks() -> Iterator[SampleBlock]:
    """The processor's use at 10 Hz, 30 % give or take 2; 80 % from 60 to 62 s, 60 % from 90.2 to 90.6 s."""
    random = np.random.default_rng(3)
    for second in range(SECONDS):
        ticks_ns = np.array([moment(second + tick / 10) for tick in range(10)])
        values = random.normal(0.3, 0.02, 10)
        for fault, rise in ((LOUD, 0.5), (SHORT, 0.3)):
            values += rise * ((ticks_ns > fault.begin_ns) & (ticks_ns <= fault.end_ns))
        yield SampleBlock(
            node="n",
            session="s",
            boot_id="b",
            collector="host",
            entity="n/host",
            sequence=second,
            sent_until_ns=None,
            interval_ns=SECOND_NS // 10,
            ticks_ns=ticks_ns,
            metrics=("system.cpu.utilization",),
            values=values[:, np.newaxis],
        )


def test_faults_that_move_a_watched_metric_are_caught_at_every_interval_and_nothing_else_is() -> None:
    judgements = judged(list(blocks()), [LOUD, SHORT, NOTHING])
    assert list(judgements) == [100, 200, 500, 1000]
    # 0.4 s of 60 % are still 12 % in the mean of a second: six sigma of single samples.
    assert {interval_ms: judgement.caught for interval_ms, judgement in judgements.items()} == dict.fromkeys(
        judgements, frozenset({LOUD, SHORT})
    )
    assert all(judgement.false_share <= 0.2 for judgement in judgements.values())
