"""Machine code is kept on disk where that is possible, and no disk keeps a worker from starting."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pulsetrain.streams.features.compiled import jit

LOOPS = """
from jit import compiled, part

@part()
def _square(number):
    return number * number

@compiled("float64(float64[::1])")
def energy(samples):
    total = 0.0
    for i in range(samples.size):
        total += _square(samples[i])
    return total

@compiled("float64(float64, float64)")
def ratio(a, b):
    return a / b
"""
PROGRAM = """
import logging, resource, sys
import numpy
import jit
logging.basicConfig(format="LOG %(message)s", stream=sys.stdout)
if "full" in sys.argv:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
import loops
print(loops.energy(numpy.array([3.0, 4.0])), loops.ratio(1.0, 0.0))
print("loaded", sum(loops.energy.stats.cache_hits.values()) + sum(loops.ratio.stats.cache_hits.values()))
"""


pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Holds the module beside a copy of what compiles it: its own package would be compiled with it each time."""
    shutil.copy(jit.__file__, tmp_path / "jit.py")
    (tmp_path / "loops.py").write_text(LOOPS)
    return tmp_path


def lines_of(folder: Path, *arguments: str, **environment: str) -> list[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    completed = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=folder,
        env={**inherited, "PYTHONPATH": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.splitlines()


def without_a_folder_beside_the_module(folder: Path) -> None:
    """A file in its place stops root too, as a file system that is mounted read-only does."""
    (folder / "__pycache__").write_text("")


def test_a_second_start_loads_what_the_first_compiled(folder: Path) -> None:
    assert lines_of(folder) == ["25.0 inf", "loaded 0"]
    assert lines_of(folder) == ["25.0 inf", "loaded 2"]
    assert list((folder / "__pycache__").glob("loops.energy-*.nbc"))


def test_where_the_package_cannot_be_written_the_users_cache_is_used(folder: Path) -> None:
    without_a_folder_beside_the_module(folder)
    cache = folder / "cache"
    assert lines_of(folder, XDG_CACHE_HOME=str(cache)) == ["25.0 inf", "loaded 0"]
    assert lines_of(folder, XDG_CACHE_HOME=str(cache)) == ["25.0 inf", "loaded 2"]
    assert list(cache.rglob("loops.energy-*.nbc"))


def test_a_named_folder_is_used_first(folder: Path) -> None:
    cache = folder / "named"
    lines_of(folder, NUMBA_CACHE_DIR=str(cache))
    assert list(cache.rglob("loops.energy-*.nbc"))
    assert not list((folder / "__pycache__").glob("*.nbc"))


def test_where_nothing_can_be_written_each_start_compiles_and_one_line_says_so(folder: Path) -> None:
    without_a_folder_beside_the_module(folder)
    no_folder = str(folder / "__pycache__" / "cache")
    logged, *results = lines_of(folder, XDG_CACHE_HOME=no_folder, NUMBA_CACHE_DIR=no_folder)
    assert results == ["25.0 inf", "loaded 0"]
    assert logged.startswith("LOG machine code cannot be kept on disk")
    assert "NUMBA_CACHE_DIR" in logged


def test_a_full_disk_does_not_keep_a_worker_from_starting(folder: Path) -> None:
    logged, *results = lines_of(folder, "full")
    assert results == ["25.0 inf", "loaded 0"]
    assert logged.startswith("LOG machine code cannot be kept on disk")


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_file_of_the_cache_that_was_cut_off_does_not_keep_a_worker_from_starting(folder: Path, ending: str) -> None:
    lines_of(folder)
    for file in (folder / "__pycache__").glob(f"*.{ending}"):
        file.write_bytes(file.read_bytes()[:-20])
    logged, *results = lines_of(folder)
    assert results == ["25.0 inf", "loaded 0"]
    assert logged.startswith("LOG machine code cannot be kept on disk or read from there")
