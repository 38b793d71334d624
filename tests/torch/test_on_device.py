"""The probe on a real CUDA device, where there is one."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.torch.ranks import PROJECT, PYTHON_VARIABLE

NO_DEVICE = 3
STEPS = 40


def test_values_and_times_come_from_the_device_and_nothing_waits_for_it() -> None:
    python = os.environ.get(PYTHON_VARIABLE)
    if not python:
        pytest.skip(f"{PYTHON_VARIABLE} does not name a Python with PyTorch: run `make test-torch`")
    command = [python, str(Path(__file__).with_name("on_device.py"))]
    environment = os.environ | {"PYTHONPATH": str(PROJECT / ".dev")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, env=environment, check=False)
    if done.returncode == NO_DEVICE:
        pytest.skip("this machine has no CUDA device")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["errors"] == 0
    values = told["values"]
    assert [row[0] for row in values] == list(range(1, STEPS + 1))
    assert [row[2] for row in values] == told["losses"]
    assert all(row[1] > 0 and row[3] > 0 for row in values)
