"""What the hook sends: one JSON object a datagram, some steps of one rank. JSON has no NaN: what is missing is null.

    {"v": 1, "job": "llm", "rank": 3, "session": "5f3a...", "sequence": 17, "errors": 0, "dropped": 0, "retries": null,
     "closing": false, "steps": [[1700000000123456789, 42, 250000000, 3000000, null, 2.5, 1.25, 65536.0, 0]]}

`session` is new for each opened probe, `sequence` counts its datagrams. `errors` and `dropped` (steps) are totals of
the session, `retries` is the total of the process. A step is: end (Unix ns), number, duration, data wait, all-reduce
(all in ns), loss, gradient norm, loss scale, and what was not finite (`NonFinite`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag

from pulsetrain.agents.hook.identity import Identity

VERSION = 1
MAX_MESSAGE_BYTES = 16_384
MAX_STEPS = 64
"""The longest step has some 150 characters."""

_SEPARATORS = (",", ":")


class NonFinite(IntFlag):
    """Values of a step that were NaN or infinite, and therefore null in the message."""

    NOTHING = 0
    LOSS = 1
    GRADIENT_NORM = 2
    LOSS_SCALE = 4


StepRow = tuple[int, int, int | None, int | None, int | None, float | None, float | None, float | None, int]
"""A step as in the message."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What a probe has counted so far; `retries` None where there is no CUDA allocator."""

    errors: int
    dropped: int
    retries: int | None


def encode(
    identity: Identity, session: str, sequence: int, totals: Totals, steps: Sequence[StepRow], closing: bool
) -> bytes:
    """One datagram of at most `MAX_STEPS` steps.

    Raises:
        ValueError: a number is NaN or infinite, or the message is too long.
    """
    message = json.dumps(
        {
            "v": VERSION,
            "job": identity.job,
            "rank": identity.rank,
            "session": session,
            "sequence": sequence,
            "errors": totals.errors,
            "dropped": totals.dropped,
            "retries": totals.retries,
            "closing": closing,
            "steps": steps,
        },
        separators=_SEPARATORS,
        allow_nan=False,
    ).encode()
    if len(message) > MAX_MESSAGE_BYTES:
        raise ValueError(f"{len(steps)} steps take {len(message)} bytes; at most {MAX_MESSAGE_BYTES} are allowed")
    return message
