"""Learning normal from a warm-up: what is flagged afterwards, and when there is no model."""

import numpy as np
import pytest

from pulsetrain.models.errors import DegenerateTrainingSetError
from pulsetrain.models.fitting import FittedModel, fit
from pulsetrain.models.preparation import BoolArray, plan_assembly
from pulsetrain.models.runtime import Scorer
from pulsetrain.models.selection.report import DropReason
from pulsetrain.schemas.arrays import FloatArray
from tests.unit.models.telemetry import HOP_NS, NAMES, WINDOW_NS, add, ends, samples, windows


def _fit(rows: FloatArray, names: tuple[str, ...] = NAMES) -> FittedModel:
    return fit(rows, names, ends(len(rows)), window_ns=WINDOW_NS, hop_ns=HOP_NS)


def _flagged(model: FittedModel, rows: FloatArray) -> BoolArray:
    plan = plan_assembly(model.columns, model.medians, NAMES)
    return Scorer(model.graph(), model.columns).score(plan.assemble(rows).rows).flagged


@pytest.mark.parametrize("warm_up_seconds", [60, 120, 300])
def test_an_hour_like_the_warm_up_has_hardly_a_false_alarm(warm_up_seconds: int) -> None:
    # One a day is wanted; a minute of warm-up cannot promise that, but it comes near.
    flagged = [
        _flagged(_fit(windows(samples(warm_up_seconds, seed))), windows(samples(1200, 100 + seed))).mean()
        for seed in range(3)
    ]

    assert np.mean(flagged) < {60: 0.01, 120: 0.002, 300: 0.0005}[warm_up_seconds]


@pytest.mark.parametrize(
    "fault",
    [
        {"cpu.user": 0.7, "run_queue": 4.0},
        {"disk.written": 8e7, "disk.operations": 500.0},
        {"tcp.retransmits": 50.0},
        {"gpu.temperature": 12.0},
        {"gpu.power": -150.0},
    ],
)
def test_real_faults_are_flagged_within_a_window(fault: dict[str, float]) -> None:
    model = _fit(windows(samples(90, 0)))

    flagged = _flagged(model, windows(samples(40, 5, add(fault, 15.0, 12.0))))

    # The window [11, 16) is the first with a sample of it, [15, 20) the first within it.
    assert flagged[11:16].any()
    assert flagged[15:23].all()


def test_a_warm_up_with_a_burst_in_it_still_flags_faults() -> None:
    burst = add({"disk.written": 3e7, "context_switches": 1e4}, 40.0, 3.0)
    model = _fit(windows(samples(120, 0, burst)))

    flagged = _flagged(model, windows(samples(40, 5, add({"cpu.user": 0.7, "run_queue": 6.0}, 15.0, 12.0))))

    assert flagged[15:23].all()


def test_constant_windows_give_no_model() -> None:
    with pytest.raises(DegenerateTrainingSetError):
        fit(np.ones((100, 10)), [f"m{i}__mean" for i in range(10)], ends(100), window_ns=WINDOW_NS, hop_ns=HOP_NS)


def test_a_few_windows_over_and_over_give_no_model() -> None:
    rows = np.tile(np.random.default_rng(0).normal(size=(5, len(NAMES))), (40, 1))

    with pytest.raises(DegenerateTrainingSetError, match="200 training windows, 5 of them distinct"):
        _fit(rows)


def test_too_short_a_warm_up_says_what_is_missing() -> None:
    with pytest.raises(DegenerateTrainingSetError, match="25 windows leave 15 to train on"):
        _fit(windows(samples(29, 0)))


def test_gaps_in_the_warm_up_become_medians_not_zeros() -> None:
    rows = windows(samples(120, 0))
    gappy = rows.copy()
    gappy[::20, NAMES.index("gpu.power__mean")] = np.nan

    model = _fit(gappy)

    at = model.columns.index("gpu.power__mean")
    assert model.medians[at] == pytest.approx(np.nanmedian(gappy[:, NAMES.index("gpu.power__mean")]))
    assert model.ensemble.standardisation.center[at] == pytest.approx(280, abs=2)


def test_a_model_reports_its_span_and_what_it_left_out() -> None:
    rows = windows(samples(120, 0))
    rows = np.column_stack([rows, np.full(len(rows), 4.0)])

    model = _fit(rows, (*NAMES, "cpu.count__mean"))

    assert (model.training_start_ns, model.training_end_ns) == (ends(len(rows))[0], ends(len(rows))[-1])
    assert model.training_windows == len(rows)
    assert ("cpu.count__mean", DropReason.DEGENERATE) in [(d.name, d.reason) for d in model.selection.dropped]


def test_the_same_warm_up_gives_the_same_graph() -> None:
    rows = windows(samples(60, 0))

    assert _fit(rows).graph() == _fit(rows).graph()


def test_after_a_legitimate_change_a_model_of_the_new_normal_flags_the_old_one() -> None:
    random = np.random.default_rng(0)
    before, after = (random.normal(level, 1, size=(200, 4)) for level in (0, 10))
    names = tuple(f"m{i}__mean" for i in range(4))
    old, new = _fit(before, names), _fit(after, names)

    assert Scorer(old.graph(), old.columns).score(after).flagged.mean() > 0.9
    assert Scorer(new.graph(), new.columns).score(after).flagged.mean() < 0.05
    assert Scorer(new.graph(), new.columns).score(before).flagged.mean() > 0.9


def test_a_level_that_stays_anomalous_for_hours_stays_flagged() -> None:
    model = _fit(windows(samples(300, 0)))

    hot = windows(samples(1200, 1, add({"gpu.temperature": 15.0}, 0.0, 1200.0)))

    assert _flagged(model, hot).all()
