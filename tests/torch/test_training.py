"""A real training run on two ranks, with and without the probe: it must not notice what becomes of the probe."""

import os
from typing import Any

import pytest

from tests.torch.ranks import PYTHON_VARIABLE, WORLD_SIZE, Run, train

STEPS = 10
VARIANTS = (
    "probe",
    "no_agent",
    "broken_hook",
    "nan_loss",
    "infinite_loss",
    "reducing_metric",
    "raising_metric",
    "forked_loader",
)


@pytest.fixture(scope="module")
def run() -> Run:
    python = os.environ.get(PYTHON_VARIABLE)
    if not python:
        pytest.skip(f"{PYTHON_VARIABLE} does not name a Python with PyTorch: run `make test-torch`")
    return train(python)


def heard(run: Run, job: str, metric: str) -> list[list[float]]:
    """Values of a metric in the observations of a job, by rank."""
    values: list[list[float]] = [[] for _ in range(WORLD_SIZE)]
    for observation in run.heard:
        if observation.labels["job"] == job and metric in observation.metrics:
            values[int(observation.labels["rank"])].append(observation.values[observation.metrics.index(metric)])
    return values


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_rank_takes_every_step_with_the_losses_of_a_run_without_the_probe(run: Run, variant: str) -> None:
    expected = {one["rank"]: one["losses"] for one in run.printed["without_probe"]}
    assert {one["rank"]: one["losses"] for one in run.printed[variant]} == expected
    assert {len(losses) for losses in expected.values()} == {STEPS}


@pytest.mark.parametrize(
    ("variant", "errors"),
    [
        ("probe", [0, 0]),
        ("no_agent", [0, 0]),
        ("broken_hook", [1, 1]),
        ("nan_loss", [0, 0]),
        ("infinite_loss", [0, 0]),
        ("reducing_metric", [2, 0]),
        ("raising_metric", [2, 2]),
        ("forked_loader", [0, 0]),
    ],
)
def test_what_the_hook_could_not_do_is_counted_on_the_rank_where_it_happened(
    run: Run, variant: str, errors: list[int]
) -> None:
    assert by_rank(run, variant, "errors") == errors


def by_rank(run: Run, variant: str, key: str) -> list[Any]:
    return [one[key] for one in sorted(run.printed[variant], key=lambda one: int(one["rank"]))]


def test_steps_that_nobody_takes_are_counted(run: Run) -> None:
    assert by_rank(run, "no_agent", "dropped") == [STEPS, STEPS]
    assert by_rank(run, "probe", "dropped") == [0, 0]


@pytest.mark.parametrize("variant", ["probe", "forked_loader"])
def test_the_agent_hears_every_step_of_both_ranks_once(run: Run, variant: str) -> None:
    counts = heard(run, variant, "training.step.count")
    assert [values[-1] for values in counts] == [STEPS, STEPS]
    assert all(min(values) > 0 for values in heard(run, variant, "training.data_wait.duration"))
    assert all(min(values) > 0 for values in heard(run, variant, "training.all_reduce.duration"))
    assert all(min(values) > 0 for values in heard(run, variant, "training.gradient.norm"))


@pytest.mark.parametrize("variant", ["nan_loss", "infinite_loss"])
def test_a_loss_that_is_not_finite_reaches_the_agent_as_a_flag(run: Run, variant: str) -> None:
    assert all(max(values) > 0 for values in heard(run, variant, "training.loss.nonfinite"))
    assert all(max(values) == 0 for values in heard(run, "probe", "training.loss.nonfinite"))
