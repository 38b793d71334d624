"""A reader of files that hold numbers under names."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pulsetrain.agents.collectors.numbers import to_floats
from pulsetrain.schemas.catalogue import metric_name

Split = Callable[[bytes], tuple[Sequence[bytes], list[bytes]]]
"""Names and numbers of a content, one name a number; raises ValueError where the content has no such form."""


@dataclass(frozen=True, slots=True)
class Field:
    """What a metric is made of: (sum of `plus` - sum of `minus`) * `scale`, of those numbers that the file has.

    With `per` it is divided by that number.
    """

    metric: str
    plus: tuple[bytes, ...]
    scale: float = 1.0
    minus: tuple[bytes, ...] = ()
    per: bytes | None = None


def split_flat(content: bytes) -> tuple[Sequence[bytes], list[bytes]]:
    """`pgfault 3365622`, one line a number: the form of /proc/vmstat, and of many files of control groups."""
    words = content.split()
    return words[::2], words[1::2]


class FieldReader:
    """Those of `fields` that the file has on this machine.

    Names stay where they are from reading to reading, so they are searched for only when they have changed; a content
    that is that of the reading before is not taken apart again.
    """

    def __init__(self, split: Split, fields: Sequence[Field]) -> None:
        self._split = split
        self._wanted = fields
        self._fields: list[Field] = []
        self._names: Sequence[bytes] = ()
        self._positions: list[int] = []
        self._formulas: list[_Formula] = []
        self._content: bytes | None = None
        self._values: list[float] = []

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Names in the catalogue of all that is wanted."""
        return tuple(dict.fromkeys(metric_name(field.metric) for field in self._wanted))

    def layout(self, content: bytes) -> tuple[str, ...]:
        """The metrics of which the file has a number."""
        self._names, _ = self._split(content)
        self._content = None
        self._fields = [field for field in self._wanted if any(name in self._names for name in field.plus)]
        self._locate()
        return tuple(field.metric for field in self._fields)

    def values(self, content: bytes) -> list[float]:
        """The numbers in the catalogue's units; NaN for one that the file no longer has."""
        if content != self._content:
            self._values = self._understood(content)
            self._content = content
        return self._values

    def _understood(self, content: bytes) -> list[float]:
        names, words = self._split(content)
        if len(names) != len(words):
            raise ValueError(f"{len(names)} names for {len(words)} numbers")
        if names != self._names:
            self._names = names
            self._locate()
        numbers = to_floats([words[position] for position in self._positions])
        return [formula(numbers) for formula in self._formulas]

    def _locate(self) -> None:
        """Find where the numbers stand that are needed, and in which order they are picked."""
        places = {name: position for position, name in enumerate(self._names)}
        needed = [name for field in self._fields for name in (*field.plus, *field.minus, *filter(None, [field.per]))]
        picked = {name: index for index, name in enumerate(dict.fromkeys(name for name in needed if name in places))}
        self._positions = [places[name] for name in picked]
        self._formulas = [_formula(field, picked) for field in self._fields]


_Formula = Callable[[Sequence[float]], float]


def _formula(field: Field, picked: Mapping[bytes, int]) -> _Formula:
    """How the field's value follows from the picked numbers."""
    plus = [picked[name] for name in field.plus if name in picked]
    minus = [picked[name] for name in field.minus if name in picked]
    scale = field.scale
    if not plus or (field.per is not None and field.per not in picked):
        return lambda _: math.nan
    if field.per is not None:
        per = picked[field.per]
        return lambda numbers: _ratio(_sum(numbers, plus) - _sum(numbers, minus), numbers[per]) * scale
    if len(plus) == 1 and not minus:
        only = plus[0]
        return lambda numbers: numbers[only] * scale
    return lambda numbers: (_sum(numbers, plus) - _sum(numbers, minus)) * scale


def _sum(numbers: Sequence[float], indices: Sequence[int]) -> float:
    return sum([numbers[index] for index in indices])


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
