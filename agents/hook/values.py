"""What may be read of a value that a training loop hands over, and how.

Only plain numbers are read: Python's, NumPy's, and those in a tensor of one element. Anything else is refused without
being touched: a metric object's getter may reduce over ranks, which would hang a rank that asks alone. A tensor on a
CUDA device is only looked at here; reading it would wait for the device.
"""

import sys
from dataclasses import dataclass
from typing import Any


class RefusedError(Exception):
    """A value that is not read; training goes on."""


@dataclass(frozen=True, slots=True)
class OnDevice:
    """A tensor of one element on a CUDA device, without gradient, shape ()."""

    tensor: Any


def read(value: object) -> float | OnDevice | None:
    """The number, or where it is to be read later; None for None.

    Raises:
        RefusedError: the value is not of a kind that can be read without side effects.
        OverflowError: an integer is too large for a float.
        ValueError, RuntimeError: an array or tensor doesn't have one real element.
    """
    kind = type(value)
    if value is None or kind is float:
        return value  # type: ignore[return-value]  # mypy does not narrow by the type itself
    if issubclass(kind, (float, int)):
        return float(value)  # type: ignore[arg-type]  # mypy does not narrow by issubclass of the type
    torch = sys.modules.get("torch")
    if torch is not None:
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            return _read_tensor(value)
        # Before PyTorch 2.3 there was only the one for CUDA.
        if issubclass(kind, getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler):
            # get_scale() would wait for the device; the tensor is None before the first step and where scaling is off.
            return read(value._scale)  # type: ignore[attr-defined]
    numpy = sys.modules.get("numpy")
    if numpy is not None and (issubclass(kind, numpy.number) or kind is numpy.ndarray):
        return float(value.item())  # type: ignore[attr-defined]
    raise RefusedError(f"a {kind.__module__}.{kind.__qualname__} is no number: hand over a float or a tensor")


def _read_tensor(tensor: Any) -> float | OnDevice:
    if tensor.is_cpu:
        return float(tensor.item())
    if not tensor.is_cuda:
        raise RefusedError(f"a tensor on {tensor.device.type!r} can't be read without waiting for it")
    return OnDevice(tensor.detach().reshape(()))
