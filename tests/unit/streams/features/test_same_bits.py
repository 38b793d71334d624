"""A window's features are the same bytes whichever worker computes them, or a takeover would change a window."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.compiled.jit import compiled
from pulsetrain.streams.features.compiled.lanes import WIDTH, load, magnitudes, total, whole, zeros

PROGRAM = """
import hashlib, numpy
from pulsetrain.streams.features import DEFAULT_FEATURE_SET, extract
generator = numpy.random.default_rng(0)
for n_samples in (1, 6, 24, 59, 60, 61, 300):
    values = generator.normal(50, 1, size=(40, n_samples)) * 10.0 ** generator.integers(-3, 13, size=(40, 1))
    print(n_samples, hashlib.sha256(extract(values, DEFAULT_FEATURE_SET).tobytes()).hexdigest())
"""


def _digests(cache: Path, **environment: str) -> list[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    completed = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**inherited, "NUMBA_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.splitlines()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this machine's code is kept; it is compiled once for all tests."""
    return tmp_path_factory.mktemp("machine_code")


@pytest.fixture(scope="module")
def compiling(cache: Path) -> list[str]:
    """The digests of a worker that compiles everything for this machine."""
    assert not list(cache.iterdir())
    return _digests(cache)


@pytest.mark.timeout(600)
def test_a_worker_that_compiles_gives_the_bits_of_one_that_loads_machine_code(
    compiling: list[str], cache: Path
) -> None:
    assert _digests(cache) == compiling


@pytest.mark.timeout(600)
def test_a_worker_on_a_plain_processor_gives_the_bits_of_one_on_this_machine(
    compiling: list[str], tmp_path: Path
) -> None:
    assert _digests(tmp_path, NUMBA_CPU_NAME="x86-64", NUMBA_CPU_FEATURES="") == compiling


@compiled("float64(float64[::1])")
def _sum_of_magnitudes(samples: FloatArray) -> float:
    sums = zeros()
    for i in range(0, whole(samples.size), WIDTH):
        lanes = load(samples, i)
        sums += magnitudes(lanes * lanes + lanes - zeros())
    return total(sums)


def test_lanes_add_in_the_stated_order() -> None:
    # beside 2**52 what is below a half is lost, in this order other parts of the sum than in the order of the samples
    samples = np.array([0.5, -0.5] * 12)
    samples[8], samples[16] = 2.0**26, -(2.0**26)
    terms = np.abs(samples * samples + samples).reshape(-1, WIDTH)
    lanes = np.add.accumulate(terms)[-1]
    expected = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
    assert _sum_of_magnitudes(samples) == expected
    assert _sum_of_magnitudes(samples) != float(np.add.accumulate(terms.ravel())[-1])
