"""Which of a machine's disks and network interfaces are hardware: those that their class folder links to a device.

Partitions, loop devices, device mapper, bridges and containers' interfaces move the same bytes once more; adding them
up would count everything twice and differ from machine to machine.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from pulsetrain.agents.collectors.base import Notice, Roots
from pulsetrain.agents.collectors.bounded import first_of

_MAX_DEVICES = 32
"""Devices of one class with metrics of their own; the sums cover all."""

_VIRTUAL_DISKS = ("loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd")


def physical_disks(roots: Roots) -> list[str]:
    """Names of the whole disks, sorted. Where none is linked to a device, all that are not virtual by name."""
    names = _names(roots.sys / "block")
    linked = [name for name in names if (roots.sys / "block" / name / "device").exists()]
    return [name for name in linked if not name.startswith(_VIRTUAL_DISKS)] or [
        name for name in names if not name.startswith(_VIRTUAL_DISKS)
    ]


def physical_interfaces(roots: Roots) -> list[str]:
    """Names of the network adapters, sorted; empty where there is none, as in a container's own network."""
    folder = roots.sys / "class/net"
    return [name for name in _names(folder) if (folder / name / "device").exists()]


def with_own_metrics(
    found: Sequence[bytes], collector: str, things: str, tell: Callable[[Notice], None]
) -> Sequence[bytes]:
    """The first of the devices of one class; that there are more is told."""
    return first_of(found, collector, things, _MAX_DEVICES, tell, "have metrics of their own")


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
