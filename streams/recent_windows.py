"""The last windows of each entity kind, on which a new version is tried beside the live one."""

from collections import defaultdict, deque

import numpy as np

from pulsetrain.models.training_windows import entity_kind
from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.schemas.columns import column_names
from pulsetrain.schemas.feature_window import FeatureWindow

KEPT_WINDOWS = 64
KEPT_KINDS = 32


class RecentWindows:
    """Keeps the last `KEPT_WINDOWS` windows of each of the first `KEPT_KINDS` kinds."""

    def __init__(self) -> None:
        self._kept: defaultdict[str, deque[tuple[tuple[str, ...], FloatArray]]] = defaultdict(
            lambda: deque(maxlen=KEPT_WINDOWS)
        )

    def add(self, window: FeatureWindow) -> None:
        """Takes the newest window; its values are copied out of the message that they came in."""
        kind = entity_kind(window.entity)
        if kind not in self._kept and len(self._kept) >= KEPT_KINDS:
            return
        names = column_names(window.metrics, window.features)
        self._kept[kind].append((names, np.array(window.values).reshape(-1)))

    def rows(self, kind: str, columns: tuple[str, ...]) -> FloatArray | None:
        """Windows of a kind as rows (windows, columns), NaN where a column is absent; None where there are none."""
        kept = self._kept.get(kind)
        if not kept:
            return None
        rows = np.full((len(kept), len(columns)), np.nan)
        for row, (names, values) in zip(rows, kept, strict=True):
            position = {name: index for index, name in enumerate(names)}
            for column, name in enumerate(columns):
                if name in position:
                    row[column] = values[position[name]]
        return rows
