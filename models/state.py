"""A fitted model as bytes and back, without pickle: what a restarted trainer learns on from."""

import io
import json
import zipfile
from dataclasses import asdict

import numpy as np
import numpy.typing as npt

from pulsetrain.models.benign import MAX_PROFILES, BenignStage, SignatureSpace
from pulsetrain.models.detectors import Covariance, Ensemble, Member, Standardisation
from pulsetrain.models.errors import ModelRejectedError
from pulsetrain.models.fitting import FittedModel
from pulsetrain.models.forest import TREES, Forest
from pulsetrain.models.selection.report import ColumnReport, DroppedColumn, DropReason, Step, StepOutcome
from pulsetrain.models.selection.summary import named_first

MAX_STATE_BYTES = 32 * 1024 * 1024
FORMAT = 1

_FOREST = ("roots", "feature", "threshold", "left", "right", "path_share")
_BENIGN = ("signatures", "least_likeness", "low", "high", "base_low", "base_high")
_NUMBERS = (
    "training_start_ns",
    "training_end_ns",
    "training_windows",
    "window_ns",
    "hop_ns",
)

Arrays = dict[str, npt.NDArray[np.generic]]


def to_state(model: FittedModel) -> bytes:
    """A zip archive of `.npy` arrays and one JSON text; equal models give equal bytes.

    Of the features that were dropped it keeps those that a manifest names, and counts the others.

    Raises:
        ModelRejectedError: it would be larger than `from_state` reads.
    """
    ensemble, benign, selection = model.ensemble, model.benign, named_first(model.selection)
    texts = {
        "format": FORMAT,
        "columns": model.columns,
        "dropped": [asdict(column) for column in selection.dropped],
        "unnamed": selection.unnamed,
        "steps": [asdict(outcome) for outcome in selection.steps],
        "faults": selection.faults,
        "newest_fault_end_ns": selection.newest_fault_end_ns,
        "shrinkage": ensemble.covariance.shrinkage,
        "rank": ensemble.covariance.rank,
        "false_alarms_per_day": model.false_alarms_per_day,
        **{name: getattr(model, name) for name in _NUMBERS},
    }
    arrays: Arrays = {
        "json": np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8),
        "medians": model.medians,
        "center": ensemble.standardisation.center,
        "scale": ensemble.standardisation.scale,
        "whitening": ensemble.covariance.whitening,
        "cuts": ensemble.cuts,
        "band": benign.space.band,
        "members": benign.space.members,
        **{f"forest_{name}": getattr(ensemble.forest, name) for name in _FOREST},
        **{f"benign_{name}": getattr(benign, name) for name in _BENIGN},
    }
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    state = stream.getvalue()
    if len(state) > MAX_STATE_BYTES:
        raise ModelRejectedError(f"the model's state has {len(state)} bytes, at most {MAX_STATE_BYTES} are kept")
    return state


def from_state(state: bytes) -> FittedModel:
    """The model of a state.

    Raises:
        ModelRejectedError: the bytes are damaged, too large, of another format or inconsistent.
    """
    try:
        arrays = _arrays(state)
        texts = json.loads(arrays["json"].tobytes())
        if texts["format"] != FORMAT:
            raise ValueError(f"format {texts['format']}, expected {FORMAT}")
        model = _model(texts, arrays)
        _check_shapes(model)
    except Exception as error:  # zipfile, zlib, tokenize and ast each raise their own on damaged bytes
        raise ModelRejectedError(f"not a model state: {error!r}") from error
    return model


