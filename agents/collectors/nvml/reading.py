"""What one device said at one time, and what it refuses to say."""

import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from pulsetrain.agents.collectors.nvml.library import LOST, REFUSED, Nvml, code_of
from pulsetrain.agents.errors import AgentError

_RETRY_SECONDS = 300.0
"""How long a refusal stands: a setting such as ECC or MIG can change what a device tells."""

_NO_VALUE = frozenset({float(2**32 - 1), float(2**64 - 1)})
"""What drivers fill in where they have nothing (NVML_VALUE_NOT_AVAILABLE and its unsigned likes)."""


class GpuLostError(AgentError):
    """The device is there no more."""


@dataclass(slots=True)
class Reading:
    """Values in the catalogue's units by metric id, NaN where there is none, and why.

    `owners`: labels of whom the device works for, None where that was not asked. `failures`: NVML's words by
    error code, of calls that failed for no lasting reason.
    """

    values: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    owners: Mapping[str, str] | None = None
    failures: dict[int, str] = field(default_factory=dict)

    @property
    def has_values(self) -> bool:
        """Whether there is any value."""
        return len(self.missing) < len(self.values)

    def add(self, metric: str, raw: float, scale: float) -> None:
        """A value as the driver gave it; times `scale` it is in the catalogue's unit."""
        if float(raw) in _NO_VALUE or not math.isfinite(raw):
            self.miss((metric,), "no_value")
        else:
            self.values[metric] = raw * scale

    def miss(self, metrics: Iterable[str], reason: str) -> None:
        """There is no value, for a reason."""
        for metric in metrics:
            self.values[metric] = math.nan
            self.missing[metric] = reason


class Refusals:
    """What a device does not support. It is asked again after a while, and of course by a new session.

    Args:
        nvml: for the reasons.
        monotonic: seconds that only grow.
    """

    def __init__(self, nvml: Nvml, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._nvml = nvml
        self._monotonic = monotonic
        self._standing: dict[Hashable, tuple[float, str]] = {}

    def standing(self, question: Hashable) -> str | None:
        """Why a question is not worth asking now; None where it is."""
        refusal = self._standing.get(question)
        if refusal is None:
            return None
        if self._monotonic() < refusal[0]:
            return refusal[1]
        del self._standing[question]
        return None

    def note(self, question: Hashable, error: Exception, reading: Reading) -> str:
        """Remember how a question failed, and say so in the catalogue's words.

        Raises:
            GpuLostError: the device is gone.
        """
        return self.note_code(question, code_of(error), reading)

    def note_code(self, question: Hashable, code: int, reading: Reading) -> str:
        """As `note`, for the code of a field value."""
        reason = self._nvml.reason(code)
        if code in LOST:
            raise GpuLostError(reason)
        if code in REFUSED:
            self._standing[question] = (self._monotonic() + _RETRY_SECONDS, reason)
        else:
            reading.failures[code] = reason
        return reason
