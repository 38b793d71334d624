"""What a collector is: one source of metrics.

A `Collector` is quick and its metrics stay the same: it is read once a tick. Reading and understanding are apart: at a
tick everything is only read, as close together in time as possible; the readings of many ticks are understood in one
go, which costs a fraction of the CPU time.

A `BackgroundCollector` may be slow, may hang, and its entities and metrics come and go: it is asked in a thread of its
own, on its own interval, and delays nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from pulsetrain.schemas.status import Severity, StatusEvent

HOST = "host"
"""The entity of everything that describes the whole node."""


@dataclass(frozen=True, slots=True)
class Roots:
    """Where the kernel's file systems are mounted; elsewhere than in /proc and /sys inside many containers."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")

    @property
    def net(self) -> Path:
        """The network files of the node.

        In a container with the node's /proc elsewhere, `net` shows the container's own network; process 1 has the
        node's.
        """
        return self.proc / ("net" if self.proc == Path("/proc") else "1/net")


@dataclass(frozen=True, slots=True)
class Support:
    """Whether this machine has a source, and if not, why."""

    supported: bool
    reason: str = ""


ReadingT = TypeVar("ReadingT")


class Collector(Protocol[ReadingT]):
    """One source. It is asked once whether it is supported, and only then for metrics and values."""

    @property
    def name(self) -> str:
        """Short name, unique among the collectors, for status messages."""

    @property
    def entity(self) -> str:
        """Whom the metrics describe, without the node: `host`, `gpu:<uuid>`."""

    @property
    def source(self) -> str:
        """What is read, in words for a person: a path or a call."""

    def is_supported(self) -> Support:
        """Try the source and settle which metrics it has here."""

    def metrics(self) -> tuple[str, ...]:
        """Metric ids in the order of the values; the same at every call."""

    def read(self) -> ReadingT:
        """What the source says now.

        Raises:
            CollectError: it says nothing.
        """

    def decode(self, readings: Sequence[ReadingT]) -> Sequence[Sequence[float]]:
        """The values of readings, which come in order of time: a row for each, one value a metric, NaN for none.

        Raises:
            CollectError: one of the readings can't be understood. Then nothing has happened, and each is tried alone.
        """

    def close(self) -> None:
        """Close what is open."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a source said about one entity at one time.

    `entity` is the name without the node (`gpu:<uuid>`, `container:<id>`); one with a slash is global already
    (`<job>/rank:<n>`). `time_ns` is when the values held, Unix nanoseconds; each entity's times ascend. `values` has
    one number a metric id, in the catalogue's units, NaN where there is none; `missing` says why, by metric id.
    `labels` say what else is known of the entity (job, pod ...). `interval_ns` is how far apart the entity's
    observations are where that is more than the collector's interval; each change of it begins a new message.
    """

    entity: str
    time_ns: int
    metrics: tuple[str, ...]
    values: Sequence[float]
    missing: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    interval_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that happened, for the status topic: once, not at every reading. `entity` as in an observation."""

    event: StatusEvent
    severity: Severity
    message: str
    entity: str | None = None
    details: Mapping[str, str | int | float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Collected:
    """What one call of a background collector brought."""

    observations: Sequence[Observation] = ()
    notices: Sequence[Notice] = ()

    @property
    def samples(self) -> int:
        """How many values the observations have."""
        return sum(len(observation.metrics) for observation in self.observations)


class BackgroundCollector(Protocol):
    """A source that is asked in a thread of its own. All calls come from that thread, except `close`."""

    @property
    def name(self) -> str:
        """Short name, unique among the collectors, for status messages."""

    @property
    def source(self) -> str:
        """What is read, in words for a person: a path or a call."""

    @property
    def interval_ms(self) -> int:
        """Distance of two calls of `collect`."""

    @property
    def deadline_seconds(self) -> float:
        """A call that takes longer counts as failed; of what it brings after all only the notices are used."""

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Names in the catalogue, without attributes, that this source can have."""

    def is_supported(self) -> Support:
        """Try the source, in at most a second."""

    def collect(self, time_ns: int) -> Collected:
        """What the source says now.

        Args:
            time_ns: the tick, Unix nanoseconds; the time of what has no time of its own.

        Raises:
            CollectError: it says nothing.
        """

    def close(self) -> None:
        """Close what is open; may come while `collect` runs, or hangs, in its thread."""


@runtime_checkable
class Remembering(Protocol):
    """A background collector that knows what can't be read anew, such as which GPUs there were."""

    def take_over(self, former: Any) -> None:
        """Go on with what the collector of the same name knew that was there before, and has been closed."""


@runtime_checkable
class BusyBetweenCalls(Protocol):
    """A background collector that also costs something while it is not asked, such as a child process that counts.

    `slowed_by` is set before each call: by which factor its interval is longer than it says, in degraded mode.
    """

    slowed_by: int
