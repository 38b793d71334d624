"""Cuts that keep the number of false alarms a day where the operator wants it.

With a hundred columns some deviation exceeds 3 sigma in most normal windows, so each member's cut
starts at its floor and is raised by the scores of held-out normal windows. What is rare enough lies
beyond the few windows of a warm-up: there the tail is taken as exponential, the peaks-over-threshold
model of extreme values (Pickands, "Statistical inference using extreme order statistics", 1975; for
streams Siffer et al., "Anomaly detection in streams with extreme value theory", KDD 2017) with shape
zero, the one parameter that two dozen windows can give.
"""

from dataclasses import dataclass

import numpy as np

from pulsetrain.models.errors import DegenerateTrainingSetError
from pulsetrain.models.preparation import BoolArray
from pulsetrain.schemas.arrays import FloatArray, IntArray

TAIL_SHARE = 0.2
MIN_TAIL_ROWS = 5
NANOSECONDS_PER_DAY = 86_400_000_000_000


@dataclass(frozen=True, slots=True)
class Tail:
    """How rare a score is: empirical up to `threshold`, exponential with mean excess `scale` beyond.

    `ordered` are the scores that it was fitted on, ascending; `share` of them exceed the threshold.
    """

    ordered: FloatArray
    threshold: float
    scale: float
    share: float

    def rarity(self, scores: FloatArray) -> FloatArray:
        """-log of the estimated probability that a normal window scores higher, same shape as `scores`."""
        below = np.searchsorted(self.ordered, scores, side="right")
        empirical = 1 - below / (len(self.ordered) + 1)
        beyond = -np.log(self.share) + (scores - self.threshold) / self.scale
        return np.where(scores > self.threshold, beyond, -np.log(np.maximum(empirical, self.share)))

    def score_at(self, rarity: float) -> float:
        """The score beyond which the tail has this rarity, at least the threshold."""
        return self.threshold + self.scale * max(0.0, rarity + float(np.log(self.share)))


def fit_tail(scores: FloatArray) -> Tail:
    """Fit the exponential tail to the highest fifth of `scores` (windows,), at least five of them.

    Raises:
        DegenerateTrainingSetError: fewer than twice as many scores as the tail needs.
    """
    if len(scores) < 2 * MIN_TAIL_ROWS:
        raise DegenerateTrainingSetError(
            f"{len(scores)} held-out windows: at least {2 * MIN_TAIL_ROWS} are needed to calibrate"
        )
    ordered = np.sort(scores)
    exceeding = max(MIN_TAIL_ROWS, int(np.ceil(TAIL_SHARE * len(ordered))))
    threshold = float(ordered[-exceeding - 1])
    spread = float(np.mean(ordered[-exceeding:] - threshold))
    return Tail(ordered, threshold, max(spread, 1e-9 * (1 + abs(threshold))), exceeding / len(ordered))


def alarm_probability(false_alarms_per_day: float, window_ns: int, hop_ns: int) -> float:
    """How often a normal window may be flagged.

    Windows overlap, so one false alarm is a run of about window / hop flagged windows.
    """
    windows_per_day = NANOSECONDS_PER_DAY / hop_ns
    overlap = max(1.0, window_ns / hop_ns)
    return float(min(0.05, false_alarms_per_day * overlap / windows_per_day))


def calibrate(scores: FloatArray, floors: FloatArray, probability: float, votes_needed: int) -> FloatArray:
    """Cuts (members,) from held-out scores (windows, members), such that the vote has `probability`.

    The vote is won where the `votes_needed`-th rarest of the members' scores is rare enough, so the tail
    of that rarity gives the level, and each member's own tail turns the level into its cut. Members that
    err together get higher cuts than members that err apart.

    Raises:
        DegenerateTrainingSetError: too few held-out windows.
    """
    tails = [fit_tail(column) for column in scores.T]
    rarity = np.column_stack([tail.rarity(column) for tail, column in zip(tails, scores.T, strict=True)])
    joint = np.sort(rarity, axis=1)[:, -votes_needed]
    level = min(fit_tail(joint).score_at(-np.log(probability)), -np.log(probability))
    return np.maximum(floors, [tail.score_at(level) for tail in tails])


def held_out(window_ends_ns: IntArray, window_ns: int, train_share: float) -> tuple[BoolArray, BoolArray]:
    """Masks (windows,) of the training part and of the later, held-out part.

    They are apart by a window's length, so that no sample is in both.
    """
    ordered = np.sort(window_ends_ns)
    boundary = ordered[min(len(ordered) - 1, int(train_share * len(ordered)))]
    return window_ends_ns <= boundary, window_ends_ns >= boundary + window_ns
