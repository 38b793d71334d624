"""A graph as a worker runs it: checked before it is loaded, then scored in batches on one thread."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, TensorProto, numpy_helper

from pulsetrain.models.detectors import Member
from pulsetrain.models.errors import ModelRejectedError, NonFiniteInputError
from pulsetrain.models.forest import Float32Array
from pulsetrain.models.graph import COLUMNS_PROPERTY, IR_VERSION, OPSETS
from pulsetrain.models.preparation import BoolArray
from pulsetrain.schemas.arrays import FloatArray

MAX_GRAPH_BYTES = 32 * 1024 * 1024
OUTPUTS = ("scores", "votes", "z", "likeness", "benign", "flagged")


@dataclass(frozen=True, slots=True)
class Scores:
    """Verdicts of n rows; the columns of `scores` and `votes` (n, 3) are in the order of `Member`.

    `deviations` (n, columns) are in sigma; `likeness` (n,) is that to the most alike benign profile;
    `benign` (n,) marks rows that the vote flagged and a label excused; `flagged` (n,) is the verdict.
    """

    scores: Float32Array
    votes: BoolArray
    deviations: Float32Array
    likeness: Float32Array
    benign: BoolArray
    flagged: BoolArray


class Scorer:
    """One version of a model, ready to score.

    `expected` and `scale` (columns,) are the normal mean and sigma of each column, `cuts` (3,) the members' cuts.

    Raises:
        ModelRejectedError: the bytes are no graph of ours, or it does not run here; the message says why.
    """

    def __init__(self, graph: bytes, columns: Sequence[str]) -> None:
        model = _checked(graph, tuple(columns))
        self.columns = tuple(columns)
        constants = {tensor.name: tensor for tensor in model.graph.initializer}
        try:
            self.expected: FloatArray = numpy_helper.to_array(constants["center"])
            self.scale: FloatArray = numpy_helper.to_array(constants["scale"])
            self.cuts: Float32Array = numpy_helper.to_array(constants["cuts"])
        except (KeyError, ValueError) as error:
            raise ModelRejectedError(f"the graph lacks its constants: {error!r}") from error
        self._session = _session(graph)
        self._test()

    def score(self, rows: FloatArray) -> Scores:
        """Score rows (n, columns) in one call.

        Raises:
            NonFiniteInputError: a value is NaN or infinite; tree branches are undefined for those.
        """
        if not np.isfinite(rows).all():
            bad = np.argwhere(~np.isfinite(rows))[0]
            raise NonFiniteInputError(
                f"row {bad[0]}, column {self.columns[bad[1]]} is not finite: impute before scoring"
            )
        outputs = self._session.run(OUTPUTS, {"x": np.ascontiguousarray(rows, dtype=np.float64)})
        return Scores(*outputs)

    def _test(self) -> None:
        """Score the expected row once: the graph must run and call its own centre normal."""
        try:
            result = self.score(self.expected[None, :])
        except Exception as error:
            raise ModelRejectedError(f"the graph does not run: {error}") from error
        if result.scores.shape != (1, len(Member)) or not np.isfinite(result.scores).all():
            raise ModelRejectedError(f"the graph gives scores {result.scores.tolist()} for its own centre")


def _checked(graph: bytes, columns: tuple[str, ...]) -> ModelProto:
    if not 0 < len(graph) <= MAX_GRAPH_BYTES:
        raise ModelRejectedError(f"a graph has 1 to {MAX_GRAPH_BYTES} bytes, this one has {len(graph)}")
    try:
        model = onnx.load_model_from_string(graph)
    except Exception as error:
        raise ModelRejectedError(f"not an ONNX model: {error}") from error
    if model.ir_version > IR_VERSION or model.ir_version < 1:
        raise ModelRejectedError(f"ir_version {model.ir_version}: at most {IR_VERSION} is accepted")
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    if opsets != OPSETS:
        raise ModelRejectedError(f"opsets {opsets}: {OPSETS} are expected")
    foreign = {node.domain for node in model.graph.node} - set(OPSETS)
    if foreign or model.functions:
        raise ModelRejectedError(f"operators of other domains than ONNX's own: {sorted(foreign)}")
    if any(tensor.data_location == TensorProto.EXTERNAL for tensor in model.graph.initializer):
        raise ModelRejectedError("weights outside the graph are not accepted")
    properties = {entry.key: entry.value for entry in model.metadata_props}
    try:
        named = json.loads(properties.get(COLUMNS_PROPERTY, "null"))
    except ValueError:
        named = None
    if named != list(columns):
        raise ModelRejectedError("the graph's columns are not those of its manifest")
    _check_input(model, len(columns))
    try:
        onnx.checker.check_model(model)
    except Exception as error:
        raise ModelRejectedError(f"invalid ONNX model: {error}") from error
    return model


def _check_input(model: ModelProto, width: int) -> None:
    if [value.name for value in model.graph.input] != ["x"]:
        raise ModelRejectedError("the graph must have the one input x")
    if {value.name for value in model.graph.output} != set(OUTPUTS):
        raise ModelRejectedError(f"the graph must have the outputs {', '.join(OUTPUTS)}")
    tensor = model.graph.input[0].type.tensor_type
    shape = [dimension.dim_value for dimension in tensor.shape.dim]
    if tensor.elem_type != TensorProto.DOUBLE or len(shape) != 2 or shape[1] != width:
        raise ModelRejectedError(f"the input must be float64 of shape (n, {width}), it is {shape}")


def _session(graph: bytes) -> onnxruntime.InferenceSession:
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelRejectedError(f"the runtime refuses the graph: {error}") from error
