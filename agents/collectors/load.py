"""Load averages and the number of threads, from /proc/loadavg (proc_loadavg(5))."""

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.file_collector import Field, FieldReader, FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile

_FIELDS = (
    Field("system.cpu.load_average.1m", b"1m"),
    Field("system.cpu.load_average.5m", b"5m"),
    Field("system.cpu.load_average.15m", b"15m"),
    Field("system.linux.thread.count", b"threads"),
)


def load_collector(roots: Roots) -> FileCollector:
    """The collector of /proc/loadavg."""
    return FileCollector("load", KernelFile(roots.proc / "loadavg"), FieldReader(parse_loadavg, _FIELDS))


def parse_loadavg(content: bytes) -> dict[bytes, bytes | float]:
    """`0.27 0.18 0.10 3/101 7090`: three averages, runnable/all threads, newest process.

    Raises:
        ValueError: there are fewer than four words.
    """
    one, five, fifteen, threads = content.split()[:4]
    return {b"1m": one, b"5m": five, b"15m": fifteen, b"threads": threads.rpartition(b"/")[2]}
