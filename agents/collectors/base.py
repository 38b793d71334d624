"""What a collector is: one source of an entity's metrics, read once a tick.

Reading and understanding are apart: at a tick everything is only read, as close together in time as possible; the
readings of many ticks are understood in one go, which costs a fraction of the CPU time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

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

    def decode(self, reading: ReadingT) -> Sequence[float]:
        """The values of a reading, one a metric, NaN where there is none. Readings come in order of time.

        Raises:
            CollectError: the reading can't be understood.
        """

    def close(self) -> None:
        """Close what is open."""
