"""Sums of counters that come and go, such as those of devices.

What a device counted before it was found must not look like a burst, nor its loss like a reset.
"""

import math
from collections.abc import Iterable


class GrowingSums:
    """One sum for each group of counters; it begins with their first values, and grows as they grow."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._last: dict[str, float] = {}

    def add(self, counters: Iterable[tuple[str, str, float]]) -> dict[str, float]:
        """The sums by group; NaN while a counter is missing: what it grows meanwhile is added when it returns.

        A counter that fell adds nothing. One that is no longer among `counters` is forgotten.

        Args:
            counters: group, counter and value, NaN where it is missing.
        """
        begun = set(self._sums)
        last, self._last = self._last, {}
        found: dict[str, float] = {}
        for group, counter, value in counters:
            before = last.get(counter)
            is_missing = math.isnan(value)
            if not is_missing:
                start = value if group in begun else 0.0
                self._sums[group] = self._sums.get(group, 0.0) + max(0.0, value - (start if before is None else before))
                self._last[counter] = value
            elif before is not None:
                self._last[counter] = before
            found[group] = math.nan if is_missing else found.get(group, 0.0)
        return {group: self._sums.get(group, math.nan) + marker for group, marker in found.items()}
