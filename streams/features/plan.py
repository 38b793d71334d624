"""The unit of a feature set's plan."""

from collections.abc import Callable
from dataclasses import dataclass

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch


@dataclass(frozen=True, slots=True)
class Step:
    """Columns that are computed together."""

    suffixes: tuple[str, ...]
    compute: Callable[[Batch], FloatArray]
    """Gives the columns of a batch, shape (series, suffixes)."""
