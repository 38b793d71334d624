"""Cuts that keep the number of false alarms a day where the operator wants it.

With a hundred columns some deviation exceeds 3 sigma in most normal windows, so each member's cut
starts at its floor and is raised by the scores of held-out normal windows. What is rare enough lies
beyond the few windows of a warm-up: there the tail is extrapolated by peaks over threshold (Pickands,
"Statistical inference using extreme order statistics", 1975; for streams Siffer et al., "Anomaly
detection in streams with extreme value theory", KDD 2017).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, t

from pulsetrain.models.errors import DegenerateTrainingSetError
from pulsetrain.models.preparation import BoolArray
from pulsetrain.schemas.arrays import FloatArray, IntArray

TAIL_SHARE = 0.2
MIN_TAIL_ROWS = 5
NANOSECONDS_PER_DAY = 86_400_000_000_000
MAX_ALARM_PROBABILITY = 0.05

MIN_INDEPENDENT_WINDOWS = 8.0
"""With fewer, Student's t has tails that put every fault within reach of chance."""

SHORTEST_TAIL = -0.25
LONGEST_TAIL = -1e-6
"""Bounds of the shape. A handful of windows can't tell a heavy tail from one burst, and a positive shape
puts the cut beyond any fault; without a lower bound it ends just above the largest score seen."""


@dataclass(frozen=True, slots=True)
class Tail:
    """How rare a score is: empirical up to `threshold`, generalised Pareto (scale, shape < 0) beyond it.

    `ordered` are the scores that it was fitted on, ascending; `share` of them exceed the threshold.
    """

    ordered: FloatArray
    share: float
    threshold: float
    scale: float
    shape: float

    def rarity(self, scores: FloatArray) -> FloatArray:
        """-log of the estimated probability that a normal window scores higher, same shape as `scores`."""
        at_least = np.searchsorted(self.ordered, scores, side="right")
        within = -np.log(np.maximum(1 - at_least / (len(self.ordered) + 1), self.share))
        reach = np.maximum(1 + self.shape * (scores - self.threshold) / self.scale, np.finfo(np.float64).tiny)
        return np.where(scores > self.threshold, np.log(reach) / self.shape - np.log(self.share), within)

    def score_at(self, rarity: float) -> float:
        """The score beyond which the tail has this rarity, at least the threshold."""
        beyond = max(0.0, rarity + float(np.log(self.share)))
        return self.threshold + self.scale * float(np.expm1(self.shape * beyond)) / self.shape


def fit_tail(scores: FloatArray, shortest: float = SHORTEST_TAIL) -> Tail:
    """Fit the tail to the highest fifth of `scores` (windows,), at least five of them.

    The shape lies between `shortest` and zero, the exponential tail. Fitted by probability-weighted
    moments (Hosking and Wallis, "Parameter and quantile estimation for the generalized Pareto
    distribution", 1987), for which few excesses suffice.

    Raises:
        DegenerateTrainingSetError: fewer than twice as many scores as the tail needs.
    """
    if len(scores) < 2 * MIN_TAIL_ROWS:
        raise DegenerateTrainingSetError(
            f"{len(scores)} held-out windows: at least {2 * MIN_TAIL_ROWS} are needed to calibrate"
        )
    ordered = np.sort(scores)
    count = max(MIN_TAIL_ROWS, int(np.ceil(TAIL_SHARE * len(ordered))))
    threshold = float(ordered[-count - 1])
    excesses = ordered[-count:] - threshold
    mean = max(float(excesses.mean()), 1e-9 * (1 + abs(threshold)))
    weighted = float(np.mean(excesses * np.arange(count - 1, -1, -1) / (count - 1)))
    shape = float(np.clip(2 - mean / max(mean - 2 * weighted, 1e-12 * mean), shortest, LONGEST_TAIL))
    return Tail(ordered, count / len(ordered), threshold, mean * (1 - shape), shape)


def alarm_probability(false_alarms_per_day: float, window_ns: int, hop_ns: int) -> float:
    """How often a normal window may be flagged.

    Windows overlap, so one false alarm is a run of about window / hop flagged windows.
    """
    windows_per_day = NANOSECONDS_PER_DAY / hop_ns
    overlap = max(1.0, window_ns / hop_ns)
    return float(min(MAX_ALARM_PROBABILITY, false_alarms_per_day * overlap / windows_per_day))


def new_window_stretch(independent_windows: float, columns: int, probability: float) -> float:
    """By how much deviations of new windows exceed those of the windows that gave the mean and sigma.

    With few of these sigma itself is uncertain, and of many columns the one with the smallest sigma counts:
    the deviation of a new window follows Student's t with `independent_windows` - 1 degrees of freedom
    (the prediction interval of a normal sample), so the stretch is the ratio of its quantile to the normal
    one where the largest of `columns` deviations has this `probability`.
    """
    n = max(independent_windows, MIN_INDEPENDENT_WINDOWS)
    tail = probability / (2 * columns)
    return float(t.isf(tail, n - 1) / norm.isf(tail) * np.sqrt((n + 1) / (n - 1)))


def calibrate(scores: FloatArray, floors: FloatArray, probability: float, votes_needed: int) -> FloatArray:
    """Cuts (members,) from held-out scores (windows, members), such that the vote has `probability`.

    The vote is won where the `votes_needed`-th rarest of the members' scores is rare enough, so the tail
    of that rarity, exponential as every rarity's is, gives the level, and each member's own tail turns the
    level into its cut. Members that err together get higher cuts than members that err apart.

    Raises:
        DegenerateTrainingSetError: too few held-out windows.
    """
    tails = [fit_tail(column) for column in scores.T]
    rarity = np.column_stack([tail.rarity(column) for tail, column in zip(tails, scores.T, strict=True)])
    joint = np.sort(rarity, axis=1)[:, -votes_needed]
    wanted = -float(np.log(probability))
    level = min(fit_tail(joint, shortest=LONGEST_TAIL).score_at(wanted), wanted)
    return np.maximum(floors, [tail.score_at(level) for tail in tails])


def time_folds(window_ends_ns: IntArray, window_ns: int, folds: int) -> Iterator[tuple[BoolArray, BoolArray]]:
    """Masks (windows,) of what trains and what is held out, for each of `folds` spans of equal length.

    No training window overlaps a held-out one, so that no sample is in both.
    """
    ordered = np.sort(window_ends_ns)
    edges = np.linspace(0, len(ordered), folds + 1).astype(np.int64)
    for first, last in zip(edges[:-1], edges[1:] - 1, strict=True):
        start, end = ordered[first], ordered[last]
        held_out = (window_ends_ns >= start) & (window_ends_ns <= end)
        trains = (window_ends_ns <= start - window_ns) | (window_ends_ns >= end + window_ns)
        yield trains, held_out
