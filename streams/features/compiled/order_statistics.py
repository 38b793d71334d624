"""Order statistics without a sort: samples are shared out to buckets, and only the buckets that matter are sorted.

A bucket is a range of values, all of one width. Its few samples are found in a time linear in their number, so that
some ranks of a series cost a fraction of sorting it, on any processor.
"""

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.compiled.jit import compiled, part

_Counts = npt.NDArray[np.int32]
_Indices = npt.NDArray[np.uint32]
"""Unsigned: none can count from the end, so that compiled code need not look."""

_CROWD = 64
"""More samples than that are not sorted by insertion."""


class Buckets(NamedTuple):
    """Which samples lie in which bucket, as chains from sample to sample."""

    below: _Counts
    """(series, buckets + 1), how many samples lie in lower buckets."""
    newest: _Indices
    """(series, buckets), index of a bucket's last sample; without meaning where it is empty."""
    older: _Indices
    """(series, samples), index of the sample of the same bucket that came before."""

    @classmethod
    def empty(cls, n_series: int, n_samples: int) -> "Buckets":
        """Make room for so many series; there will be two to four samples to a bucket."""
        n_buckets = 1 << max(3, (n_samples // 4).bit_length())
        return cls(
            np.empty((n_series, n_buckets + 1), np.int32),
            np.empty((n_series, n_buckets), np.uint32),
            np.empty((n_series, n_samples), np.uint32),
        )


_SERIES = (numba.float64[:, ::1], numba.float64[::1], numba.float64[::1])
_BUCKETS = (numba.int32[:, ::1], numba.uint32[:, ::1], numba.uint32[:, ::1])


@part()
def _find_buckets(samples: FloatArray, low: float, high: float, n_buckets: int, buckets: _Indices) -> None:
    """Number each sample's bucket; all get the first one if their width is no ordinary number."""
    buckets_per_unit = (n_buckets - 1) / (high - low)
    if 0 < buckets_per_unit < np.inf:
        for i in range(samples.size):
            buckets[i] = np.int32((samples[i] - low) * buckets_per_unit)
    else:
        buckets[:] = 0


@part()
def _chain(buckets: _Indices, below: _Counts, newest: _Indices, older: _Indices) -> int:
    """Fill in the chains of one series; gives the number of samples in the fullest bucket."""
    below[:] = 0
    for i in range(buckets.size):
        bucket = buckets[i]
        older[i] = newest[bucket]
        newest[bucket] = i
        below[bucket] += 1
    most = below[0]
    for b in range(below.size):
        most = max(most, below[b])
    total = 0
    for b in range(below.size):
        count = below[b]
        below[b] = total
        total += count
    return int(most)


@part()
def _has_one_value_a_bucket(samples: FloatArray, buckets: _Indices, newest: _Indices) -> bool:
    differing = 0
    for i in range(samples.size):
        differing += samples[i] != samples[newest[buckets[i]]]
    return differing == 0


@part()
def _bucket_of(rank: int, below: _Counts) -> int:
    """The bucket that holds a rank."""
    bucket = np.int32(-1)
    for b in range(below.size):
        bucket = np.int32(bucket + np.int32(below[b] <= rank))
    return int(bucket)


@part()
def _collect_sorted(samples: FloatArray, count: int, newest: int, older: _Indices, collected: FloatArray) -> None:
    """Copy the samples of a chain, each to its place by insertion."""
    i = newest
    for n in range(count):
        sample = samples[i]
        i = older[i]
        k = n
        while k > 0 and collected[k - 1] > sample:
            collected[k] = collected[k - 1]
            k -= 1
        collected[k] = sample


@compiled(numba.void(*_SERIES, *_BUCKETS, numba.boolean[::1]))
def share_out(
    values: FloatArray,
    minimum: FloatArray,
    maximum: FloatArray,
    below: _Counts,
    newest: _Indices,
    older: _Indices,
    is_crowded: npt.NDArray[np.bool_],
) -> None:
    """Fill in the buckets of values (series, samples) from their extremes (series,).

    A series is crowded if many different samples of it share a bucket, as beside a single one that is far off. A
    series without a minimum below its maximum is passed over and not crowded.
    """
    buckets = np.empty(values.shape[1], np.uint32)
    for s in range(values.shape[0]):
        is_crowded[s] = False
        if minimum[s] < maximum[s]:
            _find_buckets(values[s], minimum[s], maximum[s], newest.shape[1], buckets)
            if _chain(buckets, below[s], newest[s], older[s]) > _CROWD:
                is_crowded[s] = not _has_one_value_a_bucket(values[s], buckets, newest[s])


@compiled(numba.void(*_SERIES, *_BUCKETS, numba.int64, numba.float64[:, ::1]))
def neighbours(
    values: FloatArray,
    minimum: FloatArray,
    maximum: FloatArray,
    below: _Counts,
    newest: _Indices,
    older: _Indices,
    rank: int,
    found: FloatArray,
) -> None:
    """Find the samples at `rank`, counted from 0, and at the next one; the last sample is its own next.

    Takes what `share_out` took and filled in; fills in `found` (2, series). A series without a minimum below its
    maximum gets its minimum, a crowded one what is not to be used.
    """
    last = values.shape[1] - 1
    room = np.empty(_CROWD)
    for s in range(values.shape[0]):
        if not minimum[s] < maximum[s]:
            found[0, s] = found[1, s] = minimum[s]
            continue
        start = end = 0
        for k in range(2):
            wanted = min(rank + k, last)
            if wanted >= end:
                bucket = _bucket_of(wanted, below[s])
                start, end = below[s, bucket], below[s, bucket + 1]
                if end - start <= _CROWD:
                    _collect_sorted(values[s], end - start, newest[s, bucket], older[s], room)
            found[k, s] = room[wanted - start] if end - start <= _CROWD else values[s, newest[s, bucket]]
