"""The overview of windows and features: figures of several benches, and a load that follows what was measured."""

from collections import Counter
from collections.abc import Callable

import pytest
from aiokafka.partitioner import DefaultPartitioner

from tests.bench import efficient, features, kernels, neighbours, paced_load, state, two_workers, worker
from tests.bench.figures import Figure
from tests.bench.sample_log import node_names

_BENCHES = (kernels, efficient, neighbours, state, worker, two_workers, paced_load)


def test_it_has_the_figures_that_targets_are_set_for() -> None:
    names = {figure.name for figure in features.FIGURES}
    assert names >= {
        "kernel_vs_tsfresh",
        "kernel_vs_calculators",
        "efficient_vs_tsfresh",
        "worker_samples_per_s",
        "worker_vs_empty_agent",
        "two_workers_vs_one",
        "state_vs_raw_window",
        "window_to_features_p99_ms",
        "cpu_per_block_1000_nodes_vs_10",
        "default_vs_tsflex",
        "per_feature_vs_pycatch22",
    }
    assert len(names) == len(features.FIGURES)


def test_the_paced_load_is_half_of_what_the_worker_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[float] = []

    def measuring(figures: tuple[Figure, ...]) -> Callable[..., dict[str, float]]:
        def run(*load: float) -> dict[str, float]:
            loads.extend(load)
            return dict.fromkeys((figure.name for figure in figures), 3000.0)

        return run

    for bench in _BENCHES:
        monkeypatch.setattr(bench, "run", measuring(bench.FIGURES))
    measured = features.run()
    assert loads == [1500.0]
    assert list(measured) == [figure.name for figure in features.FIGURES]


@pytest.mark.parametrize("count", [10, 48, 50])
def test_nodes_are_spread_evenly_over_the_partitions(count: int) -> None:
    names = node_names(count, partitions=4)
    assert len(set(names)) == count
    place = DefaultPartitioner()
    shares = Counter(place(name.encode(), [0, 1, 2, 3], [0, 1, 2, 3]) for name in names)
    assert max(shares.values()) - min(shares.values()) <= 1
