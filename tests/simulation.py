"""Simulated nodes: the same blocks for the same seed, with the troubles of real ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pulsetrain.schemas.sample_block import SampleBlock

SECOND_NS = 1_000_000_000
INTERVAL_NS = 100_000_000
TICKS_A_BLOCK = 10

GAUGES = tuple(f"test.gauge.{number}" for number in range(4))


@dataclass
class SimulatedNode:
    """One agent: blocks of one second, ten ticks each, from one collector.

    Args:
        name: the node.
        seed: of its values.
        start_ns: its first tick, on the 100 ms grid.
    """

    name: str
    seed: int
    start_ns: int
    metrics: tuple[str, ...] = GAUGES
    _sequence: int = 0
    _sent_until_ns: int | None = None
    _session: int = 0
    _random: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)

    def block(self, shift: float | Sequence[float] = 0.0) -> SampleBlock:
        """The next second of samples; `shift` moves the values of all metrics, or of each, as a fault would."""
        values = 50.0 + np.asarray(shift) + self._random.normal(size=(TICKS_A_BLOCK, len(self.metrics)))
        ticks = self.start_ns + INTERVAL_NS * (np.arange(TICKS_A_BLOCK) + TICKS_A_BLOCK * self._sequence)
        block = SampleBlock(
            node=self.name,
            session=f"{self.name}-{self._session}",
            boot_id="boot",
            collector="simulated",
            entity=f"{self.name}/host",
            sequence=self._sequence,
            sent_until_ns=self._sent_until_ns,
            interval_ns=INTERVAL_NS,
            ticks_ns=ticks.astype(np.int64),
            metrics=self.metrics,
            values=values,
        )
        self._sequence += 1
        self._sent_until_ns = int(ticks[-1])
        return block

    def blocks(self, count: int) -> Iterator[SampleBlock]:
        """The next `count` seconds."""
        for _ in range(count):
            yield self.block()

    def restart(self) -> None:
        """The agent restarts: a new session goes on where the clock stands."""
        self._session += 1
        self._sent_until_ns = None
