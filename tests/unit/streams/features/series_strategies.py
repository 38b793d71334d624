"""Batches of series of the kinds that break careless numerics."""

import numpy as np
from hypothesis import strategies as st

from pulsetrain.schemas.arrays import FloatArray

_LENGTHS = st.one_of(st.integers(1, 10), st.integers(11, 64))
# Six decimals keep the fourth power of a deviation inside the range of a double.
_NUMBERS = st.floats(-1e9, 1e9).map(lambda number: round(number, 6))
_SEEDS = st.integers(0, 2**32 - 1)


def _constant(length: int) -> st.SearchStrategy[FloatArray]:
    return st.one_of(_NUMBERS, st.sampled_from([0.1, -1 / 3, 1e12 + 0.1])).map(lambda level: np.full(length, level))


def _ramp(length: int) -> st.SearchStrategy[FloatArray]:
    steps = st.floats(-1e3, 1e3).map(lambda step: round(step, 6))
    return st.builds(lambda start, step: start + step * np.arange(length), _NUMBERS, steps)


def _offset_noise(length: int) -> st.SearchStrategy[FloatArray]:
    def build(offset: float, spread: float, seed: int) -> FloatArray:
        return offset + spread * np.random.default_rng(seed).normal(size=length)

    offsets = st.sampled_from([0.0, 1e3, 1e9, -1e11, 1e12])
    return st.builds(build, offsets, st.sampled_from([1e-9, 1e-3, 1.0, 1e4]), _SEEDS)


def _integers(length: int) -> st.SearchStrategy[FloatArray]:
    numbers = st.one_of(st.integers(-3, 3), st.integers(0, 2**40))
    return st.lists(numbers, min_size=length, max_size=length).map(lambda values: np.array(values, np.float64))


def _anything(length: int) -> st.SearchStrategy[FloatArray]:
    return st.lists(_NUMBERS, min_size=length, max_size=length).map(lambda values: np.array(values, np.float64))


def _levels(length: int) -> st.SearchStrategy[FloatArray]:
    """Few different values: thresholds, edges of bins and extremes are hit exactly."""
    levels = st.lists(st.one_of(_NUMBERS, st.sampled_from([0.1, 0.7, 1 / 3])), min_size=2, max_size=4)
    return levels.flatmap(lambda few: st.lists(st.sampled_from(few), min_size=length, max_size=length)).map(np.array)


def _periodic(length: int) -> st.SearchStrategy[FloatArray]:
    """A pattern again and again: each sample is determined by those before it."""
    return st.lists(_NUMBERS, min_size=2, max_size=6).map(lambda pattern: np.resize(pattern, length))


def _series(length: int) -> st.SearchStrategy[FloatArray]:
    kinds = (_constant, _ramp, _offset_noise, _integers, _levels, _periodic, _anything)
    return st.one_of([kind(length) for kind in kinds])


def telling_windows(n_samples: int) -> dict[str, FloatArray]:
    """Windows such as telemetry has, by name, always the same: shape (samples,) each."""
    random = np.random.default_rng(6)
    noise = random.normal(size=n_samples)
    tick = np.arange(n_samples)
    return {
        "noise": noise,
        "walk": 50 + np.cumsum(noise),
        "bytes": (6e10 + 1e6 * np.cumsum(noise)).round(),
        "offset": 1e9 + noise,
        "far offset": 1e12 + noise,
        "small": 1e-9 * noise,
        "whole numbers": random.integers(0, 5, size=n_samples).astype(np.float64),
        "two levels": random.choice([0.1, 0.7], size=n_samples),
        "half and half": np.where(tick < n_samples // 2, 0.1, 0.7),
        "share": np.clip(random.normal(0.9, 0.1, size=n_samples), 0, 1),
        "cents": random.integers(0, 10_000, size=n_samples) / 100,
        "sine": np.sin(0.2 * tick),
        "ramp": 0.1 * tick,
        "spike": np.where(tick == n_samples // 2, 5.0, 1.0),
        "steps": np.floor(tick / 50),
        "constant": np.full(n_samples, 0.1),
        "zeros": np.zeros(n_samples),
    }


def batches(max_series: int = 4) -> st.SearchStrategy[FloatArray]:
    """Draw values of shape (series, samples): 1 to `max_series` finite series of one length from 1 to 64."""
    return _LENGTHS.flatmap(lambda length: st.lists(_series(length), min_size=1, max_size=max_series)).map(np.stack)
