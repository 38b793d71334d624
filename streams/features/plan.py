"""The unit of a feature set's plan."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.compiled.summary import Summary


@dataclass(frozen=True, slots=True)
class Step:
    """Columns that are computed together."""

    suffixes: tuple[str, ...]
    compute: Callable[[Batch], FloatArray]
    """Gives the columns of a batch, shape (series, suffixes)."""
    summary_fields: tuple[str, ...] = ()
    """What of the batch's summary the columns are, if that is all they are."""


def summary_step(suffixes: tuple[str, ...], fields: tuple[str, ...]) -> Step:
    """A step whose columns are fields of the batch's summary."""
    rows = [Summary._fields.index(field) for field in fields]

    def compute(batch: Batch) -> FloatArray:
        return batch.summary_rows.take(rows, axis=0).T

    return Step(suffixes, compute, fields)


def merged(steps: Iterable[Step]) -> Iterable[Step]:
    """The same columns, with one step for neighbours that are fields of the summary."""
    for is_summary, group in groupby(steps, lambda step: bool(step.summary_fields)):
        if is_summary:
            neighbours = list(group)
            yield summary_step(
                tuple(suffix for step in neighbours for suffix in step.suffixes),
                tuple(field for step in neighbours for field in step.summary_fields),
            )
        else:
            yield from group
