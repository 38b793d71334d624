"""Bounds of what names an entity: small enough that an anomaly made of the largest names is still a valid one."""

from collections.abc import Iterable, Mapping

MAX_NAME_CHARACTERS = 512
MAX_ENTITY_CHARACTERS = 460
"""An anomaly's id, of at most 512 characters, is the entity followed by a time and a stage."""

MAX_LABELS = 64
MAX_LABEL_CHARACTERS = 256
"""Of a label's key and of its value: all labels fit an anomaly even where JSON escapes every character."""


def name_problem(field: str, text: str, longest: int = MAX_NAME_CHARACTERS) -> str | None:
    """What is wrong with a field that names something, as a sentence."""
    return None if 0 < len(text) <= longest else f"field {field} must have 1 to {longest} characters"


def label_problem(labels: Mapping[str, str]) -> str | None:
    """What is wrong with the labels, as a sentence."""
    if len(labels) > MAX_LABELS:
        return f"{len(labels)} labels; at most {MAX_LABELS} are allowed"
    for key, value in labels.items():
        if max(len(key), len(value)) > MAX_LABEL_CHARACTERS:
            return f"label {key[:MAX_LABEL_CHARACTERS]!r} has more than {MAX_LABEL_CHARACTERS} characters"
    return None


def names_fit(names: Iterable[str]) -> bool:
    """Whether all names of metrics or features have 1 to `MAX_NAME_CHARACTERS` characters."""
    return all(0 < len(name) <= MAX_NAME_CHARACTERS for name in names)
