"""Helpers for a plain PyTorch loop. PyTorch itself is imported by the loop, never from here.

with TrainingProbe() as probe:
    time_all_reduces(probe, model)  # a DistributedDataParallel
    step_with(probe, optimizer)
    for batch in probe.batches(loader):
        ...
"""

from typing import Any

from pulsetrain.agents.hook.probe import TrainingProbe


def step_with(probe: TrainingProbe, optimizer: Any) -> Any:
    """Count every step of an optimizer as a training step, without a loss.

    For loops that have no good place for `probe.step`. With gradient scaling, steps that the scaler skips don't count.

    Returns:
        PyTorch's handle, whose `remove()` ends it.
    """
    return optimizer.register_step_post_hook(lambda optimizer, args, kwargs: probe.step())
