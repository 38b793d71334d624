"""`pulsetrain kafka` as a real process with a stand-in for Java: what it leaves behind when it is stopped early."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import wait_until


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@pytest.mark.timeout(90)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_before_kafka_has_started_removes_the_temporary_data(tmp_path: Path, number: signal.Signals) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nexec sleep 60\n")
    java.chmod(0o755)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "JAVA_HOME": str(tmp_path / "jdk"), "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "pulsetrain.cli.main", "kafka", "--port", str(free_port())]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as kafka:
        try:
            wait_until("the data folder", lambda: list(temporary.glob("pulsetrain-kafka-*/server.properties")))
            kafka.send_signal(number)
            output, _ = kafka.communicate(timeout=30)
        finally:
            kafka.kill()
    assert kafka.returncode == 0, output
    assert list(temporary.iterdir()) == []
    assert b"Traceback" not in output
