"""The hook's message (`agents/hook/message.py`) as the agent reads it: from anybody, so every part is bounded."""

import math
from typing import Annotated

import msgspec

from pulsetrain.agents.hook.identity import MAX_JOB_CHARACTERS, MAX_RANK
from pulsetrain.agents.hook.message import MAX_STEPS, VERSION

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_TimeNs = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
_DurationNs = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None
_Flags = Annotated[int, msgspec.Meta(ge=0, le=255)]


class RefusedError(Exception):
    """A message that is not used; the text says why."""


class StepRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One step: its end (Unix ns), number, duration and wait for data."""

    end_ns: _TimeNs
    number: _Count
    duration_ns: _DurationNs
    data_wait_ns: _DurationNs


class ValuesRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The values of one step; `flags` are `NonFinite`, bits that are not known are passed over."""

    number: _Count
    all_reduce_ns: _DurationNs
    loss: float | None
    gradient_norm: float | None
    loss_scale: float | None
    flags: _Flags


class HookMessage(msgspec.Struct, frozen=True):
    """One datagram of a hook; fields that are not known are passed over."""

    job: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_JOB_CHARACTERS)]
    rank: Annotated[int, msgspec.Meta(ge=0, le=MAX_RANK)]
    session: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    time_ns: _TimeNs
    errors: _Count
    dropped: _Count
    retries: _Count | None
    closing: bool
    steps: Annotated[list[StepRow], msgspec.Meta(max_length=MAX_STEPS)]
    values: Annotated[list[ValuesRow], msgspec.Meta(max_length=MAX_STEPS)]


class _Version(msgspec.Struct, frozen=True):
    v: int


_VERSION = msgspec.json.Decoder(_Version)
_MESSAGE = msgspec.json.Decoder(HookMessage)


def decode(content: bytes) -> HookMessage:
    """The message of a datagram.

    Raises:
        RefusedError: it is none, or one of a version that is not known here.
    """
    try:
        version = _VERSION.decode(content).v
        if version != VERSION:
            raise RefusedError(f"version {version} of the hook's message is not known here, only {VERSION}")
        message = _MESSAGE.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError(f"no message of a training hook: {error}") from error
    numbers = (number for row in message.values for number in (row.loss, row.gradient_norm, row.loss_scale))
    if any(number is not None and not math.isfinite(number) for number in numbers):
        raise RefusedError("a value is not finite")
    return message
