"""A model as bytes: all of it comes back, and damaged bytes are refused."""

import io
import json
import zipfile
from contextlib import suppress
from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulsetrain.models.errors import ModelRejectedError
from pulsetrain.models.fitting import FittedModel, fit, with_feedback
from pulsetrain.models.preparation import plan_assembly
from pulsetrain.models.selection.report import DroppedColumn, DropReason
from pulsetrain.models.selection.summary import summary
from pulsetrain.models.state import MAX_STATE_BYTES, from_state, to_state
from tests.unit.models.telemetry import BENIGN_JOB, HOP_NS, NAMES, WINDOW_NS, add, ends, samples, windows


@cache
def _model() -> FittedModel:
    rows = windows(samples(120, 0))
    model = fit(rows, NAMES, ends(len(rows)), window_ns=WINDOW_NS, hop_ns=HOP_NS)
    job = plan_assembly(model.columns, model.medians, NAMES).assemble(
        windows(samples(60, 1, add(BENIGN_JOB, 10.0, 20.0)))
    )
    return with_feedback(model, job.rows, job.rows[:0])[0]


@cache
def _state() -> bytes:
    return to_state(_model())


def _with(name: str, array: npt.NDArray[np.generic]) -> bytes:
    with np.load(io.BytesIO(_state())) as archive:
        arrays = {entry: archive[entry] for entry in archive.files}
    stream = io.BytesIO()
    np.savez(stream, **{**arrays, name: array})
    return stream.getvalue()


def test_a_model_comes_back_whole() -> None:
    again = from_state(_state())

    assert to_state(again) == _state()
    assert again.graph() == _model().graph()
    assert again.selection == _model().selection


def test_a_state_names_some_of_thousands_of_dropped_features_and_counts_them_all() -> None:
    dropped = tuple(DroppedColumn(f"m{number}__mean", DropReason.OVER_LIMIT) for number in range(160_000))
    model = replace(_model(), selection=replace(_model().selection, dropped=dropped))

    state = to_state(model)

    assert len(state) < len(_state()) + 100_000
    assert summary(from_state(state).selection) == summary(model.selection)


def test_a_state_that_would_not_be_read_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pulsetrain.models.state.MAX_STATE_BYTES", len(_state()) - 1)

    with pytest.raises(ModelRejectedError, match="at most"):
        to_state(_model())


def test_a_state_from_before_there_were_steps_has_none() -> None:
    with np.load(io.BytesIO(_state())) as archive:
        texts = json.loads(archive["json"].tobytes())
    del texts["steps"], texts["faults"], texts["newest_fault_end_ns"], texts["unnamed"]
    texts["dropped"] = [{"name": "cpu.count__mean", "reason": "degenerate", "kept": None}]

    again = from_state(_with("json", np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8))).selection

    assert (again.columns, again.steps, again.faults) == (_model().columns, (), 0)
    assert again.dropped == (DroppedColumn("cpu.count__mean", DropReason.DEGENERATE),)


def test_a_restarted_trainer_learns_the_same_from_a_label() -> None:
    again = from_state(_state())
    other_job = add({"network.received": 9e7, "tcp.retransmits": 30.0}, 10.0, 12.0)
    rows = plan_assembly(again.columns, again.medians, NAMES).assemble(windows(samples(40, 2, other_job))).rows

    assert with_feedback(again, rows, rows[:0])[0].graph() == with_feedback(_model(), rows, rows[:0])[0].graph()


def test_no_pickled_object_is_read() -> None:
    with pytest.raises(ModelRejectedError, match="allow_pickle"):
        from_state(_with("medians", np.array([{"a": 1}], dtype=object)))


def test_an_archive_that_unpacks_to_too_much_is_not_unpacked() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("medians.npy", bytes(MAX_STATE_BYTES + 1))

    assert len(stream.getvalue()) < 100_000
    with pytest.raises(ModelRejectedError, match="unpacked"):
        from_state(stream.getvalue())


@pytest.mark.parametrize(
    ("name", "array", "reason"),
    [
        ("medians", np.zeros(3), "medians has shape"),
        ("scale", np.full(len(_model().columns), np.nan), "scale of float64 is not finite"),
        ("scale", np.zeros(len(_model().columns)), "a scale or a band is not positive"),
        ("forest_left", np.zeros_like(_model().ensemble.forest.left), "a tree's child is out of range"),
        ("forest_feature", np.full_like(_model().ensemble.forest.feature, 9999), "root or feature is out of range"),
        ("members", np.full((3, 2), -1), "has shape|out of range"),
        ("json", np.frombuffer(b'{"format": 2}', dtype=np.uint8), "format 2, expected 1"),
        ("json", np.frombuffer(b"[]", dtype=np.uint8), "not a model state"),
    ],
)
def test_an_inconsistent_state_is_refused_with_the_reason(
    name: str, array: npt.NDArray[np.generic], reason: str
) -> None:
    with pytest.raises(ModelRejectedError, match=reason):
        from_state(_with(name, array))


@settings(max_examples=100, deadline=None)
@given(position=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255), cut=st.booleans())
def test_damaged_bytes_are_refused_and_raise_nothing_else(position: float, value: int, cut: bool) -> None:
    at = int(position * len(_state()))
    damaged = _state()[:at] if cut else _state()[:at] + bytes([value]) + _state()[at + 1 :]

    with suppress(ModelRejectedError):
        assert len(from_state(damaged).columns) == len(_model().columns)


def test_an_array_header_that_is_no_python_literal_is_refused() -> None:
    damaged = _state().replace(b"'fortran_order': False", b"'fortran_order': [alse", 1)

    assert damaged != _state()
    with pytest.raises(ModelRejectedError, match="not a model state"):
        from_state(damaged)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(junk: bytes) -> None:
    with pytest.raises(ModelRejectedError):
        from_state(junk)
