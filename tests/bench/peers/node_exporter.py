"""prometheus-node-exporter, scraped at our interval over one kept connection, without compression."""

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.bench.children import child_process
from tests.bench.peers.peer import Peer
from tests.bench.peers.ports import free_port
from tests.processes import wait_until

PROGRAM = "/usr/bin/prometheus-node-exporter"
PACKAGE = "prometheus-node-exporter"

_START_SECONDS = 60.0
_ASK_SECONDS = 10.0

_COLLECTORS = ("cpu", "cpufreq", "loadavg", "meminfo", "vmstat", "diskstats", "netdev", "netstat", "pressure", "stat")
_FLAGS = (
    "--web.disable-exporter-metrics",
    "--collector.disable-defaults",
    *(f"--collector.{name}" for name in _COLLECTORS),
    # By default it leaves most of what it has read of these two files out.
    "--collector.vmstat.fields=.*",
    "--collector.netstat.fields=.*",
)


class NodeExporter(Peer):
    """Counts the series of each answer; the client's own cost is this process's."""

    def __init__(self, pid: int, port: int, interval_seconds: float) -> None:
        super().__init__(pid)
        self._port = port
        self._interval_seconds = interval_seconds
        self._series = 0
        self._begin = 0
        self._samples = 0

    @contextmanager
    def in_use(self) -> Iterator[None]:
        enough = threading.Event()
        client = threading.Thread(target=self._scrape, args=(enough,))
        client.start()
        try:
            yield
        finally:
            enough.set()
            client.join()

    def begin(self) -> None:
        self._begin = self._samples

    def end(self) -> float:
        return float(self._samples - self._begin)

    def series(self) -> int:
        return self._series

    def answers(self) -> bool:
        """Whether it can be scraped yet."""
        connection = self._connect()
        try:
            connection.request("GET", "/metrics")
            return connection.getresponse().status == http.client.OK
        except OSError:
            return False
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=_ASK_SECONDS)

    def _scrape(self, enough: threading.Event) -> None:
        connection = self._connect()
        due = time.monotonic()
        while not enough.wait(max(0.0, due - time.monotonic())):
            connection.request("GET", "/metrics")
            lines = connection.getresponse().read().splitlines()
            self._series = sum(not line.startswith(b"#") for line in lines)
            self._samples += self._series
            due = max(due + self._interval_seconds, time.monotonic())
        connection.close()


@contextmanager
def node_exporter(interval_ms: int) -> Iterator[NodeExporter]:
    """node_exporter, which needs no file of its own; it has answered."""
    port = free_port()
    command = [PROGRAM, f"--web.listen-address=127.0.0.1:{port}", *_FLAGS]
    with child_process(command, "node_exporter.log") as process:
        peer = NodeExporter(process.pid, port, interval_ms / 1000)
        wait_until("node_exporter's first answer", peer.answers, _START_SECONDS)
        yield peer
