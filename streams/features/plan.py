"""The unit of a feature set's plan."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.compiled.summary import Summary
from pulsetrain.streams.features.quantiles import quantiles


@dataclass(frozen=True, slots=True)
class Step:
    """Columns that are computed together."""

    suffixes: tuple[str, ...]
    compute: Callable[[Batch], FloatArray]
    """Gives the columns of a batch, shape (series, suffixes)."""
    summary_fields: tuple[str, ...] = ()
    """What of the batch's summary the columns are, if that is all they are."""
    quantiles: tuple[float, ...] = ()
    """Which quantiles the columns are, if that is all they are."""


def summary_step(suffixes: tuple[str, ...], fields: tuple[str, ...]) -> Step:
    """A step whose columns are fields of the batch's summary."""
    rows = [Summary._fields.index(field) for field in fields]
    first, last = rows[0], rows[-1]
    if rows == list(range(first, last + 1)):
        return Step(suffixes, lambda batch: batch.summary_rows[first : last + 1].T, fields)
    return Step(suffixes, lambda batch: batch.summary_rows.take(rows, axis=0).T, fields)


def quantile_step(suffixes: tuple[str, ...], wanted: tuple[float, ...]) -> Step:
    """A step whose columns are quantiles."""
    return Step(suffixes, lambda batch: quantiles(batch, wanted).T, quantiles=wanted)


def merged(steps: Iterable[Step]) -> Iterable[Step]:
    """The same columns, with one step for neighbours that are fields of the summary, or quantiles."""
    for kind, group in groupby(steps, _kind):
        neighbours = list(group)
        suffixes = tuple(suffix for step in neighbours for suffix in step.suffixes)
        if kind == "summary":
            yield summary_step(suffixes, tuple(field for step in neighbours for field in step.summary_fields))
        elif kind == "quantiles":
            yield quantile_step(suffixes, tuple(q for step in neighbours for q in step.quantiles))
        else:
            yield from neighbours


def _kind(step: Step) -> str:
    return "summary" if step.summary_fields else "quantiles" if step.quantiles else "other"
