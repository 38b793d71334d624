"""What the hook sends: one JSON object a datagram, some steps of one rank. JSON has no NaN: what is missing is null.

    {"v": 1, "job": "llm", "rank": 3, "session": "5f3a...", "time_ns": 1700000000123999999,
     "errors": 0, "dropped": 0, "retries": null, "closing": false,
     "steps": [[1700000000123456789, 42, 250000000, 3000000]], "values": [[41, null, 2.5, 1.25, 65536.0, 0]]}

`session` is new each time a probe is opened, `time_ns` is when the datagram was sent (Unix ns).
`errors` and `dropped` (steps) are totals of the probe, `retries` is the total of the process. A step is: its end
(Unix ns), number, duration and wait for data (ns). The values of a step may come later than the step, as they come from
a device: the step's number, all-reduce time (ns), loss, gradient norm, loss scale, and what was not finite
(`NonFinite`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag

from pulsetrain.agents.hook.identity import Identity

VERSION = 1
MAX_MESSAGE_BYTES = 16_384
MAX_STEPS = 64
"""The longest step with its values has some 200 characters."""

_SEPARATORS = (",", ":")


class NonFinite(IntFlag):
    """Values of a step that were NaN or infinite, and therefore null in the message."""

    NOTHING = 0
    LOSS = 1
    GRADIENT_NORM = 2
    LOSS_SCALE = 4


StepRow = tuple[int, int, int | None, int | None]
ValuesRow = tuple[int, int | None, float | None, float | None, float | None, int]
"""A step, and the values of a step, as in the message."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What a probe has counted so far; `retries` None where there is no CUDA allocator."""

    errors: int
    dropped: int
    retries: int | None


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends: the rank and the session of its probe."""

    identity: Identity
    session: str


def encode(
    sender: Sender,
    time_ns: int,
    totals: Totals,
    steps: Sequence[StepRow],
    values: Sequence[ValuesRow],
    closing: bool,
) -> bytes:
    """One datagram, of at most `MAX_STEPS` steps and as many values.

    Raises:
        ValueError: a number is NaN or infinite, or the message is too long.
    """
    message = json.dumps(
        {
            "v": VERSION,
            "job": sender.identity.job,
            "rank": sender.identity.rank,
            "session": sender.session,
            "time_ns": time_ns,
            "errors": totals.errors,
            "dropped": totals.dropped,
            "retries": totals.retries,
            "closing": closing,
            "steps": steps,
            "values": values,
        },
        separators=_SEPARATORS,
        allow_nan=False,
    ).encode()
    if len(message) > MAX_MESSAGE_BYTES:
        raise ValueError(f"{len(steps)} steps take {len(message)} bytes; at most {MAX_MESSAGE_BYTES} are allowed")
    return message
