"""Current clock of the CPUs: from cpufreq where the machine has it, else from /proc/cpuinfo."""

from collections.abc import Sequence

from pulsetrain.agents.collectors.base import HOST, Roots, Support
from pulsetrain.agents.collectors.fields import Field, FieldReader
from pulsetrain.agents.collectors.file_collector import FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.errors import CollectError

_METRIC = "system.cpu.frequency"
_KHZ = 1e3
_MHZ = 1e6

# Asking a CPU for its clock can interrupt it, so only a few are asked; a page of /proc/cpuinfo has two or three.
_ASKED_CPUS = 4
_CPUINFO_BYTES = 4096


def frequency_collector(roots: Roots) -> "CpufreqCollector | FileCollector":
    """The collector of the better source that this machine has."""
    cpufreq = CpufreqCollector(roots)
    if cpufreq.is_supported().supported:
        return cpufreq
    fields = (Field(_METRIC, (b"mean MHz",), _MHZ),)
    cpuinfo = KernelFile(roots.proc / "cpuinfo", head_bytes=_CPUINFO_BYTES)
    return FileCollector("frequency", cpuinfo, FieldReader(split_cpuinfo, fields))


class CpufreqCollector:
    """Mean of scaling_cur_freq over a few CPUs, evenly spread over the machine."""

    def __init__(self, roots: Roots) -> None:
        self.name = "frequency"
        self.entity = HOST
        self.source = str(roots.sys / "devices/system/cpu/cpu*/cpufreq/scaling_cur_freq")
        paths = sorted(
            (roots.sys / "devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_cur_freq"),
            key=lambda path: int(path.parts[-3].removeprefix("cpu")),
        )
        self._files = [KernelFile(path) for path in paths[:: max(1, -(-len(paths) // _ASKED_CPUS))]]

    def is_supported(self) -> Support:
        """Whether there is a clock to read."""
        try:
            self.decode([self.read()])
        except CollectError as error:
            return Support(False, str(error))
        return Support(True)

    def metrics(self) -> tuple[str, ...]:
        """The one metric."""
        return (_METRIC,)

    def read(self) -> list[bytes]:
        """The clocks as they are written, in kHz, of those CPUs that tell theirs: one that is offline does not."""
        contents, failures = [], []
        for file in self._files:
            try:
                contents.append(file.read())
            except CollectError as error:
                failures.append(error)
        if failures and not contents:
            raise failures[0]
        return contents

    def decode(self, readings: Sequence[list[bytes]]) -> list[list[float]]:
        """Their mean."""
        try:
            return [[mean_frequency_hz(contents)] for contents in readings]
        except ValueError as error:
            raise CollectError(f"{self.source} holds something unexpected: {error}") from error

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


def mean_frequency_hz(contents: Sequence[bytes]) -> float:
    """Mean of scaling_cur_freq files, which hold kHz, or `<unknown>` where the driver can't tell.

    Raises:
        ValueError: none of them holds a number.
    """
    clocks = [int(content) for content in contents if content.strip().isdigit()]
    if not clocks:
        raise ValueError(f"no clock in {contents}")
    return sum(clocks) / len(clocks) * _KHZ


def split_cpuinfo(content: bytes) -> tuple[Sequence[bytes], list[bytes]]:
    """The mean of the whole lines `cpu MHz : 2596.126`; nothing where processors have none (Arm)."""
    clocks = []
    for part in content.split(b"\ncpu MHz")[1:]:
        rest, newline, _ = part.partition(b"\n")
        if newline:
            clocks.append(float(rest.rpartition(b":")[2]))
    return ((b"mean MHz",), [b"%f" % (sum(clocks) / len(clocks))]) if clocks else ((), [])
