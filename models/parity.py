"""The gate before publishing: the exported graph must score like the float64 reference."""

from dataclasses import dataclass

import numpy as np

from pulsetrain.models.detectors import VOTES_NEEDED, Member
from pulsetrain.models.errors import ParityError
from pulsetrain.models.fitting import FittedModel
from pulsetrain.models.preparation import BoolArray, plan_assembly
from pulsetrain.models.runtime import Scorer
from pulsetrain.schemas.arrays import FloatArray

TOLERANCE = 1e-5
"""Of a score's natural scale. Rows nearer to a cut than this may fall on either side of it."""

GAP_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Parity:
    """What was compared: rows, rows too near a cut to compare labels, and the largest relative difference."""

    rows: int
    undecided: int
    worst_score: float


def check_parity(model: FittedModel, graph: bytes, rows: FloatArray, seed: int = 0) -> Parity:
    """Compare a graph with its model on rows (rows, columns), as they are, with gaps, and enlarged.

    Raises:
        ParityError: a score is off by more than `TOLERANCE`, or a label away from every cut differs.
        ModelRejectedError: the graph does not load.
    """
    probes = _probes(model, rows, np.random.default_rng(seed))
    deviations = model.ensemble.standardisation.standardise(probes)
    expected = model.ensemble.scores(deviations)
    got = Scorer(graph, model.columns).score(probes)

    scale = np.maximum(np.abs(expected), [1.0, len(model.columns), 1.0])
    difference = np.abs(got.scores - expected) / scale
    worst = float(difference.max(initial=0.0))
    if not worst <= TOLERANCE:
        row, member = np.unravel_index(difference.argmax(), difference.shape)
        raise ParityError(f"{list(Member)[member]} of row {row} differs by {worst:.1e} of its scale")

    votes = expected > model.ensemble.cuts
    undecided = _is_undecided(model, deviations, expected, scale)
    voted = votes.sum(axis=1) >= VOTES_NEEDED
    muted = model.benign.is_muted(deviations, model.ensemble)
    wrong = (
        (got.votes != votes).any(axis=1) | (got.benign != (voted & muted)) | (got.flagged != (voted & ~muted))
    ) & ~undecided
    if wrong.any():
        raise ParityError(f"the label of row {int(wrong.argmax())} and {int(wrong.sum()) - 1} more differ")
    return Parity(len(probes), int(undecided.sum()), worst)


def _probes(model: FittedModel, rows: FloatArray, random: np.random.Generator) -> FloatArray:
    """The rows, the same with gaps that are imputed, and with ever larger deviations."""
    plan = plan_assembly(model.columns, model.medians, model.columns)
    gaps = np.where(random.random(rows.shape) < GAP_SHARE, np.nan, rows)
    center = model.ensemble.standardisation.center
    enlarged = [center + factor * (rows - center) for factor in (2.0, 10.0, 1000.0)]
    return np.concatenate([rows, plan.assemble(gaps).rows, *enlarged])


def _is_undecided(model: FittedModel, deviations: FloatArray, expected: FloatArray, scale: FloatArray) -> BoolArray:
    """Rows with a score, a likeness or a remainder's score within the tolerance of its limit."""
    near: BoolArray = np.any(np.abs(expected - model.ensemble.cuts) <= TOLERANCE * scale, axis=1)
    if not model.benign.profiles:
        return near
    likeness = np.abs(model.benign.likeness(deviations) - model.benign.least_likeness)
    rest = model.ensemble.scores(model.benign.remainder(deviations))
    rest_scale = np.maximum(np.abs(rest), [1.0, len(model.columns), 1.0])
    near |= (likeness <= TOLERANCE).any(axis=1)
    near |= np.any(np.abs(rest - model.ensemble.cuts) <= TOLERANCE * rest_scale, axis=1)
    return near
