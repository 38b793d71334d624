"""Blocks as agents would append them, and an engine that reads them."""

from dataclasses import dataclass, field

import numpy as np

from pulsetrain.schemas.sample_block import SampleBlock
from pulsetrain.streams.settings import WindowSettings
from pulsetrain.streams.windows import Step, WindowEngine

SECOND = 1_000_000_000
EPOCH = 1_800_000_000 * SECOND
"""Second 0 of these tests; a multiple of 60 s, so that windows of 60 s start there as well."""

SETTINGS = WindowSettings()  # 30 s each 5 s, lateness 2 s, idle 60 s, hold 120 s, future 300 s, tolerance 5 ms


def at(seconds: float) -> int:
    return EPOCH + round(seconds * 1000) * 1_000_000


@dataclass
class Partition:
    """Appends blocks as agents would and lets an engine read them; one second is appended after the newest tick."""

    engine: WindowEngine = field(default_factory=lambda: WindowEngine(SETTINGS))
    offset: int = 0
    sent_until: dict[str, int] = field(default_factory=dict)
    sequences: dict[tuple[str, str], int] = field(default_factory=dict)

    def block(
        self,
        *seconds: float,
        node: str = "n",
        session: str = "s",
        collector: str = "host",
        metrics: tuple[str, ...] = ("m",),
        value: float = 1.0,
        labels: dict[str, str] | None = None,
        entity: str = "host",
        boot_id: str = "boot",
    ) -> SampleBlock:
        """The next block that a node's agent sends."""
        sequence = self.sequences.get((session, collector), 0)
        self.sequences[session, collector] = sequence + 1
        ticks = np.array([at(second) for second in seconds], dtype=np.int64)
        sent_until = self.sent_until.get(session)
        self.sent_until[session] = max(sent_until or 0, int(ticks[-1]))
        return SampleBlock(
            node=node,
            session=session,
            boot_id=boot_id,
            collector=collector,
            entity=f"{node}/{entity}",
            sequence=sequence,
            sent_until_ns=sent_until,
            interval_ns=SECOND,
            ticks_ns=ticks,
            metrics=metrics,
            values=np.full((len(ticks), len(metrics)), value, dtype=np.float64),
            labels=labels or {},
        )

    def read(self, block: SampleBlock, append_seconds: float | None = None) -> Step:
        """Append a block and let the engine take it."""
        append_ns = int(block.ticks_ns[-1]) + SECOND if append_seconds is None else at(append_seconds)
        step = self.engine.process(block, self.offset, append_ns)
        self.offset += 1
        return step

    def send(self, *seconds: float, append: float | None = None, **what: object) -> Step:
        return self.read(self.block(*seconds, **what), append)  # type: ignore[arg-type]


def starts(step: Step) -> list[float]:
    return [(window.start_ns - EPOCH) / SECOND for window in step.windows]
