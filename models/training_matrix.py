"""Windows as rows of one matrix, by the names of their columns."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.schemas.columns import column_names
from pulsetrain.schemas.feature_window import FeatureWindow

MIN_COLUMN_SHARE = 0.9
"""A column that fewer windows have is not learned; windows that lack one of the others are left out."""


@dataclass(frozen=True, slots=True)
class TrainingMatrix:
    """Windows as rows: `rows` (windows, names) with NaN where missing, `ends_ns` (windows,) ascending, and whose."""

    names: tuple[str, ...]
    rows: FloatArray
    ends_ns: IntArray
    entities: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class WindowRow:
    """One window: `values` (names,), NaN where missing, and a `rank` that is a hash of its id."""

    entity: str
    start_ns: int
    end_ns: int
    names: tuple[str, ...]
    values: FloatArray
    rank: int


def as_row(window: FeatureWindow) -> WindowRow:
    """The window as a row of its own memory, so that the message it came in can go."""
    values = np.array(window.values, dtype=np.float64).reshape(-1)
    values[~np.isfinite(values)] = np.nan
    identity = f"{window.entity}\0{window.session}\0{window.end_ns}".encode()
    return WindowRow(
        entity=window.entity,
        start_ns=window.start_ns,
        end_ns=window.end_ns,
        names=column_names(window.metrics, window.features),
        values=values,
        rank=int.from_bytes(hashlib.blake2b(identity, digest_size=8).digest()),
    )


def lacking_any(rows: Sequence[WindowRow], columns: Collection[str]) -> list[WindowRow]:
    """Those of the rows that lack at least one of the columns."""
    # Windows of one layout share the tuple of its names.
    layouts = {id(row.names): row.names for row in rows}
    lacks = {key: not set(columns).issubset(names) for key, names in layouts.items()}
    return [row for row in rows if lacks[id(row.names)]]


def as_matrix(rows: Iterable[WindowRow]) -> TrainingMatrix:
    """Windows of any layouts as one matrix, in the order of their ends.

    A column is in it if `MIN_COLUMN_SHARE` of the windows have it; a window that lacks one of those is not.
    """
    ordered = sorted(rows, key=lambda row: (row.end_ns, row.rank))
    # Windows of one layout share the tuple of its names, so that layouts are told apart without comparing them.
    indices: dict[int, list[int]] = {}
    for index, row in enumerate(ordered):
        indices.setdefault(id(row.names), []).append(index)
    layouts = [(ordered[of_layout[0]].names, of_layout) for of_layout in indices.values()]
    names = _common_names(layouts, len(ordered))
    matrix = np.empty((len(ordered), len(names)))
    is_whole = np.ones(len(ordered), dtype=np.bool_)
    for layout, of_layout in layouts:
        positions = _positions(layout, names)
        if positions is None:
            is_whole[of_layout] = False
        else:
            matrix[of_layout] = np.stack([ordered[index].values for index in of_layout])[:, positions]
    ends_ns = np.array([row.end_ns for row in ordered], dtype=np.int64)
    entities = tuple(row.entity for row, whole in zip(ordered, is_whole, strict=True) if whole)
    return TrainingMatrix(names, matrix[is_whole], ends_ns[is_whole], entities)


def _common_names(layouts: Sequence[tuple[tuple[str, ...], list[int]]], windows: int) -> tuple[str, ...]:
    """Names, in alphabetical order, that at least `MIN_COLUMN_SHARE` of the windows have."""
    counts: Counter[str] = Counter()
    for layout, of_layout in layouts:
        counts.update(dict.fromkeys(layout, len(of_layout)))
    return tuple(sorted(name for name, count in counts.items() if count >= MIN_COLUMN_SHARE * windows))


def _positions(layout: tuple[str, ...], names: tuple[str, ...]) -> IntArray | None:
    """Where the names stand in a layout; None where one is absent."""
    position = {name: index for index, name in enumerate(layout)}
    if any(name not in position for name in names):
        return None
    return np.array([position[name] for name in names], dtype=np.int64)
