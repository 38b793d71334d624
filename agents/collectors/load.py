"""Load averages and the number of threads, from /proc/loadavg (proc_loadavg(5))."""

from collections.abc import Sequence

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.fields import Field, FieldReader
from pulsetrain.agents.collectors.file_collector import FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile

_FIELDS = (
    Field("system.cpu.load_average.1m", (b"1m",)),
    Field("system.cpu.load_average.5m", (b"5m",)),
    Field("system.cpu.load_average.15m", (b"15m",)),
    Field("system.linux.thread.count", (b"threads",)),
)
_NAMES = (b"1m", b"5m", b"15m", b"threads")


def load_collector(roots: Roots) -> FileCollector:
    """The collector of /proc/loadavg."""
    return FileCollector("load", KernelFile(roots.proc / "loadavg"), FieldReader(split_loadavg, _FIELDS))


def split_loadavg(content: bytes) -> tuple[Sequence[bytes], list[bytes]]:
    """`0.27 0.18 0.10 3/101 7090`: three averages, runnable/all threads, newest process.

    Raises:
        ValueError: there are fewer than four words.
    """
    one, five, fifteen, threads = content.split()[:4]
    return _NAMES, [one, five, fifteen, threads.rpartition(b"/")[2]]
