"""What a simulated node collects: four collectors at different rates, of three entities."""

from dataclasses import dataclass

MILLISECOND_NS = 1_000_000
SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Source:
    """A collector of one entity.

    `interval_ns` is its grid, `period_seconds` how often it gives a block. An irregular source has a tick at the end
    of each training step, which takes about its interval.
    """

    collector: str
    entity: str
    interval_ns: int
    period_seconds: int
    gauges: tuple[str, ...]
    counters: tuple[str, ...] = ()
    irregular: bool = False

    @property
    def metrics(self) -> tuple[str, ...]:
        """The gauges, then the counters."""
        return (*self.gauges, *self.counters)


SOURCES = (
    Source(
        collector="cpu",
        entity="host",
        interval_ns=100 * MILLISECOND_NS,
        period_seconds=1,
        gauges=("test.gauge.0", "test.gauge.1", "test.gauge.2"),
        counters=("system.linux.context_switches", "system.linux.interrupts"),
    ),
    Source(
        collector="gpu",
        entity="gpu:0",
        interval_ns=SECOND_NS,
        period_seconds=2,
        gauges=("hw.temperature", "hw.power", "test.gpu.clock"),
        counters=("hw.energy",),
    ),
    Source(
        collector="scrape",
        entity="host",
        interval_ns=15 * SECOND_NS,
        period_seconds=15,
        gauges=("test.scrape.0", "test.scrape.1"),
        counters=("system.process.created",),
    ),
    Source(
        collector="steps",
        entity="rank:0",
        interval_ns=250 * MILLISECOND_NS,
        period_seconds=1,
        gauges=("test.step.seconds", "test.step.data_wait", "test.step.loss"),
        irregular=True,
    ),
)
