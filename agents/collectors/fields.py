"""A reader of files that hold numbers under names."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul

from pulsetrain.agents.collectors.numbers import Pick, picker, to_floats
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
        # What is picked out of the file: a number for each field, which its scale makes a value; behind them the parts
        # of sums, from which the values of some fields are made instead.
        self._pick: Pick = picker(())
        self._scales: list[float] = []
        self._sums: list[tuple[int, _Formula]] = []
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

    def values(self, contents: Sequence[bytes]) -> list[list[float]]:
        """The numbers in the catalogue's units; NaN for one that the file no longer has."""
        return [self._of(content) for content in contents]

    def _of(self, content: bytes) -> list[float]:
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
        numbers = to_floats(self._pick(words))
        values = list(map(mul, numbers, self._scales)) if numbers else [math.nan] * len(self._fields)
        for index, formula in self._sums:
            values[index] = formula(numbers)
        return values

    def _locate(self) -> None:
        """Find where the numbers stand that are needed, and settle what follows from them."""
        places = {name: position for position, name in enumerate(self._names)}
        needed = [name for field in self._fields for name in (*field.plus, *field.minus, *filter(None, [field.per]))]
        parts = [name for name in dict.fromkeys(needed) if name in places]
        picked = {name: index for index, name in enumerate(parts, len(self._fields))}
        positions, self._scales, self._sums = [], [], []
        for index, field in enumerate(self._fields):
            plus = [name for name in field.plus if name in places]
            has_values = bool(plus) and (field.per is None or field.per in places)
            if has_values and (len(plus) > 1 or field.minus or field.per is not None):
                self._sums.append((index, _formula(field, picked)))
            # Where a value is missing, any number becomes NaN.
            positions += [places[name] for name in (plus or parts)[:1]]
            self._scales.append(field.scale if has_values else math.nan)
        if self._sums:
            positions += [places[name] for name in parts]
        self._pick = picker(positions)


_Formula = Callable[[Sequence[float]], float]


def _formula(field: Field, picked: Mapping[bytes, int]) -> _Formula:
    """How the value of a field that is a sum or a ratio follows from the picked numbers."""
    plus = [picked[name] for name in field.plus if name in picked]
    minus = [picked[name] for name in field.minus if name in picked]
    scale = field.scale
    if field.per is not None:
        per = picked[field.per]
        return lambda numbers: _ratio(_sum(numbers, plus) - _sum(numbers, minus), numbers[per]) * scale
    return lambda numbers: (_sum(numbers, plus) - _sum(numbers, minus)) * scale


def _sum(numbers: Sequence[float], indices: Sequence[int]) -> float:
    return sum([numbers[index] for index in indices])


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
