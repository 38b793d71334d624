"""One window against one model: columns by name, gaps imputed and reported, too many of them not scored."""

import numpy as np
import pytest

from pulsetrain.models.fitting import fit
from pulsetrain.models.graph import IR_VERSION, OPSETS
from pulsetrain.models.runtime import Scorer
from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.schemas.columns import column_names
from pulsetrain.schemas.feature_window import FeatureWindow, SampleCount
from pulsetrain.schemas.model_release import ModelManifest
from pulsetrain.streams.recent_windows import KEPT_WINDOWS, RecentWindows
from pulsetrain.streams.scoring import WindowScorer
from pulsetrain.streams.verdicts import Judgement

SECOND = 1_000_000_000
METRICS = ("a", "b", "c", "d", "e", "f")
FEATURES = ("mean", "standard_deviation")


def _window(values: FloatArray, metrics: tuple[str, ...] = METRICS) -> FeatureWindow:
    counts = np.zeros((len(metrics), len(SampleCount)), dtype=np.int64)
    return FeatureWindow("n", "s", "n/host", {}, 0, 30 * SECOND, True, metrics, FEATURES, values, counts)


@pytest.fixture(scope="module")
def scorer() -> WindowScorer:
    """A model of six metrics that are about 10, each with a spread of about 1."""
    random = np.random.default_rng(1)
    rows = random.normal(10.0, 1.0, size=(200, len(METRICS) * len(FEATURES)))
    ends = np.arange(1, 201, dtype=np.int64) * 30 * SECOND
    model = fit(rows, column_names(METRICS, FEATURES), ends, window_ns=30 * SECOND, hop_ns=30 * SECOND)
    graph = model.graph()
    manifest = ModelManifest(
        name="host",
        version=7,
        created_ns=1,
        reason="warm_up",
        columns=model.columns,
        medians=tuple(model.medians),
        opsets=OPSETS,
        ir_version=IR_VERSION,
        graph_bytes=len(graph),
        state_bytes=0,
        sha256="",
        training_start_ns=0,
        training_end_ns=1,
        training_windows=200,
        labels_used=0,
    )
    return WindowScorer(manifest, Scorer(graph, model.columns))


def _judge(scorer: WindowScorer, window: FeatureWindow) -> Judgement:
    judgement = scorer.judge(window)
    assert isinstance(judgement, Judgement), judgement
    return judgement


def test_the_evidence_names_the_metric_that_deviates_and_by_how_many_sigma(scorer: WindowScorer) -> None:
    values = np.full((6, 2), 10.0)
    values[3, 0] = 60.0
    judgement = _judge(scorer, _window(values))
    assert judgement.flagged
    assert judgement.score > 1
    assert judgement.evidence[0].metric == "d"
    assert judgement.evidence[0].feature == "mean"
    assert judgement.evidence[0].value == 60.0
    # the 200 rows have a mean of about 10 and a spread of about 1
    assert judgement.evidence[0].deviation_sigma == pytest.approx(50, rel=0.15)
    assert judgement.model.version == 7


def test_metrics_in_another_order_and_further_ones_change_nothing(scorer: WindowScorer) -> None:
    values = np.random.default_rng(2).normal(10.0, 1.0, size=(6, 2))
    order = [5, 3, 1, 0, 2, 4]
    metrics = (*(METRICS[i] for i in order), "unheard-of")
    shuffled = _window(np.vstack([values[order], [[1e9, 1e9]]]), metrics)
    assert _judge(scorer, shuffled) == _judge(scorer, _window(values))


def test_a_missing_value_is_imputed_and_reported_and_never_an_alarm(scorer: WindowScorer) -> None:
    values = np.full((6, 2), 10.0)
    values[2] = np.nan  # 2 of 12 columns
    judgement = _judge(scorer, _window(values))
    assert judgement.imputed_columns == 2
    assert not judgement.flagged


def test_a_window_with_more_than_a_fifth_missing_is_not_scored(scorer: WindowScorer) -> None:
    values = np.full((6, 2), 10.0)
    values[:2] = np.nan  # 4 of 12 columns
    assert scorer.judge(_window(values)) == "too_much_missing: 33% of the model's columns"


def test_an_absent_column_is_refused_by_name_never_shifted(scorer: WindowScorer) -> None:
    refusal = scorer.judge(_window(np.full((5, 2), 10.0), METRICS[:5]))
    assert isinstance(refusal, str)
    assert refusal.startswith("absent_column: ")
    assert "f__mean" in refusal


def test_recent_windows_are_rows_by_name_with_gaps_where_a_column_is_absent() -> None:
    recent = RecentWindows()
    assert recent.rows("host", ("a__mean",)) is None
    for number in range(KEPT_WINDOWS + 3):
        recent.add(_window(np.full((6, 2), float(number))))
    rows = recent.rows("host", ("b__mean", "unheard-of__mean"))
    assert rows is not None
    assert rows[:, 0].tolist() == [float(number) for number in range(3, KEPT_WINDOWS + 3)]
    assert np.isnan(rows[:, 1]).all()
