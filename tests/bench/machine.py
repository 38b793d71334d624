"""The machine that the figures were measured on."""

import os
import platform
import re
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Self

_KIB_PER_GIB = 2**20


@dataclass(frozen=True, slots=True)
class Machine:
    """`load_average_1min` is of the moment before the first bench: above 0, others were at work too."""

    cpu: str
    cores: int
    memory_gib: float
    kernel: str
    python: str
    numpy: str
    load_average_1min: float

    @classmethod
    def here(cls, proc: Path = Path("/proc")) -> Self:
        """This machine, now."""
        return cls(
            cpu=cpu_model((proc / "cpuinfo").read_text()),
            cores=len(os.sched_getaffinity(0)),
            memory_gib=memory_gib((proc / "meminfo").read_text()),
            kernel=f"{platform.system()} {platform.release()}",
            python=platform.python_version(),
            numpy=version("numpy"),
            load_average_1min=float((proc / "loadavg").read_text().split()[0]),
        )

    def sentence(self) -> str:
        """All of it on one line."""
        return (
            f"{self.cpu}, {self.cores} cores, {self.memory_gib:.1f} GiB memory, {self.kernel}, "
            f"Python {self.python}, numpy {self.numpy}; load average at the start {self.load_average_1min:.2f}"
        )


def cpu_model(cpuinfo: str) -> str:
    """The first model name of /proc/cpuinfo; the architecture where the kernel gives none, as on Arm."""
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def memory_gib(meminfo: str) -> float:
    """MemTotal of /proc/meminfo, which counts in KiB.

    Raises:
        ValueError: there is no such line.
    """
    found = re.search(r"^MemTotal:\s*(\d+) kB$", meminfo, re.MULTILINE)
    if found is None:
        raise ValueError("/proc/meminfo has no line MemTotal")
    return int(found[1]) / _KIB_PER_GIB
