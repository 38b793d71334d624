"""The whole of scoring as one ONNX graph: standardise, three members, vote, benign stage.

    x (n, columns) float64 -> scores (n, 3) float32, votes (n, 3) bool, z (n, columns) float32,
                              likeness (n,) float32, benign (n,) bool, flagged (n,) bool

Deviations and distances are float64 inside, because small whitened directions amplify rounding; the
forest is float32 as in scikit-learn. Opsets and IR version are pinned: a runtime refuses newer ones than
it knows.
"""

import json
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, checker, helper, numpy_helper

from pulsetrain.models.benign import NOT_ALIKE, SATURATION_BANDS, BenignStage
from pulsetrain.models.detectors import VOTES_NEEDED, Z_LIMIT, Ensemble, Member
from pulsetrain.models.forest_graph import forest_node

OPSETS = {"": 18, "ai.onnx.ml": 3}
IR_VERSION = 9
COLUMNS_PROPERTY = "columns"


class _Builder:
    """Nodes and constants of a graph, named as they are added."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def constant(self, name: str, value: npt.ArrayLike, dtype: npt.DTypeLike) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def node(self, operator: str, inputs: Sequence[str], output: str, **attributes: int) -> str:
        self.nodes.append(helper.make_node(operator, list(inputs), [output], output, None, None, None, **attributes))
        return output


def build_graph(columns: Sequence[str], ensemble: Ensemble, benign: BenignStage) -> bytes:
    """The serialised model of an ensemble and its benign stage."""
    build = _Builder()
    deviations = _standardise(build, ensemble, len(columns))
    build.node("Cast", [deviations], "z", to=TensorProto.FLOAT)
    build.constant("cuts", ensemble.cuts, np.float32)
    build.constant("votes_needed", VOTES_NEEDED, np.int64)
    build.constant("columns_axis", [1], np.int64)
    if benign.profiles:
        _judge_twice(build, ensemble, benign, deviations)
    else:
        _members(build, ensemble, deviations, "scores")
        _vote(build, "scores", "votes", "flagged")
        build.node("ReduceMax", ["z", "columns_axis"], "any_z", keepdims=0)
        build.constant("zero", 0.0, np.float32)
        build.node("Mul", ["any_z", "zero"], "likeness")
        build.node("Cast", ["likeness"], "benign", to=TensorProto.BOOL)
    serialised: bytes = _model(build, columns).SerializeToString(deterministic=True)
    return serialised


def _standardise(build: _Builder, ensemble: Ensemble, columns: int) -> str:
    build.constant("center", ensemble.standardisation.center, np.float64)
    build.constant("scale", ensemble.standardisation.scale, np.float64)
    build.constant("lowest", -Z_LIMIT, np.float64)
    build.constant("highest", Z_LIMIT, np.float64)
    build.node("Sub", ["x", "center"], "centered")
    build.node("Div", ["centered", "scale"], "unlimited")
    return build.node("Clip", ["unlimited", "lowest", "highest"], "deviations")


def _members(build: _Builder, ensemble: Ensemble, deviations: str, scores: str) -> None:
    """Scores (n, 3) float32 of deviations (n, columns) float64."""
    build.node("Abs", [deviations], "absolute")
    build.node("ReduceMax", ["absolute", "columns_axis"], "largest", keepdims=1)
    build.node("Cast", ["largest"], "score_zscore", to=TensorProto.FLOAT)

    build.constant("whitening", ensemble.covariance.whitening, np.float64)
    build.node("MatMul", [deviations, "whitening"], "whitened")
    build.node("Mul", ["whitened", "whitened"], "squares")
    build.node("ReduceSum", ["squares", "columns_axis"], "distance", keepdims=1)
    build.node("Cast", ["distance"], "score_mahalanobis", to=TensorProto.FLOAT)

    build.node("Cast", [deviations], "single", to=TensorProto.FLOAT)
    build.nodes.append(forest_node(ensemble.forest, "single", "exponent"))
    build.constant("two", 2.0, np.float32)
    build.node("Neg", ["exponent"], "negative_exponent")
    build.node("Pow", ["two", "negative_exponent"], "score_isolation_forest")
    build.node("Concat", [f"score_{member}" for member in Member], scores, axis=1)


def _vote(build: _Builder, scores: str, votes: str, voted: str) -> None:
    build.node("Greater", [scores, "cuts"], votes)
    build.node("Cast", [votes], f"{votes}_as_numbers", to=TensorProto.INT64)
    build.node("ReduceSum", [f"{votes}_as_numbers", "columns_axis"], f"{votes}_count", keepdims=0)
    build.node("GreaterOrEqual", [f"{votes}_count", "votes_needed"], voted)


def _judge_twice(build: _Builder, ensemble: Ensemble, benign: BenignStage, deviations: str) -> None:
    """Score the rows and what remains of them beyond their profile, as one batch of 2n rows."""
    remainder = _remainder(build, benign, deviations)
    build.node("Concat", [deviations, remainder], "both", axis=0)
    _members(build, ensemble, "both", "both_scores")
    build.constant("two_batches", [2, -1, len(Member)], np.int64)
    build.node("Reshape", ["both_scores", "two_batches"], "batches")
    build.constant("as_measured", 0, np.int64)
    build.constant("as_remainder", 1, np.int64)
    build.node("Gather", ["batches", "as_measured"], "scores", axis=0)
    build.node("Gather", ["batches", "as_remainder"], "remainder_scores", axis=0)
    _vote(build, "scores", "votes", "voted")
    _vote(build, "remainder_scores", "remainder_votes", "remainder_voted")
    build.node("Not", ["remainder_voted"], "within_envelope")
    build.node("And", ["any_alike", "within_envelope"], "muted")
    build.node("And", ["voted", "muted"], "benign")
    build.node("Not", ["muted"], "not_muted")
    build.node("And", ["voted", "not_muted"], "flagged")


def _remainder(build: _Builder, benign: BenignStage, deviations: str) -> str:
    """`BenignStage.remainder` of the rows, (n, columns) float64; adds `likeness` and `any_alike`."""
    alike = _alike(build, benign, deviations)
    for name in ("low", "high", "base_low", "base_high"):
        build.constant(name, getattr(benign, name), np.float64)
    build.node("Unsqueeze", [deviations, "columns_axis"], "wide")
    build.node("Max", ["wide", "base_low"], "raised")
    build.node("Min", ["raised", "base_high"], "base")
    build.node("Sub", ["wide", "base"], "excess")
    build.node("GreaterOrEqual", ["wide", "low"], "above_low")
    build.node("LessOrEqual", ["wide", "high"], "below_high")
    build.node("And", ["above_low", "below_high"], "inside")
    build.constant("nothing", 0.0, np.float64)
    build.node("Where", ["inside", "nothing", "excess"], "rest")

    build.constant("last_axis", [2], np.int64)
    build.node("Abs", ["rest"], "absolute_rest")
    build.node("ReduceMax", ["absolute_rest", "last_axis"], "largest_rest", keepdims=0)
    build.constant("not_alike", NOT_ALIKE, np.float64)
    build.node("Where", [alike, "largest_rest", "not_alike"], "contest")
    build.node("ArgMin", ["contest"], "best", axis=1, keepdims=1)
    return build.node("GatherND", ["rest", "best"], "remainder", batch_dims=1)


def _alike(build: _Builder, benign: BenignStage, deviations: str) -> str:
    """Whether each row is like each profile, (n, profiles) bool, by the cosine of their signatures."""
    build.constant("band", benign.space.band, np.float64)
    build.constant("one", 1.0, np.float64)
    build.constant("zero", 0.0, np.float64)
    build.constant("saturation", SATURATION_BANDS - 1, np.float64)
    build.constant("metric_columns", benign.space.members, np.int64)
    build.constant("signatures", benign.signatures.T, np.float64)
    build.constant("least_likeness", benign.least_likeness, np.float64)
    build.constant("tiny", np.finfo(np.float64).tiny, np.float64)
    build.constant("width_axis", [2], np.int64)

    build.node("Abs", [deviations], "absolute_deviations")
    build.node("Div", ["absolute_deviations", "band"], "bands")
    build.node("Sub", ["bands", "one"], "beyond")
    build.node("Div", ["beyond", "saturation"], "unlimited_weight")
    build.node("Clip", ["unlimited_weight", "zero", "one"], "weight")
    build.node("Greater", [deviations, "zero"], "is_upward")
    build.node("Where", ["is_upward", "weight", "zero"], "upward")
    build.node("Sub", ["weight", "upward"], "downward")
    for direction in ("upward", "downward"):
        build.node("Gather", [direction, "metric_columns"], f"{direction}_columns", axis=1)
        build.node("ReduceMax", [f"{direction}_columns", "width_axis"], f"{direction}_metrics", keepdims=0)
    build.node("Concat", ["upward_metrics", "downward_metrics"], "raw_signature", axis=1)
    build.node("Mul", ["raw_signature", "raw_signature"], "signature_squares")
    build.node("ReduceSum", ["signature_squares", "columns_axis"], "square_length", keepdims=1)
    build.node("Sqrt", ["square_length"], "length")
    build.node("Max", ["length", "tiny"], "safe_length")
    build.node("Div", ["raw_signature", "safe_length"], "signature")
    build.node("MatMul", ["signature", "signatures"], "likenesses")
    build.node("ReduceMax", ["likenesses", "columns_axis"], "best_likeness", keepdims=0)
    build.node("Cast", ["best_likeness"], "likeness", to=TensorProto.FLOAT)
    build.node("GreaterOrEqual", ["likenesses", "least_likeness"], "alike")
    build.node("Cast", ["alike"], "alike_as_numbers", to=TensorProto.INT64)
    build.node("ReduceMax", ["alike_as_numbers", "columns_axis"], "any_alike_as_number", keepdims=0)
    build.node("Cast", ["any_alike_as_number"], "any_alike", to=TensorProto.BOOL)
    return "alike"


def _model(build: _Builder, columns: Sequence[str]) -> ModelProto:
    width, members = len(columns), len(Member)
    graph = helper.make_graph(
        build.nodes,
        "pulsetrain_scoring",
        [helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["n", width])],
        [
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", members]),
            helper.make_tensor_value_info("votes", TensorProto.BOOL, ["n", members]),
            helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", width]),
            helper.make_tensor_value_info("likeness", TensorProto.FLOAT, ["n"]),
            helper.make_tensor_value_info("benign", TensorProto.BOOL, ["n"]),
            helper.make_tensor_value_info("flagged", TensorProto.BOOL, ["n"]),
        ],
        initializer=build.constants,
    )
    model = helper.make_model(
        graph,
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in OPSETS.items()],
        producer_name="pulsetrain",
    )
    helper.set_model_props(model, {COLUMNS_PROPERTY: json.dumps(list(columns))})
    checker.check_model(model, full_check=True)
    return model
