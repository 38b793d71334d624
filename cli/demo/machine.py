"""What the demo may take of this machine, and the hands that put loads on it and send labels."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pulsetrain.cli.demo.children import Children, Loads
from pulsetrain.cli.demo.troubles import CPU_HOG, DISK_HAMMER, MEMORY_LEAK, Trouble
from pulsetrain.cli.errors import CliError
from pulsetrain.cli.label import make_label, send_label
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.label import LabelVerdict

MOST_CPUS = 2
HOG_PROCESSES = 48
"""As of a data loader with far too many workers: many for each CPU, so that tasks queue up on a busy machine, too."""

MOST_LEAKED_MEBIBYTES = 1536
LEAST_LEAKED_MEBIBYTES = 100
LONGEST_LOAD_SECONDS = 120.0
LONGEST_DEMO_SECONDS = 300.0

_KIBIBYTES_PER_MEBIBYTE = 1024
_MEBIBYTE = 1024 * 1024
_CGROUP = Path("/sys/fs/cgroup")


def take_few_cpus() -> None:
    """Keeps this process and all that it will start to two CPUs."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:MOST_CPUS])


@dataclass(frozen=True, slots=True)
class ContainerMemory:
    """What a container may have and has, in bytes; `reclaimable` is page cache, which gives way to whoever needs it."""

    limit: int
    usage: int
    reclaimable: int

    @property
    def available(self) -> int:
        """Bytes that a process may still take."""
        return self.limit - self.usage + self.reclaimable


def leak_mebibytes(meminfo: str, container: ContainerMemory | None = None) -> int:
    """How much the leak may take: a third of the memory that is available here, in a container too, 1.5 GiB at most.

    Args:
        meminfo: text of /proc/meminfo.
        container: None outside of one, or where it has no limit.

    Raises:
        CliError: that is too little to be told from the ordinary.
    """
    available = next(line for line in meminfo.splitlines() if line.startswith("MemAvailable:"))
    mebibytes = int(available.split()[1]) // _KIBIBYTES_PER_MEBIBYTE
    if container is not None:
        mebibytes = min(mebibytes, container.available // _MEBIBYTE)
    if mebibytes // 3 < LEAST_LEAKED_MEBIBYTES:
        raise CliError(
            f"The demo needs {3 * LEAST_LEAKED_MEBIBYTES} MiB of memory for its leak, and {max(mebibytes, 0)} MiB are "
            "available: end other programs, or give the container more."
        )
    return min(mebibytes // 3, MOST_LEAKED_MEBIBYTES)


def container_memory(root: Path = _CGROUP) -> ContainerMemory | None:
    """Memory of this container by its cgroup, version 2 or 1; None where it has no limit."""
    for folder, limit, usage, reclaimable in (
        (root, "memory.max", "memory.current", "inactive_file"),
        (root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        if (folder / limit).is_file() and (folder / usage).is_file():
            text = (folder / limit).read_text().strip()
            stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            used = int((folder / usage).read_text())
            return None if text == "max" else ContainerMemory(int(text), used, int(stat.get(reclaimable, 0)))
    return None


def leak_mebibytes_here() -> int:
    """How much the leak may take on this machine."""
    return leak_mebibytes(Path("/proc/meminfo").read_text(), container_memory())


def _disk_folder() -> str:
    """A folder on a disk. /tmp is in memory on many machines; /var/tmp outlives a restart, so it is not."""
    return "/var/tmp" if os.access("/var/tmp", os.W_OK) else tempfile.gettempdir()  # noqa: S108  # the file has no name


class MachineHands:
    """Does what the story decides, on this machine and on this Kafka.

    Args:
        children: starts the agent.
        loads: starts and ends the processes of loads.
        kafka: where Kafka is.
        labels_topic: full name of the labels topic.
    """

    def __init__(self, children: Children, loads: Loads, kafka: KafkaSettings, labels_topic: str) -> None:
        self._children = children
        self._loads = loads
        self._kafka = kafka
        self._labels_topic = labels_topic

    def start_agent(self) -> None:
        """Lets an agent read this machine, and a small training job work on it as long as the demo runs."""
        self._loads.start("training_job", ["--folder", _disk_folder()], LONGEST_DEMO_SECONDS)
        self._children.start("agent", ["agent"])

    def start(self, trouble: Trouble) -> None:
        """Puts a load on this machine."""
        self._loads.start(trouble.load, self._arguments(trouble), LONGEST_LOAD_SECONDS)

    def stop(self, trouble: Trouble) -> None:
        """Takes it away."""
        self._loads.stop(trouble.load)

    def label_false_positive(self, anomaly_id: str) -> None:
        """Sends a label, as `pulsetrain label` does."""
        label = make_label(anomaly_id, LabelVerdict.FALSE_POSITIVE, "demo", datetime.now(UTC), "a job that may do so")
        send_label(label, self._kafka, self._labels_topic)

    def _arguments(self, trouble: Trouble) -> Sequence[str]:
        if trouble is CPU_HOG:
            return ["--processes", str(HOG_PROCESSES)]
        if trouble is MEMORY_LEAK:
            return ["--mebibytes", str(leak_mebibytes_here())]
        if trouble is DISK_HAMMER:
            return ["--folder", _disk_folder()]
        return []
