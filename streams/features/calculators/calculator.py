"""What a calculator is: all parameter sets of one of tsfresh's calculators, for all series of a batch."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.kernels import KERNELS, Domain
from pulsetrain.streams.features.names import feature_suffix

ParameterSet = Mapping[str, Any]
Columns = Callable[[Batch], FloatArray]
"""Gives one column a parameter set, shape (series, parameter sets)."""


@dataclass(frozen=True, slots=True)
class Calculator:
    """One of tsfresh's calculators, batched; what it does not cover is left to tsfresh itself."""

    prepare: Callable[[Sequence[ParameterSet]], Columns]
    """Does once what depends on the parameters alone."""
    parameters: Mapping[str, Domain] = field(default_factory=dict)
    named: Callable[[ParameterSet], ParameterSet] = dict
    """The parameters as tsfresh writes them into the column's name."""
    asks_tsfresh: bool = False
    """Whether tsfresh serves series for which rounding decides."""

    def covers(self, parameters: ParameterSet) -> bool:
        """Whether it computes the features of exactly these parameters."""
        return parameters.keys() == self.parameters.keys() and all(
            domain.contains(parameters[name]) for name, domain in self.parameters.items()
        )

    def suffix(self, name: str, parameters: ParameterSet) -> str:
        """The column's name without the kind."""
        return feature_suffix(name, self.named(parameters))


def single(compute: Callable[[Batch], Any]) -> Calculator:
    """Make a calculator of a function without parameters that gives one number or truth value a series."""
    return Calculator(lambda _: lambda batch: np.asarray(compute(batch), dtype=np.float64)[:, np.newaxis])


def each(compute: Callable[..., Any], **domains: Domain) -> Calculator:
    """Make a calculator of a function that is called once a parameter set and gives one number a series."""

    def prepare(parameter_sets: Sequence[ParameterSet]) -> Columns:
        def columns(batch: Batch) -> FloatArray:
            return np.stack([compute(batch, **parameters) for parameters in parameter_sets], axis=1, dtype=np.float64)

        return columns

    return Calculator(prepare, domains)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def integers(lowest: int, highest: int) -> Domain:
    """The integers from `lowest` to `highest`."""

    def contains(value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= highest

    return Domain(f"an integer from {lowest} to {highest}", contains)


def one_of(*names: str) -> Domain:
    """One of some words."""
    return Domain(", ".join(f'"{name}"' for name in names), lambda value: isinstance(value, str) and value in names)


NUMBER = Domain("a finite number", _is_number)
SHARE = KERNELS["quantile"].parameters["q"]
FLAG = Domain("true or false", lambda value: isinstance(value, bool))
