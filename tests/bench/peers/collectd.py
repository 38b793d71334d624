"""collectd at our interval, sending by its own network protocol to a socket of this process, where values are counted.

Source of the protocol: https://github.com/collectd/collectd/wiki/Binary-protocol
"""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.children import child_process
from tests.bench.peers.peer import Peer
from tests.processes import wait_until

PROGRAM = "/usr/sbin/collectd"
PACKAGE = "collectd-core"
PLUGINS = Path("/usr/lib/collectd")

_START_SECONDS = 60.0
_MAX_PACKET_BYTES = 65536
_BUFFER_BYTES = 4 * 1024 * 1024

_CONFIGURATION = """
Hostname "bench"
FQDNLookup false
BaseDir "{folder}"
PIDFile "{folder}/collectd.pid"
PluginDir "{plugins}"
TypesDB "/usr/share/collectd/types.db"
Interval {interval}
ReadThreads 1
WriteThreads 1
{load}
<Plugin vmem>
    Verbose true
</Plugin>
<Plugin network>
    Server "127.0.0.1" "{port}"
</Plugin>
"""
_WANTED = ("cpu", "load", "memory", "vmem", "disk", "interface", "protocols", "contextswitch", "cpufreq", "network")

_PART = struct.Struct(">HH")
_COUNT = struct.Struct(">H")
_PLUGIN, _PLUGIN_INSTANCE, _TYPE, _TYPE_INSTANCE, _VALUES = 2, 3, 4, 5, 6
_NAMES = (_PLUGIN, _PLUGIN_INSTANCE, _TYPE, _TYPE_INSTANCE)


class Collectd(Peer):
    """Counts what arrives."""

    def __init__(self, pid: int, arriving: socket.socket) -> None:
        super().__init__(pid)
        self._lengths: dict[tuple[bytes, ...], int] = {}
        self._begin = 0
        self.samples = 0
        self.receiver = threading.Thread(target=self._receive, args=(arriving,), daemon=True)
        self.receiver.start()

    def begin(self) -> None:
        self._begin = self.samples

    def end(self) -> float:
        return float(self.samples - self._begin)

    def series(self) -> int:
        return sum(self._lengths.values())

    def _receive(self, arriving: socket.socket) -> None:
        # An empty packet is the end.
        while packet := arriving.recv(_MAX_PACKET_BYTES):
            for name, length in values_in(packet):
                self._lengths[name] = length
                self.samples += length


def values_in(packet: bytes) -> Iterator[tuple[tuple[bytes, ...], int]]:
    """Name (plugin, instance, type, instance) and number of values of each list of values in a packet."""
    names = dict.fromkeys(_NAMES, b"")
    position = 0
    while position + _PART.size <= len(packet):
        kind, length = _PART.unpack_from(packet, position)
        if length < _PART.size:
            return
        content = packet[position + _PART.size : position + length]
        if kind in names:
            names[kind] = content.rstrip(b"\0")
        elif kind == _VALUES and len(content) >= _COUNT.size:
            yield tuple(names.values()), _COUNT.unpack_from(content)[0]
        position += length


@contextmanager
def collectd(interval_ms: int, folder: Path) -> Iterator[Collectd]:
    """collectd with all its files in the folder; it has begun to send."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as arriving:
        arriving.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        arriving.bind(("127.0.0.1", 0))
        config = folder / "collectd.conf"
        config.write_text(
            _CONFIGURATION.format(
                folder=folder,
                plugins=PLUGINS,
                interval=interval_ms / 1000,
                load="\n".join(f"LoadPlugin {name}" for name in _WANTED if (PLUGINS / f"{name}.so").exists()),
                port=arriving.getsockname()[1],
            )
        )
        with child_process([PROGRAM, "-f", "-C", str(config)], "collectd.log") as process:
            peer = Collectd(process.pid, arriving)
            wait_until("collectd's first values", lambda: peer.samples, _START_SECONDS)
            yield peer
        arriving.sendto(b"", arriving.getsockname())
        peer.receiver.join()
