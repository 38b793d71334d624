"""Features' names as tsfresh writes them: ``<calculator>`` or ``<calculator>__<parameters>``."""

from collections.abc import Mapping

SEPARATOR = "__"


def feature_suffix(calculator: str, parameters: Mapping[str, object]) -> str:
    """Name the feature that a calculator gives with one set of parameters: a column's name without the kind.

    Parameters are sorted by name, each with its value, text in double quotes.
    """
    written = (
        f'{name}_"{value}"' if isinstance(value, str) else f"{name}_{value}"
        for name, value in sorted(parameters.items())
    )
    return SEPARATOR.join((calculator, *written))
