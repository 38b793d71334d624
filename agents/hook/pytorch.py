"""Helpers for a plain PyTorch loop. PyTorch itself is imported by the loop, never from here.

with TrainingProbe() as probe:
    time_all_reduces(probe, model)  # a DistributedDataParallel
    step_with(probe, optimizer)
    for batch in probe.batches(loader):
        ...
"""

import sys
import threading
from collections.abc import Callable
from typing import Any

from pulsetrain.agents.hook.probe import TrainingProbe
from pulsetrain.agents.hook.sections import Section


def step_with(probe: TrainingProbe, optimizer: Any) -> Any:
    """Count every step of an optimizer as a training step, without a loss.

    For loops that have no good place for `probe.step`. With gradient scaling, steps that the scaler skips don't count.

    Returns:
        PyTorch's handle, whose `remove()` ends it; None where the optimizer takes no hook, which is an error.
    """
    try:
        return optimizer.register_step_post_hook(lambda optimizer, args, kwargs: probe.step())
    except Exception as error:
        probe.count_error(error)
        return None


def time_all_reduces(probe: TrainingProbe, model: Any) -> None:
    """Time the all-reduces of gradients in a `DistributedDataParallel`, which run while gradients are computed.

    The time of a step is that in which at least one of them was under way, the wait for slower ranks included. It
    registers a communication hook that computes what the model computes without one, bit for bit, except with uneven
    inputs (`Join`). A model that has a hook already keeps it, and an error is counted.
    """
    try:
        group = model.process_group
        model.register_comm_hook(None, _averaging(probe.all_reduce(), sys.modules["torch.distributed"], group))
    except Exception as error:
        probe.count_error(error)


def _averaging(section: Section, distributed: Any, group: Any) -> Callable[[object, Any], Any]:
    """A communication hook that averages gradients over the group."""
    under_way = _UnderWay(section)
    # As DistributedDataParallel itself does; a division by the group's size would differ in the last bit.
    factor = 1.0 / group.size()

    def average(state: object, bucket: Any) -> Any:
        buffer = bucket.buffer()
        under_way.begin()
        buffer.mul_(factor)
        future = distributed.all_reduce(buffer, group=group, async_op=True).get_future()

        def done(arrived: Any) -> Any:
            under_way.end()
            return arrived.value()[0]

        return future.then(done)

    # PyTorch checks annotations, if there are any, by identity.
    average.__annotations__ = {}
    return average


class _UnderWay:
    """A section from the first beginning to the last end of what overlaps. Ends come from threads of the backend.

    On a CUDA device all of this is only enqueued: each end comes right after its beginning, and what overlaps are the
    timings on the device.
    """

    def __init__(self, section: Section) -> None:
        self._section = section
        self._lock = threading.Lock()
        self._count = 0

    def begin(self) -> None:
        with self._lock:
            self._count += 1
            if self._count == 1:
                self._section.begin()

    def end(self) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0:
                self._section.end()
