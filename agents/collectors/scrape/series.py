"""What a scraped series is here: whose, under which name, in which unit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pulsetrain.agents.collectors.scrape.entities import described_by
from pulsetrain.schemas.catalogue import metric_id
from pulsetrain.schemas.catalogue.exporters import SOURCE_NAMES, canonical_name
from pulsetrain.schemas.identity import MAX_NAME_CHARACTERS

LAST_XID = "DCGM_FI_DEV_XID_ERRORS"

# Read by DCGM's library, which sends numbers of its own in place of a value.
_FROM_DCGM = ("DCGM_", "nv_gpu_", "nv_energy_")

_TOTAL = "_total"
_OF_HISTOGRAMS = ("_sum", "_count")
_SUFFIXES = (_TOTAL, *_OF_HISTOGRAMS, "_bucket", "_created")
_MAX_LABEL_SETS = 20_000


@dataclass(frozen=True, slots=True)
class Series:
    """A wanted series. A value of the exporter times `scale` is in the catalogue's unit.

    `metric` is None for the code of the last Xid, which is no quantity. Where `is_sum`, several series are parts of one
    metric. `has_sentinels` says whether some numbers stand for "no value".
    """

    entity: str
    metric: str | None
    scale: float = 1.0
    labels: Mapping[str, str] = field(default_factory=dict)
    is_sum: bool = False
    has_sentinels: bool = False


class Resolver:
    """Knows which series of a target are wanted, and what they are.

    Args:
        target: the target's name.
        kept: names of the exporter that are wanted although the catalogue has no name for them: of a series, or of a
            family.
    """

    def __init__(self, target: str, kept: Sequence[str]) -> None:
        self._target = target
        self._kept = frozenset(kept)
        self._label_sets: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}

    def is_wanted(self, name: str) -> bool:
        """Whether series of this name may be wanted."""
        return _source_name(name) is not None or name == LAST_XID or (bool(self._kept) and self._is_kept(name))

    def needs_type(self, family: str) -> bool:
        """Whether what a series of this family is depends on its type: not where the catalogue knows it."""
        return bool(self._kept) and any(f"{family}{suffix}" in self._kept for suffix in ("", *_SUFFIXES))

    def resolve(self, name: str, labels: Mapping[str, str], kind: str) -> Series | None:
        """What a series is; None where it is not wanted, or says not whose it is.

        Args:
            name: the exporter's name.
            labels: the exporter's labels.
            kind: the exposition's type of the family; empty where it has none.
        """
        described = described_by(name, labels, self._target)
        if described is None:
            return None
        ours = self._shared(described.labels)
        from_dcgm = name.startswith(_FROM_DCGM)
        if name == LAST_XID:
            return Series(described.entity, None, labels=ours, has_sentinels=True)
        source_name = _source_name(name)
        if source_name is None:
            metric = _kept_metric(name, described.others, kind)
            return None if metric is None else Series(described.entity, metric, 1.0, ours, False, from_dcgm)
        canonical = canonical_name(source_name, labels)
        if canonical is None:
            return None
        metric = canonical.metric_of(labels)
        if len(metric) > MAX_NAME_CHARACTERS:
            return None
        return Series(described.entity, metric, canonical.scale, ours, canonical.is_sum, from_dcgm)

    def _is_kept(self, name: str) -> bool:
        return name in self._kept or any(
            name.removesuffix(suffix) in self._kept for suffix in _SUFFIXES if name.endswith(suffix)
        )

    def _shared(self, labels: Mapping[str, str]) -> Mapping[str, str]:
        """Equal label sets as one object: an entity has dozens of series."""
        if len(self._label_sets) >= _MAX_LABEL_SETS:
            self._label_sets.clear()
        return self._label_sets.setdefault(tuple(labels.items()), labels)


def _source_name(name: str) -> str | None:
    """The name in the catalogue's table; OpenMetrics appends `_total` to counters that lack it."""
    if name in SOURCE_NAMES:
        return name
    without = name.removesuffix(_TOTAL)
    return without if without in SOURCE_NAMES else None


def _kept_metric(name: str, labels: Mapping[str, str], kind: str) -> str | None:
    """Buckets and quantiles are left out: their sum and count say how the mean moves, in two series."""
    if name.endswith("_created") or (kind == "histogram" and name.endswith("_bucket")):
        return None
    if kind == "summary" and "quantile" in labels:
        return None
    counts = kind == "counter" or (kind in ("histogram", "summary") and name.endswith(_OF_HISTOGRAMS))
    counts = counts or (kind in ("", "untyped", "unknown") and name.endswith(_TOTAL))
    # A label may have any name, that of a parameter too.
    attributes = {f"exporter.label.{label}": value for label, value in labels.items() if value}
    kept = "exporter.counter" if counts else "exporter.gauge"
    metric = metric_id(kept, **{"exporter.metric": name}, **attributes)
    return metric if len(metric) <= MAX_NAME_CHARACTERS else None
