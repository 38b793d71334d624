"""Pressure stall information, from /proc/pressure (Documentation/accounting/psi.rst of Linux)."""

from collections.abc import Sequence

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.fields import Field, FieldReader
from pulsetrain.agents.collectors.file_collector import FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.schemas.catalogue import metric_id

# Of the whole machine the CPU can't be short for all tasks at once: its "full" line is always 0. Interrupts, which some
# kernels account for, stop all tasks of their CPU.
_STALLS = {"cpu": ("some",), "memory": ("some", "full"), "io": ("some", "full"), "irq": ("full",)}
_PERCENT = 0.01
_MICROSECOND = 1e-6


def pressure_collectors(roots: Roots) -> list[FileCollector]:
    """One collector a resource; a kernel without PSI supports none of them."""
    return [
        FileCollector(
            f"pressure_{resource}",
            KernelFile(roots.proc / "pressure" / resource),
            FieldReader(split_pressure, _fields(resource)),
        )
        for resource in _STALLS
    ]


def split_pressure(content: bytes) -> tuple[Sequence[bytes], list[bytes]]:
    """`some avg10=2.53 avg60=0.97 avg300=0.39 total=6020387` as `some avg10`, `some total`.

    Raises:
        ValueError: a line has another form.
    """
    names: list[bytes] = []
    numbers: list[bytes] = []
    for line in content.splitlines():
        stall, average, _, _, total = line.split(b" ")
        names += [stall + b" avg10", stall + b" total"]
        numbers += [average.removeprefix(b"avg10="), total.removeprefix(b"total=")]
    return names, numbers


def _fields(resource: str) -> list[Field]:
    fields = []
    for stall in _STALLS[resource]:
        attributes = {"linux.pressure.resource": resource, "linux.pressure.stall": stall}
        key = stall.encode()
        fields += [
            Field(metric_id("system.linux.pressure.share", **attributes), (key + b" avg10",), _PERCENT),
            Field(metric_id("system.linux.pressure.stall_time", **attributes), (key + b" total",), _MICROSECOND),
        ]
    return fields
