"""What a worker accepts as a graph, and what it refuses with a reason."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, helper

from pulsetrain.models import runtime
from pulsetrain.models.errors import ModelRejectedError, NonFiniteInputError
from pulsetrain.models.fitting import fit
from pulsetrain.models.runtime import Scorer

COLUMNS = ("a__mean", "b__mean", "c__mean", "d__mean")
SECOND_NS = 1_000_000_000


@cache
def _graph() -> bytes:
    rows = np.random.default_rng(0).normal(size=(60, 4))
    ends = np.arange(60, dtype=np.int64) * SECOND_NS
    return fit(rows, COLUMNS, ends, window_ns=SECOND_NS, hop_ns=SECOND_NS).graph()


def _changed(change: Callable[[ModelProto], object]) -> bytes:
    model = onnx.load_model_from_string(_graph())
    change(model)
    serialised: bytes = model.SerializeToString()
    return serialised


def _external(model: ModelProto) -> None:
    tensor = model.graph.initializer[0]
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../etc/passwd")


def _foreign_node(model: ModelProto) -> None:
    model.graph.node.append(helper.make_node("Anything", ["x"], ["y"], domain="com.example"))


def _no_scale(model: ModelProto) -> None:
    kept = [tensor for tensor in model.graph.initializer if tensor.name != "scale"]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)


def _nan_center(model: ModelProto) -> None:
    tensor = next(tensor for tensor in model.graph.initializer if tensor.name == "center")
    tensor.raw_data = np.full(4, np.nan).tobytes()


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (b"", "a graph has 1 to"),
        (b"\xff\xfe{}", "not an ONNX model"),
        (_graph()[: len(_graph()) // 2], "not an ONNX model"),
        (_changed(lambda model: setattr(model, "ir_version", 99)), "ir_version 99: at most 9 is accepted"),
        (_changed(lambda model: setattr(model.opset_import[0], "version", 99)), "opsets"),
        (_changed(lambda model: model.opset_import.add(domain="com.example", version=1)), "opsets"),
        (_changed(_foreign_node), "operators of other domains"),
        (_changed(_external), "weights outside the graph"),
        (_changed(lambda model: setattr(model.graph.input[0], "name", "y")), "the one input x"),
        (_changed(lambda model: model.graph.output.pop()), "must have the outputs"),
        (_changed(lambda model: setattr(model.graph.node[0], "op_type", "Nonsense")), "invalid ONNX model"),
        (_changed(_no_scale), "scale"),
        (_changed(_nan_center), "does not run"),
    ],
)
def test_a_graph_that_is_damaged_or_not_ours_is_refused_with_the_reason(graph: bytes, reason: str) -> None:
    with pytest.raises(ModelRejectedError, match=reason):
        Scorer(graph, COLUMNS)


def test_a_graph_for_other_columns_is_refused() -> None:
    with pytest.raises(ModelRejectedError, match="not those of its manifest"):
        Scorer(_graph(), ("b__mean", "a__mean", "c__mean", "d__mean"))


def test_an_oversized_graph_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "MAX_GRAPH_BYTES", 1000)

    with pytest.raises(ModelRejectedError, match="1 to 1000 bytes"):
        Scorer(_graph(), COLUMNS)


@settings(max_examples=60, deadline=None)
@given(position=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255), cut=st.booleans())
def test_damaged_bytes_are_refused_or_score_finitely_but_nothing_else_happens(
    position: float, value: int, cut: bool
) -> None:
    graph = bytearray(_graph())
    at = int(position * len(graph))
    damaged = bytes(graph[:at]) if cut else bytes(graph[:at]) + bytes([value]) + bytes(graph[at + 1 :])

    with suppress(ModelRejectedError):
        assert np.isfinite(Scorer(damaged, COLUMNS).score(np.ones((1, 4))).deviations).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_gap_never_enters_the_graph(bad: float) -> None:
    with pytest.raises(NonFiniteInputError, match="row 1, column c__mean"):
        Scorer(_graph(), COLUMNS).score(np.array([[0, 0, 0, 0], [0, 0, bad, 0]]))


def test_deviations_are_in_sigmas_from_the_expected_values() -> None:
    scorer = Scorer(_graph(), COLUMNS)

    got = scorer.score(scorer.expected[None, :] + np.array([[0.0, 5.0, -2.0, 0.0]]) * scorer.scale)

    assert got.deviations[0] == pytest.approx([0, 5, -2, 0], abs=1e-6)
    assert got.scores[0, 0] == pytest.approx(5, rel=1e-6)


def test_no_rows_give_no_scores() -> None:
    assert Scorer(_graph(), COLUMNS).score(np.empty((0, 4))).flagged.shape == (0,)
