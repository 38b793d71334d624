"""What the training hook costs a training loop: a small model in numpy, with an agent that listens and without one.

`python -m tests.torch` has the same for a run of PyTorch on two ranks.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

from pulsetrain.agents.hook import TrainingProbe
from pulsetrain.agents.hook.channel import Channel
from pulsetrain.agents.hook.message import MAX_STEPS
from tests.bench.children import module_process
from tests.bench.figures import BenchError, Figure

_BLOCKS = 40
_START_SECONDS = 30.0

_HOW = f"CPU time of `probe.batches` and `probe.step`; median over {_BLOCKS} datagrams of {MAX_STEPS} steps"

FIGURES = (
    Figure("hook_us_per_step", "us", f"{_HOW}; an agent listens"),
    Figure("hook_us_per_step_no_agent", "us", "the same where none does"),
    Figure("hook_loop_us_per_step", "us", "CPU time of the steps themselves, without the hook's part"),
)


def run() -> dict[str, float]:
    """Blocks of steps with and without an agent take turns, so that what else the machine does meets both alike."""
    with tempfile.TemporaryDirectory(prefix="hook-") as folder:
        path = Path(folder) / "hook.sock"
        with module_process(["tests.bench.hook_listener", str(path)], "hook_listener.log"):
            _wait_for(path)
            loop = _Loop()
            probes = {
                "hook_us_per_step": TrainingProbe("bench", 0, outlet=Channel([str(path)])),
                "hook_us_per_step_no_agent": TrainingProbe("bench", 1, outlet=Channel([f"{path}.nobody"])),
            }
            hook: dict[str, list[float]] = {name: [] for name in probes}
            steps: list[float] = []
            batches = {name: probe.open().batches(loop.batches()) for name, probe in probes.items()}
            for _ in range(_BLOCKS):
                for name, probe in probes.items():
                    hook_us, step_us = loop.block(probe, batches[name])
                    hook[name].append(hook_us)
                    steps.append(step_us)
            for probe in probes.values():
                probe.close()
    if probes["hook_us_per_step"].dropped_steps:
        raise BenchError("the agent did not take every step: see build/bench/hook_listener.log")
    return {name: median(values) for name, values in hook.items()} | {"hook_loop_us_per_step": median(steps)}


class _Loop:
    """Linear regression by gradient descent."""

    def __init__(self) -> None:
        random = np.random.default_rng(1)
        self._inputs = random.normal(size=(8, 1024, 256))
        self._targets = self._inputs @ random.normal(size=256)
        self._weights = np.zeros(256)

    def batches(self) -> Iterator[int]:
        """The number of a batch, for ever."""
        while True:
            yield from range(len(self._inputs))

    def block(self, probe: TrainingProbe, batches: Iterator[int]) -> tuple[float, float]:
        """The hook's part of a step and the rest of it, means over as many steps as share a datagram; microseconds."""
        clock = time.thread_time_ns
        hook_ns = step_ns = clock_ns = 0
        for _ in range(MAX_STEPS):
            begin = clock()
            batch = next(batches)
            ready = clock()
            loss, gradient_norm = self._step(batch)
            done = clock()
            probe.step(loss=loss, grad_norm=gradient_norm, scale=65536.0)
            end = clock()
            clock_ns += clock() - end
            hook_ns += ready - begin + end - done
            step_ns += done - ready
        return (hook_ns - 2 * clock_ns) / MAX_STEPS / 1000, (step_ns - clock_ns) / MAX_STEPS / 1000

    def _step(self, batch: int) -> tuple[float, float]:
        inputs = self._inputs[batch]
        errors = inputs @ self._weights - self._targets[batch]
        gradient = inputs.T @ errors / len(errors)
        self._weights -= 0.1 * gradient
        return float(np.mean(errors * errors)), float(np.linalg.norm(gradient))


def _wait_for(path: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while not path.exists():
        if time.monotonic() > end:
            raise BenchError(f"no agent listens at {path}: see build/bench/hook_listener.log")
        time.sleep(0.05)
