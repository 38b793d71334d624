"""What a closed window holds: the raw samples of a node in [start, end), by entity and source."""

from collections.abc import Mapping
from dataclasses import dataclass

from pulsetrain.schemas.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class SourceWindow:
    """Samples of one collector and entity in one window.

    `ticks_ns` (ticks,), ascending and as sent; `values` (ticks, metrics), NaN where a sample is missing or invalid;
    `reboot_rows` are the rows whose samples come from another boot than those of the row before. `late`,
    `out_of_order`, `not_finite`, `sentinel` and `out_of_range` (metrics,) count samples. `interval_ns` is that of the
    newest block.
    """

    collector: str
    interval_ns: int
    metrics: tuple[str, ...]
    ticks_ns: IntArray
    values: FloatArray
    reboot_rows: IntArray
    late: IntArray
    out_of_order: IntArray
    not_finite: IntArray
    sentinel: IntArray
    out_of_range: IntArray


@dataclass(frozen=True, slots=True)
class EntityWindow:
    """The sources of one entity, in order of collector names.

    Newer blocks' labels win over older ones'; an empty label is none, as in OpenMetrics.
    """

    entity: str
    labels: Mapping[str, str]
    sources: tuple[SourceWindow, ...]


@dataclass(frozen=True, slots=True)
class ClosedWindow:
    """All samples of a node with `start_ns - tolerance <= tick < end_ns - tolerance`; entities in order of names.

    `complete` says that the watermark closed it, not an end of the run, a silence or a stuck clock.
    `clock_offset_ns` is the smallest append time minus newest tick of the blocks that have samples in it, None where
    none has. It takes part in no decision.
    """

    node: str
    session: str
    start_ns: int
    end_ns: int
    complete: bool
    entities: tuple[EntityWindow, ...]
    clock_offset_ns: int | None = None
