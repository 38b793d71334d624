"""Which features are computed, in which order."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from pulsetrain.streams.features.calculators import find_calculator
from pulsetrain.streams.features.calculators.calculator import Calculator
from pulsetrain.streams.features.errors import FeatureError
from pulsetrain.streams.features.fallback import tsfresh_step
from pulsetrain.streams.features.kernels import KERNELS, Kernel
from pulsetrain.streams.features.named_sets import named_parameters
from pulsetrain.streams.features.names import feature_suffix
from pulsetrain.streams.features.plan import Step, merged

ParameterSet = Mapping[str, object]
FcParameters = Mapping[str, Sequence[ParameterSet] | None]
"""tsfresh's ``fc_parameters``: a calculator's name to its sets of parameters, None where it takes none."""

MAX_FEATURES: Final = 2_000
"""More than twice what tsfresh's ComprehensiveFCParameters has."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSet:
    """An ordered set of features, the same for every series; equal only to itself."""

    suffixes: tuple[str, ...]
    """tsfresh's column names without the kind, in the order of `extract`'s columns."""
    plan: tuple[Step, ...]
    """How they are computed, in the same order."""

    @classmethod
    def from_fc_parameters(cls, fc_parameters: FcParameters | str) -> "FeatureSet":
        """Resolve a tsfresh ``fc_parameters`` dict, or the name of one that tsfresh brings; columns keep its order.

        Kernels serve what they cover, tsfresh's own calculators the rest. Calculators that need the samples'
        times are left out with a warning in the log, as tsfresh does. Functions as keys are not taken: a
        feature set comes from a configuration file and its names travel with the model.

        Raises FeatureError for an unknown calculator, parameters it refuses, a feature named twice, none, or more
        than `MAX_FEATURES`.
        """
        if isinstance(fc_parameters, str):
            fc_parameters = named_parameters(fc_parameters)
        if not isinstance(fc_parameters, Mapping):
            raise FeatureError(f"a feature set is a mapping of calculators to parameters, not {fc_parameters!r}")
        parameter_sets = {name: _parameter_sets(name, parameters) for name, parameters in fc_parameters.items()}
        if (count := sum(map(len, parameter_sets.values()))) > MAX_FEATURES:
            raise FeatureError(f"the feature set names {count} features; at most {MAX_FEATURES} are computed")
        plan = tuple(merged(step for calculator, sets in parameter_sets.items() for step in _steps(calculator, sets)))
        suffixes = tuple(suffix for step in plan for suffix in step.suffixes)
        if not suffixes:
            raise FeatureError("the feature set names no feature; give at least one calculator")
        if repeated := [suffix for suffix, count in Counter(suffixes).items() if count > 1]:
            raise FeatureError(f"the feature set names {', '.join(repeated)} more than once; remove the repetition")
        return cls(suffixes, plan)


def _parameter_sets(calculator: object, parameters: object) -> list[ParameterSet]:
    """Check the shape of one entry and copy it; a calculator without parameters gets one empty set."""
    if not isinstance(calculator, str):
        raise FeatureError(f"a feature calculator is given by its name in tsfresh, not by {calculator!r}")
    if parameters is None:
        return [{}]
    if not isinstance(parameters, Sequence) or not all(isinstance(entry, Mapping) for entry in parameters):
        raise FeatureError(f"{calculator}: parameters are a list of mappings or None, not {parameters!r}")
    return deepcopy(list(parameters)) or [{}]


def _steps(name: str, parameter_sets: Sequence[ParameterSet]) -> Iterable[Step]:
    """One step a feature with a kernel; neighbours served otherwise share a step."""
    for server, group in groupby(parameter_sets, lambda parameters: _server(name, parameters)):
        if isinstance(server, Kernel):
            for parameters in group:
                yield server.step(feature_suffix(name, parameters), parameters)
        elif server:
            served = list(group)
            yield Step(tuple(server.suffix(name, parameters) for parameters in served), server.prepare(served))
        elif step := tsfresh_step(name, list(group)):
            yield step


def _server(name: str, parameters: ParameterSet) -> Kernel | Calculator | None:
    """Find what computes a calculator for these parameters, None if tsfresh is to."""
    kernel = KERNELS.get(name)
    if kernel and kernel.covers(parameters):
        return kernel
    if kernel and not kernel.is_partial:
        raise FeatureError(f"{name} takes {kernel.usage}, not {dict(parameters)}; correct the feature set")
    calculator = find_calculator(name)
    return calculator if calculator and calculator.covers(parameters) else None


DEFAULT_FC_PARAMETERS: Final[FcParameters] = {
    "mean": None,
    "variance": None,
    "standard_deviation": None,
    "autocorrelation": [{"lag": 1}, {"lag": 5}],
    "c3": [{"lag": 3}],
    "minimum": None,
    "maximum": None,
    "median": None,
    "quantile": [{"q": 0.1}, {"q": 0.9}],
    "linear_trend": [{"attr": "slope"}],
    "mean_abs_change": None,
    "cid_ce": [{"normalize": False}, {"normalize": True}],
    "abs_energy": None,
    "skewness": None,
    "kurtosis": None,
}
"""Level, spread, shape, memory and movement of a metric in 18 features, all with a kernel."""

DEFAULT_FEATURE_SET: Final = FeatureSet.from_fc_parameters(DEFAULT_FC_PARAMETERS)
