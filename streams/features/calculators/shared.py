"""Intermediate results that calculators share beyond those of the batch itself."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch

_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")


def shared(
    compute: Callable[Concatenate[Batch, _Arguments], _Result],
) -> Callable[Concatenate[Batch, _Arguments], _Result]:
    """Compute a function of a batch once for the same arguments, and keep its result as long as the batch."""
    results: WeakKeyDictionary[Batch, dict[object, _Result]] = WeakKeyDictionary()

    def cached(batch: Batch, /, *arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        of_batch = results.setdefault(batch, {})
        key = (arguments, *sorted(named.items()))
        if key not in of_batch:
            of_batch[key] = compute(batch, *arguments, **named)
        return of_batch[key]

    return cached


@shared
def numpy_variance(batch: Batch) -> FloatArray:
    """(series,), numpy's pairwise variance bit for bit.

    What is compared with a multiple of the deviation may be equal to it, as in a series of two levels: there the
    last bit decides.
    """
    squares = np.multiply(batch.centred, batch.centred, out=batch.temporary)
    variances: FloatArray = squares.sum(axis=-1) / batch.n_samples
    return variances


@shared
def numpy_deviation(batch: Batch) -> FloatArray:
    """(series,), numpy's standard deviation bit for bit."""
    deviations: FloatArray = np.sqrt(numpy_variance(batch))
    return deviations


@shared
def magnitudes(batch: Batch) -> FloatArray:
    """(series, samples), absolute values."""
    return np.abs(batch.values)


@shared
def value_range(batch: Batch) -> FloatArray:
    """(series,), largest less smallest sample."""
    return batch.sorted[:, -1] - batch.sorted[:, 0]
