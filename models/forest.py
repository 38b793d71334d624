"""Isolation Forest as plain arrays: trained by scikit-learn, kept and walked without it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import IsolationForest

from pulsetrain.models.errors import ParityError
from pulsetrain.schemas.arrays import FloatArray, IntArray

TREES = 100
MAX_SAMPLES = 256
"""Sub-sample a tree, from Liu, Ting and Zhou, "Isolation Forest" (ICDM 2008), section 4.3."""

Float32Array = npt.NDArray[np.float32]
_LEAF = -1


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees over one node table. A node with feature -1 is a leaf; others go left where x <= threshold.

    All arrays but `roots` (trees,) have shape (nodes,). A leaf's `path_share` is its path length over
    (trees x expected path length of the sub-sample), so that their sum over the trees is the exponent of
    the score.
    """

    roots: IntArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    path_share: FloatArray

    def score(self, rows: Float32Array) -> FloatArray:
        """Anomaly score 2^(-E[h(x)] / c) in (0, 1), high = anomalous, for rows of shape (rows, columns)."""
        node = np.broadcast_to(self.roots, (len(rows), len(self.roots))).copy()
        row = np.arange(len(rows))[:, None]
        while True:
            feature = self.feature[node]
            inner = feature != _LEAF
            if not inner.any():
                exponent: FloatArray = self.path_share[node].sum(axis=1)
                return np.exp2(-exponent)
            goes_left = rows[row, np.where(inner, feature, 0)] <= self.threshold[node]
            node = np.where(inner, np.where(goes_left, self.left[node], self.right[node]), node)


def expected_path_length(samples: IntArray) -> FloatArray:
    """Average path length of an unsuccessful search among `samples` points: c(n) of Liu et al. (2008), eq. 1."""
    n = np.asarray(samples, dtype=np.float64)
    safe = np.maximum(n, 3)
    length = 2 * (np.log(safe - 1) + np.euler_gamma) - 2 * (safe - 1) / safe
    return np.where(n <= 1, 0.0, np.where(n == 2, 1.0, length))


def fit_forest(rows: Float32Array, seed: int = 0) -> Forest:
    """Train on rows of shape (rows, columns), float32.

    Raises:
        ParityError: the arrays do not score like scikit-learn, for instance after a change of its tree format.
    """
    estimator = IsolationForest(
        n_estimators=TREES, max_samples=min(MAX_SAMPLES, len(rows)), random_state=seed, n_jobs=1
    ).fit(rows)
    forest = _flatten(estimator)
    worst = float(np.max(np.abs(forest.score(rows) + estimator.score_samples(rows))))
    if worst > 1e-9:
        raise ParityError(f"the forest's arrays differ from scikit-learn by {worst:.1e} on the training rows")
    return forest


def _flatten(estimator: IsolationForest) -> Forest:
    normaliser = len(estimator.estimators_) * expected_path_length(np.array([estimator.max_samples_]))[0]
    roots, features, thresholds, lefts, rights, shares = [], [], [], [], [], []
    offset = 0
    for tree, columns in zip(estimator.estimators_, estimator.estimators_features_, strict=True):
        nodes = tree.tree_
        is_leaf = nodes.children_left == _LEAF
        edges = nodes.compute_node_depths() - 1
        path = edges + expected_path_length(nodes.n_node_samples)
        roots.append(offset)
        features.append(np.where(is_leaf, _LEAF, columns[np.where(is_leaf, 0, nodes.feature)]))
        thresholds.append(np.where(is_leaf, 0.0, nodes.threshold))
        lefts.append(np.where(is_leaf, 0, nodes.children_left + offset))
        rights.append(np.where(is_leaf, 0, nodes.children_right + offset))
        shares.append(np.where(is_leaf, path / normaliser, 0.0))
        offset += nodes.node_count
    return Forest(
        roots=np.array(roots, dtype=np.int64),
        feature=np.concatenate(features).astype(np.int64),
        threshold=np.concatenate(thresholds),
        left=np.concatenate(lefts).astype(np.int64),
        right=np.concatenate(rights).astype(np.int64),
        path_share=np.concatenate(shares),
    )
