"""What the demo may take of this machine, and the hands that put loads on it and send labels."""

import os
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pulsetrain.cli.demo.children import Loads
from pulsetrain.cli.demo.troubles import CPU_HOG, DISK_HAMMER, MEMORY_LEAK, Trouble
from pulsetrain.cli.label import make_label, send_label
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.label import LabelVerdict

MOST_CPUS = 2
HOG_PROCESSES = 24
"""As of a data loader with far too many workers: many for each CPU, so that tasks queue up on a busy machine, too."""

MOST_LEAKED_MEBIBYTES = 1280
LONGEST_LOAD_SECONDS = 120.0

_KIBIBYTES_PER_MEBIBYTE = 1024
_MEBIBYTE = 1024 * 1024
_CGROUP = Path("/sys/fs/cgroup")


def take_few_cpus() -> None:
    """Keeps this process and all that it will start to two CPUs."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:MOST_CPUS])


def leak_mebibytes(meminfo: str, cgroup_limit: str = "max", cgroup_usage: str = "0") -> int:
    """How much the leak may take: a third of the memory that is available here, in a container too, 1.25 GiB at most.

    Args:
        meminfo: text of /proc/meminfo.
        cgroup_limit: text of memory.max of this cgroup (v2), a number of bytes or `max`.
        cgroup_usage: text of memory.current, bytes.
    """
    available = next(line for line in meminfo.splitlines() if line.startswith("MemAvailable:"))
    mebibytes = int(available.split()[1]) // _KIBIBYTES_PER_MEBIBYTE
    if cgroup_limit.strip() != "max":
        mebibytes = min(mebibytes, (int(cgroup_limit) - int(cgroup_usage)) // _MEBIBYTE)
    return min(mebibytes // 3, MOST_LEAKED_MEBIBYTES)


def _leak_mebibytes_here() -> int:
    meminfo = Path("/proc/meminfo").read_text()
    limit, usage = _CGROUP / "memory.max", _CGROUP / "memory.current"
    if limit.is_file() and usage.is_file():
        return leak_mebibytes(meminfo, limit.read_text(), usage.read_text())
    return leak_mebibytes(meminfo)


def _disk_folder() -> str:
    """A folder on a disk. /tmp is in memory on many machines; /var/tmp outlives a restart, so it is not."""
    return "/var/tmp" if os.access("/var/tmp", os.W_OK) else tempfile.gettempdir()  # noqa: S108  # the file has no name


class MachineHands:
    """Does what the story decides, on this machine and on this Kafka.

    Args:
        loads: starts and ends the processes of loads.
        kafka: where Kafka is.
        labels_topic: full name of the labels topic.
    """

    def __init__(self, loads: Loads, kafka: KafkaSettings, labels_topic: str) -> None:
        self._loads = loads
        self._kafka = kafka
        self._labels_topic = labels_topic

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
            return ["--mebibytes", str(_leak_mebibytes_here())]
        if trouble is DISK_HAMMER:
            return ["--folder", _disk_folder()]
        return []
