"""Starts the ranks of `train.py` in the environment with PyTorch, and listens to them as a node's agent does."""

import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pulsetrain.agents.collectors.base import Observation
from pulsetrain.agents.collectors.training.collector import TrainingCollector
from pulsetrain.agents.collectors.training.settings import HookSettings

PYTHON_VARIABLE = "PULSETRAIN_TORCH_PYTHON"
"""Names the Python of the environment with PyTorch."""

WORLD_SIZE = 2
_LIMIT_SECONDS = 300.0
PROJECT = Path(__file__).parents[2]


@dataclass
class Run:
    """What the ranks printed, by variant and rank, and what the agent heard."""

    printed: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    heard: list[Observation] = field(default_factory=list)


def train(python: str) -> Run:
    """Run all variants on both ranks.

    Raises:
        AssertionError: a rank failed, or did not end in time; the message has what it said.
    """
    run = Run()
    with tempfile.TemporaryDirectory(prefix="torch-") as folder:
        socket_path = Path(folder) / "hook.sock"
        collector = TrainingCollector(HookSettings(socket_path=str(socket_path)), lambda pid: {})
        support = collector.is_supported()
        assert support.supported, support.reason
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(PROJECT / ".dev"),
            "PULSETRAIN_HOOK_SOCKET": str(socket_path),
        }
        processes = [_start(python, rank, Path(folder), environment) for rank in range(WORLD_SIZE)]
        try:
            end = time.monotonic() + _LIMIT_SECONDS
            while any(process.poll() is None for process in processes) and time.monotonic() < end:
                run.heard += collector.collect(time.time_ns()).observations
                time.sleep(0.1)
        finally:
            for process in processes:
                process.kill()
                process.wait()
            run.heard += collector.collect(time.time_ns()).observations
            collector.close()
        for rank, process in enumerate(processes):
            errors = (Path(folder) / f"errors-{rank}").read_text()
            assert process.returncode == 0, f"rank {rank} ended with {process.returncode}: {errors[-3000:]}"
            for line in (Path(folder) / f"output-{rank}").read_text().splitlines():
                printed = json.loads(line)
                run.printed.setdefault(printed["variant"], []).append(printed)
    return run


def _start(python: str, rank: int, folder: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [
        python,
        str(Path(__file__).with_name("train.py")),
        str(rank),
        str(WORLD_SIZE),
        str(folder / "rendezvous"),
    ]
    with (folder / f"output-{rank}").open("wb") as output, (folder / f"errors-{rank}").open("wb") as errors:
        return subprocess.Popen(command, stdout=output, stderr=errors, env=environment)
