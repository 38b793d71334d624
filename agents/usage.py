"""Measures what the governor judges: the agent's own processor time and memory, and the load of its node."""

import time
from collections.abc import Callable
from pathlib import Path

from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.collectors.own_process import OwnProcess, number_in
from pulsetrain.agents.governor import Usage

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
        self._process = OwnProcess(proc_root, cpu_time_ns, monotonic_ns)
        self._process.cpu_share()
        self._load = KernelFile(proc_root / "loadavg")
        self._logical_cores = logical_cores

    def usage(self) -> Usage:
        """The figures; NaN for what can't be read."""
        return Usage(
            cpu_percent=100.0 * self._process.cpu_share(),
            memory_mebibytes=self._process.resident_bytes() / _MEBIBYTE,
            load_per_core=number_in(self._load, 0) / self._logical_cores,
        )

    def close(self) -> None:
        """Close the files."""
        self._process.close()
        self._load.close()
