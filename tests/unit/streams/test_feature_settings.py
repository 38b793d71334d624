"""Feature sets from the configuration: a table, a name, and a set of a metric's own."""

from pathlib import Path

import pytest

from pulsetrain.cli.config import load_config
from pulsetrain.cli.errors import ConfigError
from pulsetrain.streams.features import FeatureSets


def test_sets_are_given_by_name_or_as_tables_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "pulsetrain.toml"
    file.write_text(
        """
        [worker]
        features = "MinimalFCParameters"
        [worker.metric_features]
        "system.memory.usage" = "EfficientFCParameters"
        [worker.metric_features."system.cpu.utilization"]
        mean = []
        quantile = [{ q = 0.5 }, { q = 0.99 }]
        """
    )
    worker = load_config(file).worker
    sets = FeatureSets.from_fc_parameters(worker.features, worker.metric_features)
    assert sets.default.suffixes[:2] == ("sum_values", "median")
    assert sets.for_metric("system.cpu.utilization").suffixes == ("mean", "quantile__q_0.5", "quantile__q_0.99")
    assert len(sets.for_metric("system.memory.usage").suffixes) == 777


def test_sets_are_given_by_name_or_in_json_in_variables() -> None:
    worker = load_config(
        environment={
            "PULSETRAIN_WORKER__FEATURES": "MinimalFCParameters",
            "PULSETRAIN_WORKER__METRIC_FEATURES": '{"system.cpu.utilization": {"c3": [{"lag": 3}]}}',
        }
    ).worker
    sets = FeatureSets.from_fc_parameters(worker.features, worker.metric_features)
    assert len(sets.default.suffixes) == 10
    assert sets.for_metric("system.cpu.utilization").suffixes == ("c3__lag_3",)


@pytest.mark.parametrize(
    ("variable", "text"),
    [("FEATURES", "[1]"), ("METRIC_FEATURES", "EfficientFCParameters"), ("METRIC_FEATURES", '{"cpu": 3}')],
)
def test_what_is_no_set_is_refused_with_the_name_of_the_setting(variable: str, text: str) -> None:
    with pytest.raises(ConfigError, match=rf"worker\.{variable.lower()} .* can't be used"):
        load_config(environment={f"PULSETRAIN_WORKER__{variable}": text})
