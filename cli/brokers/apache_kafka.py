"""One Apache Kafka node as a child process: the real broker, without Docker and without a system Java."""

from __future__ import annotations

import base64
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from pulsetrain.cli.brokers import leash
from pulsetrain.cli.brokers.errors import BrokerError
from pulsetrain.cli.brokers.java import find_java
from pulsetrain.cli.brokers.kafka_jars import cache_folder, kafka_jars
from pulsetrain.cli.brokers.server_properties import properties_text, server_properties

START_SECONDS = 60.0
"""How long a started node may take until it answers."""

# Below the range that Linux takes local ports of outgoing connections from (32768 and up): a port that is free
# while the node is stopped must not be taken by a client that tries to reconnect to it.
_PORTS = range(20_000, 30_000)
_FORMAT_SECONDS = 60.0
_PROBE_SECONDS = 1.0
_LOG_TAIL_LINES = 20
_LOG_TAIL_BYTES = 16_384
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
)


def to_stderr(sentence: str) -> None:
    """Show progress where it does not mix with a program's output."""
    print(sentence, file=sys.stderr, flush=True)


class ApacheKafka:
    """An Apache Kafka broker and controller (KRaft) on the loopback interface, alive as long as the context.

    It ends with this process, however that ends. The data stays in `data_dir`; without one it is deleted at
    the end.

    Args:
        data_dir: folder for the node's data, configuration and log; created, and formatted once.
        port: where clients connect; None takes a free one.
        heap: largest Java heap, as `java -Xmx` takes it.
        properties: broker properties beyond those of `server_properties`, or instead of them.
        announce: called with a sentence of progress when something takes long.

    Raises:
        BrokerError: no Java, no jars, a bad property, or a node that does not come up.
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        port: int | None = None,
        heap: str = "512m",
        properties: Mapping[str, str] = MappingProxyType({}),
        announce: Callable[[str], None] = to_stderr,
    ) -> None:
        self._wanted_data_dir = data_dir
        self._wanted_port = port
        self._heap = heap
        self._properties = properties
        self._announce = announce
        self._cleanup = ExitStack()
        self._port: int | None = None
        self._command: list[str] = []
        self._log = Path()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """Address (host:port) for clients; it stays the same over `stop` and `start`."""
        if self._port is None:
            raise BrokerError("Apache Kafka has no address before it has started: use it in a with block.")
        return f"127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._prepare(stack)
            stack.callback(self.stop)
            self.start()
            self._cleanup = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cleanup.close()

    def start(self) -> None:
        """Start the node, again on the same port and data if it was stopped, and wait until it answers."""
        if self._process is not None and self._process.poll() is None:
            return
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", leash.__file__, *self._command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait_until_it_answers(self._process)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the node in an orderly way, as a broker outage; does nothing if it is stopped already."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        process.wait()

    def _prepare(self, stack: ExitStack) -> None:
        port, controller_port = _free_ports(self._wanted_port)
        data_dir = self._wanted_data_dir or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="pulsetrain-kafka-"))
        )
        logs = data_dir / "logs"
        configuration = data_dir / "server.properties"
        properties = properties_text(server_properties(logs, port, controller_port, self._properties))
        try:
            data_dir.mkdir(parents=True, exist_ok=True)
            configuration.write_text(properties, encoding="ascii")
        except OSError as error:
            raise BrokerError(f"Apache Kafka can't keep its data in {data_dir}: {error}.") from error
        java = find_java(os.environ)
        jars = kafka_jars(cache_folder(), self._announce)
        run = [str(java), f"-Xmx{self._heap}", *_LOGGING, "-cp", f"{jars}/*"]
        if not (logs / "meta.properties").exists():
            _format([*run, "kafka.tools.StorageTool"], configuration)
        self._command = [*run, "kafka.Kafka", str(configuration)]
        self._log = data_dir / "server.log"
        self._port = port

    def _wait_until_it_answers(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        probe = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0, "reconnect.backoff.max.ms": 250})
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise BrokerError(f"Apache Kafka ended with code {process.returncode}.\n{self._log_tail()}")
            try:
                if probe.list_topics(timeout=_PROBE_SECONDS).brokers:
                    return
            except KafkaException:
                continue
        raise BrokerError(
            f"Apache Kafka did not answer at {self.bootstrap} within {START_SECONDS:.0f} s.\n{self._log_tail()}"
        )

    def _log_tail(self) -> str:
        with self._log.open("rb") as log:
            log.seek(max(0, self._log.stat().st_size - _LOG_TAIL_BYTES))
            lines = log.read().decode("utf-8", errors="replace").splitlines()
        return "\n".join([f"Last lines of {self._log}:", *lines[-_LOG_TAIL_LINES:]])


def _format(storage_tool: list[str], configuration: Path) -> None:
    # 16 random bytes as Kafka writes them; the first bit is 0 so that the text never starts with a dash.
    cluster = bytes([secrets.randbelow(128)]) + secrets.token_bytes(15)
    cluster_id = base64.urlsafe_b64encode(cluster).decode("ascii").rstrip("=")
    command = [*storage_tool, "format", "--standalone", "-t", cluster_id, "-c", str(configuration)]
    try:
        subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_FORMAT_SECONDS, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        said = (error.stdout or b"").decode("utf-8", errors="replace").splitlines()
        raise BrokerError(
            "\n".join(
                [
                    f"Apache Kafka can't prepare its data folder {configuration.parent}. It says:",
                    *said[-_LOG_TAIL_LINES:],
                ]
            )
        ) from error


def _free_ports(wanted: int | None) -> tuple[int, int]:
    """A port for clients (the wanted one, if any) and one for the controller."""
    with ExitStack() as held:
        if wanted is None:
            wanted = _bind_any(held)
        elif not _bind(held, wanted):
            raise BrokerError(f"Port {wanted} on 127.0.0.1 is taken: choose another, or stop what listens there.")
        return wanted, _bind_any(held)


def _bind_any(held: ExitStack) -> int:
    for _ in range(100):
        port = secrets.choice(_PORTS)
        if _bind(held, port):
            return port
    raise BrokerError(f"No free port found on 127.0.0.1 between {_PORTS.start} and {_PORTS.stop - 1}.")


def _bind(held: ExitStack, port: int) -> bool:
    probe = held.enter_context(socket.socket())
    # As Kafka does, so that the closed connections of a stopped broker don't count.
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        probe.bind(("127.0.0.1", port))
        probe.listen()
    except OSError:
        return False
    return True
