"""Steps on a CUDA device while PyTorch refuses whatever waits for it; runs in an environment with PyTorch.

Prints a line of JSON: the losses as they were, those that the probe sent, and what else it sent and counted.
"""

import json
import sys
import time
from importlib import import_module
from typing import Any

from pulsetrain.agents.hook import TrainingProbe

torch: Any = import_module("torch")

STEPS = 40
NO_DEVICE = 3


class Recorder:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.values: list[list[Any]] = []

    def is_open(self, now_ns: int) -> bool:
        return True

    def send(self, message: bytes) -> bool:
        self.values += json.loads(message)["values"]
        return True

    def close(self) -> None:
        """There is nothing to close."""


def main() -> int:
    """The exit code: `NO_DEVICE` without a device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    weights = torch.randn(512, 512, device="cuda", requires_grad=True)
    (weights @ weights).square().mean().backward()
    torch.cuda.synchronize()
    sent, losses = Recorder(), []
    with TrainingProbe("device", 0, outlet=sent) as probe:
        torch.cuda.set_sync_debug_mode("error")
        for _ in range(STEPS):
            loss = (weights @ weights).square().mean()
            with probe.all_reduce():
                loss.backward()
            probe.step(loss=loss, grad_norm=weights.grad.norm())
            losses.append(loss.detach().clone())
        torch.cuda.set_sync_debug_mode("default")
        torch.cuda.synchronize()
        time.sleep(1.0)
        probe.step()
    told = {"losses": [loss.item() for loss in losses], "values": sent.values, "errors": probe.errors}
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
