"""An Isolation Forest as one ONNX tree ensemble whose leaf weights are path lengths.

The stock converter of scikit-learn's class rebuilds path lengths with many small operators, at about a
hundred microseconds a row, and forgets where a missing value goes (onnx/sklearn-onnx #1253). Here the
ensemble's sum over the trees is the exponent of the score.
"""

import numpy as np
from onnx import NodeProto, helper

from pulsetrain.models.forest import Float32Array, Forest
from pulsetrain.schemas.arrays import FloatArray


def forest_node(forest: Forest, rows: str, exponent: str) -> NodeProto:
    """A node that maps float32 rows (n, columns) to exponents (n, 1); the score is 2^-exponent."""
    is_leaf = forest.feature < 0
    tree = np.searchsorted(forest.roots, np.arange(len(forest.feature)), side="right") - 1
    local = np.arange(len(forest.feature)) - forest.roots[tree]
    leaves = np.flatnonzero(is_leaf)
    return helper.make_node(
        "TreeEnsembleRegressor",
        [rows],
        [exponent],
        domain="ai.onnx.ml",
        name="forest",
        n_targets=1,
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=tree.tolist(),
        nodes_nodeids=local.tolist(),
        nodes_featureids=np.where(is_leaf, 0, forest.feature).tolist(),
        nodes_values=_not_above(forest.threshold).tolist(),
        nodes_modes=np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_truenodeids=np.where(is_leaf, 0, forest.left - forest.roots[tree]).tolist(),
        nodes_falsenodeids=np.where(is_leaf, 0, forest.right - forest.roots[tree]).tolist(),
        target_treeids=tree[leaves].tolist(),
        target_nodeids=local[leaves].tolist(),
        target_ids=np.zeros(len(leaves), dtype=np.int64).tolist(),
        target_weights=forest.path_share[leaves].astype(np.float32).tolist(),
    )


def _not_above(threshold: FloatArray) -> Float32Array:
    """The largest float32 values not above the thresholds: a float32 is below both or above both."""
    rounded = threshold.astype(np.float32)
    return np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)