def _arrays(state: bytes) -> Arrays:
    if not 0 < len(state) <= MAX_STATE_BYTES:
        raise ValueError(f"{len(state)} bytes, at most {MAX_STATE_BYTES} are read")
    with zipfile.ZipFile(io.BytesIO(state)) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > MAX_STATE_BYTES:
        raise ValueError(f"{unpacked} bytes unpacked, at most {MAX_STATE_BYTES} are read")
    with np.load(io.BytesIO(state), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name, array in arrays.items():
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise ValueError(f"array {name} of {array.dtype} is not finite numbers")
    return arrays


def _model(texts: dict[str, object], arrays: Arrays) -> FittedModel:
    floats = {name: a.astype(np.float64) for name, a in arrays.items() if a.dtype.kind == "f"}
    integers = {name: a.astype(np.int64) for name, a in arrays.items() if a.dtype.kind == "i"}
    return FittedModel(
        selection=_selection(texts),
        medians=floats["medians"],
        ensemble=Ensemble(
            Standardisation(floats["center"], floats["scale"]),
            Covariance(floats["whitening"], _number(texts, "shrinkage"), int(_number(texts, "rank"))),
            Forest(
                roots=integers["forest_roots"],
                feature=integers["forest_feature"],
                threshold=floats["forest_threshold"],
                left=integers["forest_left"],
                right=integers["forest_right"],
                path_share=floats["forest_path_share"],
            ),
            floats["cuts"],
        ),
        benign=BenignStage(
            SignatureSpace(floats["band"], integers["members"]),
            **{name: floats[f"benign_{name}"] for name in _BENIGN},
        ),
        false_alarms_per_day=_number(texts, "false_alarms_per_day"),
        **{name: int(_number(texts, name)) for name in _NUMBERS},
    )


def _selection(texts: dict[str, object]) -> ColumnReport:
    """The report; states of before there were steps have none, and no figures."""
    columns, dropped, steps = texts["columns"], texts["dropped"], texts.get("steps", [])
    unnamed = texts.get("unnamed", {})
    if not (isinstance(columns, list) and isinstance(dropped, list) and isinstance(steps, list)):
        raise TypeError("columns, dropped and steps must be lists")
    if not (isinstance(unnamed, dict) and all(isinstance(count, int) and count > 0 for count in unnamed.values())):
        raise TypeError("unnamed must be counts")
    return ColumnReport(
        columns=tuple(str(column) for column in columns),
        dropped=tuple(DroppedColumn(d["name"], DropReason(d["reason"]), d["kept"], d.get("figure")) for d in dropped),
        steps=tuple(StepOutcome(Step(s["step"]), bool(s["applied"]), str(s["detail"])) for s in steps),
        faults=int(_number({"faults": 0, **texts}, "faults")),
        newest_fault_end_ns=int(_number({"newest_fault_end_ns": 0, **texts}, "newest_fault_end_ns")),
        unnamed={DropReason(reason): count for reason, count in unnamed.items()},
    )


def _number(texts: dict[str, object], name: str) -> float | int:
    value = texts[name]
    if not isinstance(value, int | float):
        raise TypeError(f"{name} is no number")
    return value


def _check_shapes(model: FittedModel) -> None:
    width, benign, forest = len(model.columns), model.benign, model.ensemble.forest
    profiles, nodes = benign.profiles, len(forest.feature)
    metrics = len(benign.space.members)
    expected = {
        "medians": (model.medians, (width,)),
        "center": (model.ensemble.standardisation.center, (width,)),
        "scale": (model.ensemble.standardisation.scale, (width,)),
        "whitening": (model.ensemble.covariance.whitening, (width, width)),
        "cuts": (model.ensemble.cuts, (len(Member),)),
        "band": (benign.space.band, (width,)),
        "signatures": (benign.signatures, (profiles, 2 * metrics)),
        "least_likeness": (benign.least_likeness, (profiles,)),
        **{name: (getattr(benign, name), (profiles, width)) for name in _BENIGN[2:]},
        "roots": (forest.roots, (TREES,)),
        **{name: (getattr(forest, name), (nodes,)) for name in _FOREST[1:]},
    }
    for name, (array, shape) in expected.items():
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
    if width == 0 or profiles > MAX_PROFILES:
        raise ValueError(f"{width} columns and {profiles} profiles")
    if (model.ensemble.standardisation.scale <= 0).any() or (benign.space.band <= 0).any():
        raise ValueError("a scale or a band is not positive")
    _check_trees(forest, width)
    if benign.space.members.ndim != 2 or not _within(benign.space.members, width):
        raise ValueError("metric columns out of range")


def _check_trees(forest: Forest, width: int) -> None:
    """Children lie behind their parent, so that every walk ends."""
    nodes = np.arange(len(forest.feature))
    inner = forest.feature >= 0
    if not (_within(forest.roots, len(nodes)) and _within(forest.feature + 1, width + 1)):
        raise ValueError("a tree's root or feature is out of range")
    for child in (forest.left[inner], forest.right[inner]):
        if not (_within(child, len(nodes)) and (child > nodes[inner]).all()):
            raise ValueError("a tree's child is out of range")


def _within(index: npt.NDArray[np.int64], limit: int) -> bool:
    return bool(((index >= 0) & (index < limit)).all())
