"""Which window ends lie in or near an anomaly, looked up without walking through all anomalies."""

from bisect import bisect_right
from itertools import accumulate

MAX_MARKS = 20_000


class AnomalyMarks:
    """Spans of window ends per entity, both ends included; beyond `MAX_MARKS` the one set longest ago is forgotten."""

    def __init__(self) -> None:
        self._order: dict[tuple[str, int], None] = {}
        self._spans: dict[str, dict[int, int]] = {}
        self._lookups: dict[str, tuple[list[int], list[int]]] = {}

    def __len__(self) -> int:
        return len(self._order)

    def mark(self, entity: str, first_end_ns: int, last_end_ns: int) -> None:
        """Sets a span; a later call with the same first end replaces it."""
        if self._spans.get(entity, {}).get(first_end_ns) != last_end_ns:
            self._lookups.pop(entity, None)
        self._order.pop((entity, first_end_ns), None)
        self._order[entity, first_end_ns] = None
        self._spans.setdefault(entity, {})[first_end_ns] = last_end_ns
        if len(self._order) > MAX_MARKS:
            self.unmark(*next(iter(self._order)))

    def unmark(self, entity: str, first_end_ns: int) -> None:
        """Takes a span back; nothing happens where there is none."""
        if (entity, first_end_ns) not in self._order:
            return
        del self._order[entity, first_end_ns]
        del self._spans[entity][first_end_ns]
        self._lookups.pop(entity, None)
        if not self._spans[entity]:
            del self._spans[entity]

    def forget_before(self, entity: str, end_ns: int) -> None:
        """Drops the spans of an entity that end before `end_ns`."""
        for first_end_ns, last_end_ns in list(self._spans.get(entity, {}).items()):
            if last_end_ns < end_ns:
                self.unmark(entity, first_end_ns)

    @property
    def entities(self) -> tuple[str, ...]:
        """The entities that have a span."""
        return tuple(self._spans)

    def is_near(self, entity: str, end_ns: int, margin_ns: int = 0) -> bool:
        """Whether a span of the entity, wider by `margin_ns` on either side, holds `end_ns`."""
        if entity not in self._spans:
            return False
        if entity not in self._lookups:
            self._lookups[entity] = _lookup(self._spans[entity])
        firsts_ns, latest_ns = self._lookups[entity]
        begun = bisect_right(firsts_ns, end_ns + margin_ns)
        return begun > 0 and latest_ns[begun - 1] >= end_ns - margin_ns


def _lookup(spans: dict[int, int]) -> tuple[list[int], list[int]]:
    """First ends, ascending, and beside each the latest last end of it and of all before it."""
    ordered = sorted(spans.items())
    return [first for first, _ in ordered], list(accumulate((last for _, last in ordered), max))
