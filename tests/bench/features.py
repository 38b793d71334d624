"""What windows and features cost, from kernels to workers: the figures of several benches in one table and file."""

from collections.abc import Callable, Mapping
from types import ModuleType

from tests.bench import efficient, kernels, neighbours, paced_load, state, two_workers, worker

_HALF = 0.5

_TABLE: Mapping[ModuleType, frozenset[str]] = {
    kernels: frozenset(
        {
            "kernel_ms_per_window",
            "kernel_vs_tsfresh",
            "kernel_vs_calculators",
            "read_once_ms_per_window",
            "kernel_vs_read_once",
        }
    ),
    efficient: frozenset({"efficient_vs_tsfresh", "efficient_mixed_vs_tsfresh"}),
    neighbours: frozenset({"default_vs_tsflex", "per_feature_vs_pycatch22"}),
    state: frozenset({"state_kb_per_node", "state_vs_raw_window"}),
    worker: frozenset(figure.name for figure in worker.FIGURES),
    two_workers: frozenset({"two_workers_vs_one"}),
    paced_load: frozenset(figure.name for figure in paced_load.FIGURES),
}

FIGURES = tuple(figure for bench, names in _TABLE.items() for figure in bench.FIGURES if figure.name in names)


def run() -> dict[str, float]:
    """Each bench in turn; the paced load is half of what the worker has just been measured to take."""
    measured: dict[str, float] = {}
    for bench in _TABLE:
        work: Callable[..., dict[str, float]] = bench.run
        measured |= work(_HALF * measured["worker_blocks_per_s"]) if bench is paced_load else work()
    return {figure.name: measured[figure.name] for figure in FIGURES}
