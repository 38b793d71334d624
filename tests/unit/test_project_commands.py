"""The commands that build and check the project, with stand-ins for the tools that they start."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def stand_in(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CI": "", "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=30, check=False)


def test_a_step_without_time_left_is_refused_with_a_sentence(tmp_path: Path) -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert "limit_seconds=1800\n" in script
    stand_in(tmp_path / "bin" / "make", "echo made")
    stand_in(tmp_path / ".ci" / "run", "")
    (tmp_path / ".ci" / "run").write_text(script.replace("limit_seconds=1800\n", "limit_seconds=0\n"))
    done = run(tmp_path, ".ci/run")
    assert done.returncode == 124
    assert "no time is left of 0 s for make check" in done.stderr
    assert "made" not in done.stdout


def test_steps_within_the_time_run_one_after_the_other(tmp_path: Path) -> None:
    stand_in(tmp_path / "bin" / "make", 'echo "made $1"')
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    done = run(tmp_path, ".ci/run")
    assert done.returncode == 0, done.stderr
    made = [line for line in done.stdout.splitlines() if line.startswith("made")]
    assert made == ["made check", "made test", "made test-torch"]


def test_a_python_that_is_too_old_is_refused_before_anything_is_installed(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    (tmp_path / "pyproject.toml").touch()
    stand_in(tmp_path / "bin" / "python-old", '[ "$1" = -c ] && exit 1\necho "called with $*"')
    done = run(tmp_path, "make", "test-unit", "PYTHON=python-old")
    assert done.returncode != 0
    assert "Pulsetrain needs Python 3.11 or newer: name one, as in PYTHON=" in done.stderr
    assert "called" not in done.stdout
