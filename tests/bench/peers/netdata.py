"""netdata with its collector of /proc alone, at its shortest interval of one second."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.children import child_process
from tests.bench.peers.peer import Peer
from tests.bench.peers.ports import free_port
from tests.processes import wait_until

PROGRAM = "/usr/sbin/netdata"
PACKAGE = "netdata"
INTERVAL_MS = 1000

_START_SECONDS = 60.0
_ASK_SECONDS = 10.0

# What our agent doesn't read either: other plugins, alarms, learning, the cloud.
_CONFIGURATION = """
[global]
    run as user = root
    hostname = bench
[directories]
    config = {folder}
    cache = {folder}
    lib = {folder}
    log = {folder}
    home = {folder}
    registry = {folder}
    lock = {folder}
[db]
    mode = ram
    update every = 1
    retention = 600
[web]
    bind to = 127.0.0.1
    default port = {port}
    web server threads = 1
[ml]
    enabled = no
[health]
    enabled = no
[cloud]
    enabled = no
[plugins]
    enable running new plugins = no
    netdata monitoring = no
    netdata monitoring extended = no
    proc = yes
    {others}
[plugin:proc]
    {unread}
"""
_OTHERS = (
    *("timex", "idlejitter", "tc", "diskspace", "cgroups", "statsd", "slabinfo", "apps", "perf", "nfacct"),
    *("python.d", "go.d", "charts.d", "ebpf", "ioping", "fping"),
)
_UNREAD = (
    "/proc/interrupts",
    "/proc/softirqs",
    "/proc/net/stat/nf_conntrack",
    "/proc/net/softnet_stat",
    "/proc/net/sockstat",
    "/proc/net/sockstat6",
    "/proc/net/sctp/snmp",
    "/proc/net/rpc/nfs",
    "/proc/net/rpc/nfsd",
    "/proc/net/wireless",
    "/proc/uptime",
    "/proc/sys/kernel/random/entropy_avail",
    "/proc/spl/kstat/zfs/arcstats",
    "/proc/mdstat",
    "/proc/pagetypeinfo",
    "/sys/block/zram",
    "/sys/class/power_supply",
    "/sys/class/infiniband",
    "/sys/fs/btrfs",
    "ipc",
    "zfs",
    "btrfs",
)


class Netdata(Peer):
    """Its own web interface says how far each chart has come and how many dimensions it has."""

    def __init__(self, pid: int, port: int) -> None:
        super().__init__(pid)
        self._url = f"http://127.0.0.1:{port}/api/v1/charts"
        self._before: dict[str, Any] = {}
        self._after: dict[str, Any] = {}

    def begin(self) -> None:
        self._before = self.charts()

    def end(self) -> float:
        self._after = self.charts()
        return float(sum(_samples(chart, self._before.get(name)) for name, chart in self._after.items()))

    def series(self) -> int:
        gained = [chart for name, chart in self._after.items() if _samples(chart, self._before.get(name))]
        return sum(len(chart["dimensions"]) for chart in gained)

    def charts(self) -> dict[str, Any]:
        """Charts by id."""
        with urllib.request.urlopen(self._url, timeout=_ASK_SECONDS) as answer:  # noqa: S310 - a fixed http address
            charts: dict[str, Any] = json.load(answer)["charts"]
            return charts


@contextmanager
def netdata(folder: Path) -> Iterator[Netdata]:
    """netdata with all its files in the folder; it has begun to collect."""
    port = free_port()
    config = folder / "netdata.conf"
    others, unread = ("\n    ".join(f"{name} = no" for name in names) for names in (_OTHERS, _UNREAD))
    config.write_text(_CONFIGURATION.format(folder=folder, port=port, others=others, unread=unread))
    (folder / ".opt-out-from-anonymous-statistics").touch()
    command = [PROGRAM, "-D", "-c", str(config), "-P", str(folder / "netdata.pid")]
    with child_process(command, "netdata.log") as process:
        peer = Netdata(process.pid, port)
        wait_until("netdata's first charts", lambda: _answered(peer), _START_SECONDS)
        yield peer


def _samples(chart: dict[str, Any], before: dict[str, Any] | None) -> int:
    """What a chart gained since `before`; a new one counts with what it has from one update."""
    gained = (chart["last_entry"] - before["last_entry"]) // chart["update_every"] if before else 1
    return int(gained * len(chart["dimensions"]))


def _answered(peer: Netdata) -> bool:
    try:
        return bool(peer.charts())
    except (urllib.error.URLError, ConnectionError, TimeoutError, ValueError):
        return False
