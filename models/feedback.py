"""Learning the benign stage from labelled windows, bounded by confirmed and by injected faults."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from sklearn.cluster import AgglomerativeClustering

from pulsetrain.models.benign import MAX_PROFILES, BenignStage, SignatureSpace, no_profiles
from pulsetrain.models.detectors import Ensemble
from pulsetrain.models.injection import foreign_deviations, injected_faults
from pulsetrain.models.preparation import BoolArray
from pulsetrain.schemas.arrays import FloatArray

LIKENESS_LIMITS = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
LEAST_TIGHT_LIKENESS = 0.75
"""Above the square root of a half, the likeness of half the metrics alone, whatever their size."""

WIDE_MARGINS = (1.0, 0.75, 0.5, 0.35, 0.2)
TIGHT_MARGINS = (0.0, -0.25, -0.5, -0.75)
"""The most generous ones first. A margin of 1 reaches twice as far as the labelled windows did, one of -0.5
half as far."""

CLEAR_BANDS = 2.0
"""A column must leave its band twofold to belong to a profile; less can be noise in one of many windows."""

CLUSTER_DISTANCES = (0.15, 0.3, 0.45)
MAX_CLUSTERS = MAX_PROFILES // 2
MAX_LABELLED_ROWS = 512
MAX_FAULT_ROWS = 512
PAIRED_ROWS = 8
LEFT_OUT_ROWS = 16
LABELLED_REFERENCES = 64


@dataclass(frozen=True, slots=True)
class Lesson:
    """A stage and what became of each labelled window (benign rows,).

    `muted` ones are benign to the stage; `unflagged` ones the members do not flag anyway; `conflicting`
    ones cannot be told from a fault. What is none of these is too unlike the others for the profiles left.
    `recurrence` is the share of windows that the stage would have muted without knowing them (leave one
    out), NaN where no profile has two.
    """

    stage: BenignStage
    muted: BoolArray
    unflagged: BoolArray
    conflicting: BoolArray
    recurrence: float


@dataclass(frozen=True, slots=True)
class _Profile:
    """A profile as it is being learned: labelled rows (rows, columns), and its two limits."""

    rows: FloatArray
    least_likeness: float
    margin: float


def learn_benign(space: SignatureSpace, ensemble: Ensemble, benign: FloatArray, faults: FloatArray) -> Lesson:
    """Learn profiles from deviations of windows labelled benign and of confirmed faults, (rows, columns).

    Of more than `MAX_LABELLED_ROWS` the last ones count.
    """
    muted, conflicting = np.zeros((2, len(benign)), dtype=np.bool_)
    unflagged = ~ensemble.is_voted(benign)
    known = np.flatnonzero(~unflagged & (space.signature(benign).any(axis=1)))[-MAX_LABELLED_ROWS:]
    confirmed = faults[ensemble.is_voted(faults)][-MAX_FAULT_ROWS:]
    clusters = _clusters(space, benign[known])
    foreign = foreign_deviations(ensemble, len(space.band))
    injected = [injected_faults(space, ensemble, foreign, benign[known[members]]) for members in clusters]
    faults = np.concatenate(
        [confirmed, *(made[~_is_labelled(space, ensemble, benign[known], made)] for made in injected)]
    )

    learned = []
    for members in clusters:
        profiles = _limits(space, ensemble, benign[known[members]], faults, confirmed)
        conflicting[known[members]] = not profiles
        learned.append(profiles)
    stage = _stage(space, [profile for profiles in learned for profile in profiles])
    muted[known] = stage.is_muted(benign[known], ensemble)
    return Lesson(stage, muted, unflagged, conflicting & ~muted, _leave_one_out(space, ensemble, learned))


def _clusters(space: SignatureSpace, rows: FloatArray) -> list[npt.NDArray[np.intp]]:
    """Index arrays of rows with alike signatures, at most `MAX_CLUSTERS`, the largest clusters."""
    if len(rows) < 2:
        return [np.arange(len(rows))] if len(rows) else []
    signatures = space.signature(rows)
    for distance in CLUSTER_DISTANCES:
        names = AgglomerativeClustering(
            n_clusters=None, distance_threshold=distance, metric="cosine", linkage="average"
        ).fit_predict(signatures)
        if names.max() < MAX_CLUSTERS:
            break
    groups = [np.flatnonzero(names == name) for name in range(names.max() + 1)]
    return sorted(groups, key=len, reverse=True)[:MAX_CLUSTERS]


def _limits(
    space: SignatureSpace, ensemble: Ensemble, rows: FloatArray, faults: FloatArray, confirmed: FloatArray
) -> list[_Profile]:
    """The most generous limits under which rows become profiles that mute no fault; none where all mute one.

    Up to two profiles: a wide one for the behaviour in full, and a tight one that asks for less likeness,
    for the windows in which it starts and ends.
    A confirmed fault on top of the benign behaviour should stay flagged too, but where it is smaller than
    the behaviour's own spread it cannot: as few of these as possible are muted.
    """
    together = _sums(rows, confirmed)
    wide = _widest(_candidates(space, ensemble, rows, WIDE_MARGINS, faults, together))
    if wide is None:
        return []
    tight = _widest(
        candidate
        for candidate in _candidates(space, ensemble, rows, TIGHT_MARGINS, faults, together)
        if LEAST_TIGHT_LIKENESS <= candidate[0].least_likeness < wide.least_likeness
    )
    return [wide] if tight is None else [wide, tight]


def _widest(candidates: Iterable[tuple[_Profile, int, int]]) -> _Profile | None:
    """The first one that mutes no fault, and as few faults on top of the benign behaviour as any."""
    sound = [(together, profile) for profile, hidden, together in candidates if hidden == 0]
    return min(sound, key=lambda each: each[0])[1] if sound else None


def _candidates(
    space: SignatureSpace,
    ensemble: Ensemble,
    rows: FloatArray,
    margins: tuple[float, ...],
    faults: FloatArray,
    together: FloatArray,
) -> Iterator[tuple[_Profile, int, int]]:
    """Every pair of limits, the generous ones first, with the numbers of faults that it would mute."""
    both = np.concatenate([faults, together])
    likeness = _stage(space, [_Profile(rows, -1.0, 0.0)]).likeness(both)[:, 0]
    alike = np.flatnonzero(likeness >= LIKENESS_LIMITS[0])
    likeness, is_fault = likeness[alike], alike < len(faults)
    unvoted = [
        ~ensemble.is_voted(_stage(space, [_Profile(rows, -1.0, margin)]).remainder(both[alike])) for margin in margins
    ]
    for least in LIKENESS_LIMITS:
        for margin, within in zip(margins, unvoted, strict=True):
            hidden = within & (likeness >= least)
            yield _Profile(rows, least, margin), int((hidden & is_fault).sum()), int((hidden & ~is_fault).sum())


def _sums(rows: FloatArray, confirmed: FloatArray) -> FloatArray:
    """Confirmed faults that happen during the benign behaviour."""
    some_rows = rows[:: max(1, len(rows) // PAIRED_ROWS)]
    some_faults = confirmed[:: max(1, len(confirmed) // PAIRED_ROWS)]
    return (some_rows[:, None, :] + some_faults[None, :, :]).reshape(-1, rows.shape[1])


def _stage(space: SignatureSpace, profiles: list[_Profile]) -> BenignStage:
    if not profiles:
        return no_profiles(space)
    band = space.band
    signatures, low, high, base_low, base_high = [], [], [], [], []
    for profile in profiles:
        mean = space.signature(profile.rows).mean(axis=0)
        signatures.append(mean / np.linalg.norm(mean))
        least, most = profile.rows.min(axis=0), profile.rows.max(axis=0)
        low.append(np.where(least < -band, np.minimum(least * (1 + profile.margin), -band), -band))
        high.append(np.where(most > band, np.maximum(most * (1 + profile.margin), band), band))
        base_low.append(np.where(least < -CLEAR_BANDS * band, low[-1], 0.0))
        base_high.append(np.where(most > CLEAR_BANDS * band, high[-1], 0.0))
    return BenignStage(
        space=space,
        signatures=np.array(signatures),
        least_likeness=np.array([profile.least_likeness for profile in profiles]),
        low=np.array(low),
        high=np.array(high),
        base_low=np.array(base_low),
        base_high=np.array(base_high),
    )


def _is_labelled(space: SignatureSpace, ensemble: Ensemble, benign: FloatArray, injected: FloatArray) -> BoolArray:
    """Which injected faults the operator has in effect labelled benign: very near one labelled window."""
    benign = benign[:: max(1, len(benign) // LABELLED_REFERENCES)]
    labelled = np.zeros(len(injected), dtype=np.bool_)
    alike = space.signature(injected) @ space.signature(benign).T >= LIKENESS_LIMITS[-1]
    for j in np.flatnonzero(alike.any(axis=0)):
        near = np.flatnonzero(alike[:, j] & ~labelled)
        tight = _stage(space, [_Profile(benign[j : j + 1], LIKENESS_LIMITS[-1], WIDE_MARGINS[-1] / 2)])
        labelled[near] = tight.is_muted(injected[near], ensemble)
    return labelled


def _leave_one_out(space: SignatureSpace, ensemble: Ensemble, learned: list[list[_Profile]]) -> float:
    known = []
    for profiles in learned:
        rows = profiles[0].rows if profiles else np.empty((0, len(space.band)))
        for i in range(0, len(rows) if len(rows) > 1 else 0, max(1, len(rows) // LEFT_OUT_ROWS)):
            rest = [replace(profile, rows=np.delete(rows, i, axis=0)) for profile in profiles]
            known.append(_stage(space, rest).is_muted(rows[i : i + 1], ensemble)[0])
    return float(np.mean(known)) if known else float("nan")
