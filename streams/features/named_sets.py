"""tsfresh's own feature sets, by the names of their classes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pulsetrain.streams.features.errors import FeatureError

SET_NAMES: Final = ("MinimalFCParameters", "EfficientFCParameters", "ComprehensiveFCParameters")


def named_parameters(name: str) -> Mapping[str, Sequence[Mapping[str, Any]] | None]:
    """The ``fc_parameters`` of one of `SET_NAMES`, as the installed tsfresh has them.

    tsfresh is imported at the first call: that takes seconds. Raises FeatureError for any other name.
    """
    if name not in SET_NAMES:
        raise FeatureError(f"tsfresh has no feature set {name!r}; choose {', '.join(SET_NAMES)}, or give a table")
    from tsfresh.feature_extraction import settings

    parameters: Mapping[str, Sequence[Mapping[str, Any]] | None] = dict(getattr(settings, name)())
    return parameters
