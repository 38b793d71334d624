"""Measures what the governor judges: the agent's own processor time and memory, and the load of its node."""

import math
import os
import time
from collections.abc import Callable
from pathlib import Path

from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.errors import CollectError
from pulsetrain.agents.governor import Usage

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MEBIBYTE = 1024 * 1024


class UsageMeter:
    """Figures since the previous call.

    Args:
        proc_root: where /proc is.
        logical_cores: of the node.
        cpu_time_ns: processor time of this process, all threads.
        monotonic_ns: a clock that is never set.
    """

    def __init__(
        self,
        proc_root: Path,
        logical_cores: int,
        cpu_time_ns: Callable[[], int] = time.process_time_ns,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._memory = KernelFile(proc_root / "self/statm")
        self._load = KernelFile(proc_root / "loadavg")
        self._logical_cores = logical_cores
        self._cpu_time_ns = cpu_time_ns
        self._monotonic_ns = monotonic_ns
        self._previous = (cpu_time_ns(), monotonic_ns())

    def usage(self) -> Usage:
        """The figures; NaN for what can't be read."""
        before, now = self._previous, (self._cpu_time_ns(), self._monotonic_ns())
        self._previous = now
        passed_ns = now[1] - before[1]
        return Usage(
            cpu_percent=100.0 * (now[0] - before[0]) / passed_ns if passed_ns > 0 else math.nan,
            memory_mebibytes=_word(self._memory, 1) * _PAGE_BYTES / _MEBIBYTE,
            load_per_core=_word(self._load, 0) / self._logical_cores,
        )

    def close(self) -> None:
        """Close the files."""
        self._memory.close()
        self._load.close()


def _word(file: KernelFile, index: int) -> float:
    try:
        return float(file.read().split()[index])
    except (CollectError, ValueError, IndexError):
        return math.nan
