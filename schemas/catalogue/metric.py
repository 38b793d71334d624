"""A metric: one quantity with one name, unit, kind and valid range, whatever source it comes from.

A metric id is the name, or the name and attributes that tell apart what shares it:
`system.cpu.utilization{cpu.mode=user}`. Attributes are sorted by key, so that equal metrics have equal ids; characters
that would break the syntax are percent-encoded as in RFC 3986.
"""

import math
import re
from dataclasses import dataclass
from enum import StrEnum

_ATTRIBUTES_START = "{"
_BREAKING = re.compile(r"[%{},=\x00-\x20\x7f]")


class MetricKind(StrEnum):
    """A gauge says how much there is; a counter how much there has been, so that only its growth means something."""

    GAUGE = "gauge"
    COUNTER = "counter"


class JudgedBy(StrEnum):
    """What of a metric can be normal or not, and so be learned by a model.

    The level of a cache or of a heap is where the past has left it: only how it moves tells of trouble. A mean that the
    kernel keeps over minutes tells late what a raw metric tells at once, and the agent's own cost says nothing of its
    node: those are shown, never judged.
    """

    LEVEL = "level"
    CHANGE = "change"
    NOTHING = "nothing"


class BetweenSamples(StrEnum):
    """What a gauge is taken for at a time between two samples.

    A state, a limit or a number of things stays what it was until it is seen to change, and so does what changes
    slowly; half a state was never there. Anything else lies on the line between its neighbours.
    """

    LINEAR = "linear"
    HOLD = "hold"


@dataclass(frozen=True, slots=True)
class Metric:
    """One entry of the catalogue.

    `unit` is a UCUM code; a value outside [valid_min, valid_max] was not measured. `wraps_at` is the number, in that
    unit, at which a counter begins again at 0, None where it is too large to be reached (64 bits).
    """

    name: str
    unit: str
    kind: MetricKind
    description: str
    valid_min: float = -math.inf
    valid_max: float = math.inf
    judged_by: JudgedBy = JudgedBy.LEVEL
    between_samples: BetweenSamples = BetweenSamples.LINEAR
    wraps_at: float | None = None


def gauge(
    name: str,
    unit: str,
    description: str,
    valid_min: float = 0.0,
    valid_max: float = math.inf,
    judged_by: JudgedBy = JudgedBy.LEVEL,
    between_samples: BetweenSamples = BetweenSamples.LINEAR,
) -> Metric:
    """A gauge that can't be negative unless `valid_min` says so."""
    return Metric(name, unit, MetricKind.GAUGE, description, valid_min, valid_max, judged_by, between_samples)


def share(name: str, description: str, judged_by: JudgedBy = JudgedBy.LEVEL) -> Metric:
    """A gauge from 0 to 1."""
    return gauge(name, "1", description, valid_max=1.0, judged_by=judged_by)


def counter(
    name: str,
    unit: str,
    description: str,
    judged_by: JudgedBy = JudgedBy.LEVEL,
    wraps_at: float | None = None,
) -> Metric:
    """A counter that grows from 0; what is judged is its rate."""
    return Metric(name, unit, MetricKind.COUNTER, description, valid_min=0.0, judged_by=judged_by, wraps_at=wraps_at)


def metric_id(name: str, **attributes: str) -> str:
    """`name` or `name{key=value,key2=value2}`."""
    if not attributes:
        return _encoded(name)
    pairs = ",".join(f"{_encoded(key)}={_encoded(attributes[key])}" for key in sorted(attributes))
    return f"{_encoded(name)}{_ATTRIBUTES_START}{pairs}}}"


def metric_name(identifier: str) -> str:
    """The part of a metric id before its attributes."""
    return identifier.partition(_ATTRIBUTES_START)[0]


def _encoded(text: str) -> str:
    return _BREAKING.sub(lambda found: f"%{ord(found[0]):02X}", text)
