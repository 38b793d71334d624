"""Order statistics without a sort of all samples: they are shared out to buckets, and those of a few are sorted.

A bucket is a range of values, all of one width, and its number is one byte: 64 are compared at once. Some ranks of a
series then cost a fraction of sorting it. Little is decided sample by sample, for a branch that the processor cannot
foresee takes the time of ten samples.
"""

import numba
import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.features.compiled.jit import compiled, part
from pulsetrain.streams.features.compiled.masks import (
    BYTES,
    DOUBLES,
    count_bits,
    lowest_bit,
    where_below,
    where_equal,
    where_up_to,
)

_Bytes = npt.NDArray[np.uint8]
_Counts = npt.NDArray[np.int32]

_NO_BUCKET = 255
"""The buckets have the numbers below; bytes after the last sample's have this one."""
_MOST_BUCKETS = 128
_MANY = 32
"""More samples than that are sorted only if they are not the same few numbers."""
_CROWD = 128
"""More samples than that are not sorted here."""
_TURNS = 4


@part()
def _number_buckets(samples: FloatArray, low: float, high: float, n_buckets: int, buckets: _Bytes) -> None:
    """Give each sample the number of its bucket; all get the first one if their width is no ordinary number."""
    buckets_per_unit = (n_buckets - 1) / (high - low)
    if 0 < buckets_per_unit < np.inf:
        for i in range(samples.size):
            buckets[i] = np.int32((samples[i] - low) * buckets_per_unit)
    else:
        buckets[: samples.size] = 0


@part()
def _count(buckets: _Bytes, in_turns: _Counts, counts: _Counts) -> None:
    """Count the samples of each bucket.

    Neighbouring samples often lie in one bucket, and an addition waits for the previous one to the same number: four
    counts of each bucket take turns.
    """
    in_turns[:] = 0
    first, second, third, fourth = in_turns[0], in_turns[1], in_turns[2], in_turns[3]
    n_whole = buckets.size - buckets.size % _TURNS
    for i in range(0, n_whole, _TURNS):
        first[buckets[i]] += 1
        second[buckets[i + 1]] += 1
        third[buckets[i + 2]] += 1
        fourth[buckets[i + 3]] += 1
    for i in range(n_whole, buckets.size):
        first[buckets[i]] += 1
    for bucket in range(counts.size):
        counts[bucket] = first[bucket] + second[bucket] + third[bucket] + fourth[bucket]


@part()
def _choose(ranks: IntArray, counts: _Counts, chosen: IntArray, places: IntArray) -> int:
    """Choose the buckets that hold the ranks; gives the number of samples in them.

    Fills in for each rank its bucket and its place among the sorted samples of the chosen buckets.
    """
    n_below = n_chosen = k = 0
    rank = ranks[0]
    for bucket in range(counts.size):
        n_below += counts[bucket]
        if rank < n_below:
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
def _where_chosen(buckets: _Bytes, start: int, chosen: IntArray) -> np.uint64:
    """Which of the 64 samples from a start on lie in a chosen bucket."""
    mask = np.uint64(0)
    for k in range(chosen.size):
        mask |= where_equal(buckets, start, chosen[k])
    return mask


@part()
def _collect(samples: FloatArray, buckets: _Bytes, chosen: IntArray, collected: FloatArray) -> None:
    """Copy the samples of the chosen buckets."""
    n_collected = 0
    for start in range(0, buckets.size, BYTES):
        mask = _where_chosen(buckets, start, chosen)
        while mask:
            collected[n_collected] = samples[start + lowest_bit(mask)]
            n_collected += 1
            mask &= mask - np.uint64(1)


@part()
def _take_equal(samples: FloatArray, buckets: _Bytes, chosen: IntArray, sample_of: FloatArray) -> bool:
    """Take a sample of each chosen bucket, and say whether it is the only number there."""
    for i in range(samples.size):
        sample_of[buckets[i]] = samples[i]
    for start in range(0, buckets.size, BYTES):
        mask = _where_chosen(buckets, start, chosen)
        while mask:
            i = start + lowest_bit(mask)
            if samples[i] != sample_of[buckets[i]]:
                return False
            mask &= mask - np.uint64(1)
    return True


@part()
def _sort(samples: FloatArray, n_samples: int, ordered: FloatArray) -> None:
    """Put each of the first samples where it belongs: after as many as are smaller.

    There must be room for 16 more samples, which are overwritten.
    """
    samples[n_samples : n_samples + DOUBLES] = np.inf
    for i in range(n_samples):
        n_below = n_up_to = 0
        for start in range(0, n_samples, DOUBLES):
            n_below += count_bits(where_below(samples, start, samples[i]))
            n_up_to += count_bits(where_up_to(samples, start, samples[i]))
        for place in range(n_below, n_up_to):
            ordered[place] = samples[i]


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
    while n_buckets < _MOST_BUCKETS and 4 * n_buckets < n_samples + n_samples // 2:
        n_buckets *= 2
    in_turns, counts = np.empty((_TURNS, n_buckets), np.int32), np.empty(n_buckets, np.int32)
    buckets = np.full((n_samples + BYTES - 1) // BYTES * BYTES, _NO_BUCKET, np.uint8)
    chosen, places = np.empty(ranks.size, np.int64), np.empty(ranks.size, np.int64)
    sample_of = np.empty(n_buckets)
    collected, ordered = np.empty(_CROWD + DOUBLES), np.empty(_CROWD)
    n_crowded = 0
    for s in range(values.shape[0]):
        is_crowded[s] = False
        if not minimum[s] < maximum[s]:
            found[:, s] = minimum[s]
            continue
        _number_buckets(values[s], minimum[s], maximum[s], n_buckets, buckets)
        _count(buckets[:n_samples], in_turns, counts)
        n_chosen = _choose(ranks, counts, chosen, places)
        if n_chosen > _MANY and _take_equal(values[s], buckets, chosen, sample_of):
            for k in range(ranks.size):
                found[k, s] = sample_of[chosen[k]]
        elif n_chosen <= _CROWD:
            _collect(values[s], buckets, chosen, collected)
            _sort(collected, n_chosen, ordered)
            for k in range(ranks.size):
                found[k, s] = ordered[places[k]]
        else:
            is_crowded[s] = True
            n_crowded += 1
    return n_crowded
