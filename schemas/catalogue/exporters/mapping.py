"""How the name of another program's series is read as a name of the catalogue."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from pulsetrain.schemas.catalogue.metric import metric_id


@dataclass(frozen=True, slots=True)
class CanonicalName:
    """What a source's series is called here. A value of the source times `scale` is in the catalogue's unit.

    `attributes` are the same for all series of the name; `by_label` takes an attribute's value from a label
    (attribute to label), where `spelled` says which values are called otherwise here. `only` says of a label which
    values are meant, as a regular expression for the whole value. Where `is_sum`, series that differ in other labels
    are parts of one sum.
    """

    name: str
    scale: float = 1.0
    attributes: Mapping[str, str] = field(default_factory=dict)
    by_label: Mapping[str, str] = field(default_factory=dict)
    spelled: Mapping[str, str] = field(default_factory=dict)
    only: Mapping[str, str] = field(default_factory=dict)
    is_sum: bool = False

    @property
    def metric(self) -> str:
        """The metric id, without the attributes that come from labels."""
        return metric_id(self.name, **self.attributes)

    def means(self, labels: Mapping[str, str]) -> bool:
        """Whether a series with these labels is one of those that are meant."""
        return all(label in labels for label in self.by_label.values()) and all(
            _compiled(pattern).fullmatch(labels.get(label, "")) for label, pattern in self.only.items()
        )

    def metric_of(self, labels: Mapping[str, str]) -> str:
        """The metric id of one of the series that are meant."""
        if not self.by_label:
            return self.metric
        values = {attribute: labels[label] for attribute, label in self.by_label.items()}
        spelled = {attribute: self.spelled.get(value, value) for attribute, value in values.items()}
        return metric_id(self.name, **self.attributes, **spelled)


Names = Mapping[str, tuple[CanonicalName, ...]]
"""By a source's name what it may be called here; the first that means a series gives its name."""


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
