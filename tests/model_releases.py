"""Releases of fitted models, as after a warm-up."""

from pulsetrain.models.fitting import FittedModel
from pulsetrain.models.graph import IR_VERSION, OPSETS
from pulsetrain.models.release import Release, new_release


def warm_up_release(model: FittedModel, name: str, version: int, state: bytes) -> Release:
    """A release that no label has taught anything."""
    return new_release(
        name=name,
        version=version,
        created_ns=1,
        reason="warm_up",
        columns=model.columns,
        medians=model.medians.tolist(),
        opsets=OPSETS,
        ir_version=IR_VERSION,
        graph=model.graph(),
        state=state,
        training_start_ns=model.training_start_ns,
        training_end_ns=model.training_end_ns,
        training_windows=model.training_windows,
        labels_used=0,
    )
