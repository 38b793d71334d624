"""The stage learned from labels: flagged behaviour that the operator called benign, as the graph applies it.

A flagged window is benign only where both hold for one profile:
- its signature (which metrics deviate, in which direction) is alike to the profile's;
- what remains of it beyond the profile's envelope no longer gets the members' vote.
So another metric that deviates at the same time, a part of the metrics alone, or the same metrics far
beyond the labelled size stay flagged.
"""

from dataclasses import dataclass

import numpy as np

from pulsetrain.models.detectors import Ensemble
from pulsetrain.models.preparation import BoolArray
from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.schemas.columns import split_column

MAX_PROFILES = 16
"""Two each of up to eight kinds of benign window: one in full, one for where it starts and ends."""

SATURATION_BANDS = 3.0
"""A metric that leaves its normal band threefold counts fully in a signature, however far beyond it goes."""

NOT_ALIKE = 1e30


@dataclass(frozen=True, slots=True)
class SignatureSpace:
    """How deviations become signatures: `band` (columns,) in sigma, and `members` (metrics, width), the columns
    of each metric, the first one repeated as padding."""

    band: FloatArray
    members: IntArray

    def signature(self, deviations: FloatArray) -> FloatArray:
        """Unit vectors (rows, 2 x metrics): how far each metric is above and below its band, 0 to 1."""
        beyond = np.abs(deviations) / self.band - 1
        weight = np.clip(beyond / (SATURATION_BANDS - 1), 0.0, 1.0)
        upward = np.where(deviations > 0, weight, 0.0)
        raw = np.concatenate(
            [upward[:, self.members].max(axis=2), (weight - upward)[:, self.members].max(axis=2)], axis=1
        )
        length: FloatArray = np.sqrt(np.sum(raw**2, axis=1, keepdims=True))
        return raw / np.maximum(length, np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True)
class BenignStage:
    """Profiles of benign behaviour; none where nothing was learned yet.

    `signatures` (profiles, 2 x metrics) are unit vectors and `least_likeness` (profiles,) their limits.
    Within `low` .. `high` (profiles, columns) a deviation is benign; beyond, it counts from the nearest of
    `base_low` .. `base_high`, which is the envelope where the profile deviates and zero elsewhere.
    """

    space: SignatureSpace
    signatures: FloatArray
    least_likeness: FloatArray
    low: FloatArray
    high: FloatArray
    base_low: FloatArray
    base_high: FloatArray

    @property
    def profiles(self) -> int:
        return len(self.signatures)

    def likeness(self, deviations: FloatArray) -> FloatArray:
        """Cosine of the signatures of deviations (rows, columns) with every profile, (rows, profiles)."""
        return self.space.signature(deviations) @ self.signatures.T

    def remainder(self, deviations: FloatArray) -> FloatArray:
        """What each row (rows, columns) has beyond its profile: of those alike, the one that leaves least.

        A row that is like no profile remains as it is under the first one; `is_alike` tells.
        """
        wide = deviations[:, None, :]
        rest = np.where(
            (wide >= self.low) & (wide <= self.high),
            0.0,
            wide - np.minimum(np.maximum(wide, self.base_low), self.base_high),
        )
        largest = np.abs(rest).max(axis=2)
        best = np.where(self.is_alike(deviations), largest, NOT_ALIKE).argmin(axis=1)
        least: FloatArray = rest[np.arange(len(deviations)), best]
        return least

    def is_alike(self, deviations: FloatArray) -> BoolArray:
        """Whether the signature of a row is like that of a profile, (rows, profiles)."""
        return self.likeness(deviations) >= self.least_likeness

    def is_muted(self, deviations: FloatArray, ensemble: Ensemble) -> BoolArray:
        """Whether each row (rows, columns) is benign if flagged, (rows,)."""
        if not self.profiles:
            return np.zeros(len(deviations), dtype=np.bool_)
        alike = self.is_alike(deviations).any(axis=1)
        muted = np.zeros(len(deviations), dtype=np.bool_)
        if alike.any():
            muted[alike] = ~ensemble.is_voted(self.remainder(deviations[alike]))
        return muted


def signature_space(columns: tuple[str, ...], band: FloatArray) -> SignatureSpace:
    """Group the columns by metric."""
    by_metric: dict[str, list[int]] = {}
    for j, column in enumerate(columns):
        by_metric.setdefault(split_column(column)[0], []).append(j)
    width = max(len(group) for group in by_metric.values())
    padded = [group + group[:1] * (width - len(group)) for group in by_metric.values()]
    return SignatureSpace(band, np.array(padded, dtype=np.int64))


def no_profiles(space: SignatureSpace) -> BenignStage:
    """The stage of a model that no label has taught anything."""
    columns, metrics = len(space.band), len(space.members)
    none = np.zeros((0, columns))
    return BenignStage(space, np.zeros((0, 2 * metrics)), np.zeros(0), none, none, none, none)
