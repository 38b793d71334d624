"""What the demo does to this machine, and by which evidence a verdict is known to be about it."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from pulsetrain.schemas.anomaly import Evidence

LEAST_SIGMA = 5.0
"""A metric that deviates less is no evidence, even where it is among the five strongest."""

_SIGNED_FEATURES = ("mean", "median", "minimum", "maximum", "quantile", "abs_energy", "linear_trend__attr_")
"""Features that rise and fall with the level of a metric; of others (shape, spread) both directions count."""


@dataclass(frozen=True, slots=True)
class Family:
    """Metrics that a trouble moves, as patterns of metric ids, by the direction in which it moves them."""

    rising: tuple[str, ...]
    falling: tuple[str, ...] = ()

    def named_in(self, evidence: list[Evidence]) -> Evidence | None:
        """The strongest evidence that speaks of this family; None where none does."""
        return next((one for one in evidence if self._includes(one)), None)

    def _includes(self, evidence: Evidence) -> bool:
        sigma = evidence.deviation_sigma
        if sigma is None or abs(sigma) < LEAST_SIGMA:
            return False
        rises, falls = _matches(evidence.metric, self.rising), _matches(evidence.metric, self.falling)
        if not evidence.feature.startswith(_SIGNED_FEATURES):
            return rises or falls
        return rises if sigma > 0 else falls


@cache
def _matches(metric: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(metric, pattern) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Trouble:
    """One load of `pulsetrain.cli.demo.loads`: how people call it, what it does, and what it moves."""

    load: str
    title: str
    does: str
    family: Family


CPU_HOG = Trouble(
    "cpu_hog",
    "CPU hog",
    "48 processes that never wait",
    Family(
        rising=(
            "system.cpu.utilization",
            "system.cpu.utilization{cpu.mode=user}",
            "system.cpu.utilization{cpu.mode=nice}",
            "system.cpu.utilization{cpu.logical_number=*}",
            "system.process.count{process.state=running}",
            "system.linux.pressure.*{linux.pressure.resource=cpu,*}",
        ),
        falling=("system.cpu.utilization{cpu.mode=idle}",),
    ),
)
MEMORY_LEAK = Trouble(
    "memory_leak",
    "memory leak",
    "a process that takes memory and never lets go",
    Family(
        rising=(
            "system.memory.usage{system.memory.state=used}",
            "system.memory.utilization{system.memory.state=used}",
            "system.linux.memory.lru.usage{linux.memory.lru=*_anon}",
            "system.linux.memory.kind.usage{linux.memory.kind=anonymous*}",
            "system.linux.memory.kind.usage{linux.memory.kind=page_tables}",
            "system.linux.memory.committed",
            "system.linux.memory.pages{linux.memory.event=allocated}",
            "system.linux.memory.numa.allocations{*}",
            "system.linux.memory.thp.events{*}",
            "system.paging.faults",
        ),
        falling=("system.memory.usage{system.memory.state=free}", "system.linux.memory.available"),
    ),
)
DISK_HAMMER = Trouble(
    "disk_hammer",
    "disk hammer",
    "a process that writes and forces every MiB to the disk",
    Family(
        rising=(
            "system.disk.*",
            "system.linux.paging.io{disk.io.direction=write}",
            "system.linux.memory.pages{linux.memory.event=dirtied}",
            "system.linux.memory.pages{linux.memory.event=written}",
            "system.linux.memory.kind.usage{linux.memory.kind=dirty}",
            "system.linux.memory.kind.usage{linux.memory.kind=writeback}",
            "system.linux.pressure.*{linux.pressure.resource=io,*}",
            "system.linux.softirqs{linux.softirq.type=block}",
            "system.cpu.utilization{cpu.mode=iowait}",
            "system.process.count{process.state=blocked}",
        )
    ),
)
NETWORK_COPY = Trouble(
    "network_copy",
    "network copy",
    "a harmless job that comes again and again",
    Family(rising=("system.network.*", "system.linux.softirqs", "system.linux.softirqs{linux.softirq.type=net_*}")),
)
