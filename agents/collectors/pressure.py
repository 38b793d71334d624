"""Pressure stall information, from /proc/pressure (Documentation/accounting/psi.rst of Linux)."""

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.file_collector import Field, FieldReader, FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.schemas.catalogue import metric_id

# Of the whole machine the CPU can't be short for all tasks at once: its "full" line is always 0.
_STALLS = {"cpu": ("some",), "memory": ("some", "full"), "io": ("some", "full")}
_PERCENT = 0.01
_MICROSECOND = 1e-6


def pressure_collectors(roots: Roots) -> list[FileCollector]:
    """One collector a resource; a kernel without PSI supports none of them."""
    return [
        FileCollector(
            f"pressure_{resource}",
            KernelFile(roots.proc / "pressure" / resource),
            FieldReader(parse_pressure, _fields(resource)),
        )
        for resource in _STALLS
    ]


def parse_pressure(content: bytes) -> dict[bytes, bytes | float]:
    """`some avg10=2.53 avg60=0.97 avg300=0.39 total=6020387` as `some avg10` ... `some total`."""
    numbers: dict[bytes, bytes | float] = {}
    for line in content.split(b"\n"):
        stall, *pairs = line.split(b" ")
        for pair in pairs:
            key, _, number = pair.partition(b"=")
            numbers[stall + b" " + key] = number
    return numbers


def _fields(resource: str) -> list[Field]:
    fields = []
    for stall in _STALLS[resource]:
        attributes = {"linux.pressure.resource": resource, "linux.pressure.stall": stall}
        key = stall.encode()
        fields += [
            Field(metric_id("system.linux.pressure.share", **attributes), key + b" avg10", _PERCENT),
            Field(metric_id("system.linux.pressure.stall_time", **attributes), key + b" total", _MICROSECOND),
        ]
    return fields
