"""Order statistics without a sort of all samples: they are counted in buckets, and those of a few buckets are sorted.

A bucket is a range of values, all of one width. Counting takes two fast passes, so that some ranks of a series cost a
fraction of sorting it, on any processor.
"""

import numba
import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.features.compiled.jit import compiled, part

_Indices = npt.NDArray[np.uint32]
"""Unsigned: none can count from the end, so that compiled code need not look."""

_Counts = npt.NDArray[np.int32]
_Flags = npt.NDArray[np.uint8]

_MANY = 32
"""More samples than that are sorted only if they are not the same few numbers."""
_CROWD = 128
"""More samples than that are not sorted here."""


def sorting_network(size: int) -> list[tuple[int, int]]:
    """Batcher's odd-even merge sort of so many numbers, a power of 2: pairs of positions to bring into order.

    It compares the same pairs whatever the numbers are, so that a processor need not foresee the outcome: with data
    that it has not seen before, sorting by insertion costs twice as much. Batcher, "Sorting networks and their
    applications", 1968.
    """
    runs = [2**power for power in range(size.bit_length() - 1)]
    return [
        (i, i + distance)
        for run in runs
        for distance in reversed([shorter for shorter in runs if shorter <= run])
        for start in range(distance % run, size - distance, 2 * distance)
        for i in range(start, start + distance)
        if i // (2 * run) == (i + distance) // (2 * run)
    ]


_SIZES = (8, 16, 32, 64, _CROWD)
_NETWORKS = np.array([pair for size in _SIZES for pair in sorting_network(size)], np.uint8)
_NETWORK_ENDS = np.cumsum([0, *(len(sorting_network(size)) for size in _SIZES)])


@part()
def _number_buckets(samples: FloatArray, low: float, high: float, n_buckets: int, buckets: _Indices) -> None:
    """Give each sample the number of its bucket; all get the first one if their width is no ordinary number."""
    buckets_per_unit = (n_buckets - 1) / (high - low)
    if 0 < buckets_per_unit < np.inf:
        for i in range(samples.size):
            buckets[i] = np.int32((samples[i] - low) * buckets_per_unit)
    else:
        buckets[:] = 0


@part()
def _count(buckets: _Indices, counts: _Counts) -> None:
    """Count the samples of each bucket."""
    counts[:] = 0
    for i in range(buckets.size):
        counts[buckets[i]] += 1


@part()
def _choose(ranks: IntArray, counts: _Counts, is_chosen: _Flags, chosen: IntArray, places: IntArray) -> int:
    """Choose the buckets that hold the ranks; gives the number of samples in them.

    Fills in which buckets are chosen (buckets,), 1 or 0, and for each rank its bucket and its place among the sorted
    samples of the chosen buckets.
    """
    is_chosen[:] = 0
    n_below = n_chosen = k = 0
    rank = ranks[0]
    for bucket in range(counts.size):
        n_below += counts[bucket]
        if rank < n_below:
            is_chosen[bucket] = 1
            n_chosen += counts[bucket]
            while rank < n_below:
                chosen[k] = bucket
                places[k] = n_chosen - (n_below - rank)
                k += 1
                if k == ranks.size:
                    return int(n_chosen)
                rank = ranks[k]
    return int(n_chosen)


@part()
def _take_equal(samples: FloatArray, buckets: _Indices, is_chosen: _Flags, sample_of: FloatArray) -> bool:
    """Take a sample of each bucket, and say whether it is the only number in each chosen one."""
    for i in range(samples.size):
        sample_of[buckets[i]] = samples[i]
    n_others = 0
    for i in range(samples.size):
        n_others += is_chosen[buckets[i]] * (samples[i] != sample_of[buckets[i]])
    return n_others == 0


@part()
def _collect(samples: FloatArray, buckets: _Indices, is_chosen: _Flags, collected: FloatArray) -> None:
    """Copy the samples of the chosen buckets to a place that has room for one more."""
    n_collected = 0
    for i in range(samples.size):
        collected[n_collected] = samples[i]
        n_collected += is_chosen[buckets[i]]


@part()
def _sort(samples: FloatArray, n_samples: int) -> None:
    """Sort the first samples, by the smallest network that takes as many; the others are overwritten."""
    network = 0
    while _SIZES[network] < n_samples:
        network += 1
    samples[n_samples : _SIZES[network]] = np.inf
    for pair in range(_NETWORK_ENDS[network], _NETWORK_ENDS[network + 1]):
        upper, lower = _NETWORKS[pair, 0], _NETWORKS[pair, 1]
        a, b = samples[upper], samples[lower]
        samples[upper] = a if a < b else b
        samples[lower] = b if a < b else a


@compiled(
    numba.int64(
        numba.float64[:, ::1],
        numba.float64[::1],
        numba.float64[::1],
        numba.int64[::1],
        numba.float64[:, ::1],
        numba.boolean[::1],
    )
)
def order_statistics(
    values: FloatArray,
    minimum: FloatArray,
    maximum: FloatArray,
    ranks: IntArray,
    found: FloatArray,
    is_crowded: npt.NDArray[np.bool_],
) -> int:
    """Find the samples at some ranks in each series; gives the number of crowded series, where they are not found.

    A series is crowded if too many different samples share the buckets of the ranks, as beside one that is far off.

    Args:
        values: (series, samples).
        minimum: (series,), like `maximum`; a series without a minimum below its maximum gets its minimum.
        ranks: counted from 0, ascending.
        found: filled in, (ranks, series).
        is_crowded: filled in, (series,).
    """
    n_samples = values.shape[1]
    n_buckets = 8
    while 4 * n_buckets < n_samples + n_samples // 2:
        n_buckets *= 2
    buckets = np.empty(n_samples, np.uint32)
    counts, is_chosen = np.empty(n_buckets, np.int32), np.empty(n_buckets, np.uint8)
    chosen, places = np.empty(ranks.size, np.int64), np.empty(ranks.size, np.int64)
    sample_of, collected = np.empty(n_buckets), np.empty(_CROWD + 1)
    n_crowded = 0
    for s in range(values.shape[0]):
        is_crowded[s] = False
        if not minimum[s] < maximum[s]:
            found[:, s] = minimum[s]
            continue
        _number_buckets(values[s], minimum[s], maximum[s], n_buckets, buckets)
        _count(buckets, counts)
        n_chosen = _choose(ranks, counts, is_chosen, chosen, places)
        if n_chosen > _MANY and _take_equal(values[s], buckets, is_chosen, sample_of):
            for k in range(ranks.size):
                found[k, s] = sample_of[chosen[k]]
        elif n_chosen <= _CROWD:
            _collect(values[s], buckets, is_chosen, collected)
            _sort(collected, n_chosen)
            for k in range(ranks.size):
                found[k, s] = collected[places[k]]
        else:
            is_crowded[s] = True
            n_crowded += 1
    return n_crowded
