"""A training that fails, for whatever reason, is a refusal with a reason."""

from typing import Any

import numpy as np
import pytest

from pulsetrain.models import training_task
from pulsetrain.models.errors import ParityError
from pulsetrain.models.training_matrix import TrainingMatrix
from pulsetrain.models.training_task import Refused, Trained, TrainerSettings, TrainingReason, TrainingTask, execute

NS = 1_000_000_000


def task(rows: int = 120) -> TrainingTask:
    return TrainingTask(
        name="host",
        version=4,
        reason=TrainingReason.WARM_UP,
        created_ns=1,
        settings=TrainerSettings(window_ns=5 * NS, hop_ns=5 * NS, warm_up_ns=600 * NS, activation_delay_ns=10 * NS),
        normal=TrainingMatrix(
            ("cpu__mean", "memory__mean"),
            np.random.default_rng(1).normal(size=(rows, 2)),
            np.arange(1, rows + 1, dtype=np.int64) * 5 * NS,
            ("node-a/host",) * rows,
        ),
        base=None,
        episodes=(),
    )


def test_a_training_says_what_it_learned_from() -> None:
    result = execute(task())

    assert isinstance(result, Trained)
    assert result.message == (
        f"version 4 of model host (warm_up): 2 columns of {result.release.manifest.training_windows} windows; "
        "nothing is labelled"
    )


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ParityError("zscore of row 3 differs by 2.0e-02 of its scale"), "zscore of row 3 differs"),
        (np.linalg.LinAlgError("eigenvalues did not converge"), "LinAlgError: eigenvalues did not converge"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_a_failing_gate_is_a_refusal_and_no_exception(
    monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(training_task, "check_parity", fail)

    result = execute(task())

    assert isinstance(result, Refused)
    assert result.message.startswith("version 4 of model host (warm_up) was not trained: ")
    assert message in result.message


def test_too_few_windows_are_a_refusal() -> None:
    result = execute(task(rows=12))

    assert isinstance(result, Refused)
    assert "training windows" in result.message


def test_a_model_too_large_for_the_topic_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pulsetrain.models.release.MAX_PAYLOAD_BYTES", 1000)

    result = execute(task())

    assert isinstance(result, Refused)
    assert "both together may have 1000 bytes" in result.message
