"""What a longer interval saves, and which faults it costs: real ones, recorded once at 100 ms, judged at each interval.

The agent records; its blocks are thinned to the longer intervals and go through the product's windows and features. The
rule is the plainest, and the same at each interval: a window is flagged when a feature of a few watched metrics lies
beyond three sigma of quiet windows, or beyond what one in twenty of the other quiet windows shows, whichever is more.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from pulsetrain.cli.brokers.embedded import EmbeddedBroker
from pulsetrain.models.detectors import Z_SCORE_FLOOR, fit_standardisation
from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.schemas.feature_window import FeatureWindow
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.sample_block import SampleBlock, decode_sample_block
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams.extraction import feature_windows
from pulsetrain.streams.features import FeatureSets
from pulsetrain.streams.settings import NS, WindowSettings
from pulsetrain.streams.windows import WindowEngine
from tests.bench.faults import KINDS, Fault, injector
from tests.bench.figures import Figure
from tests.bench.peers.peer import Peer
from tests.bench.peers.pulsetrain import pulsetrain_agent
from tests.bench.peers.slices import measure_in_turns
from tests.bench.subsampling import at_interval
from tests.topic_log import TopicReader

_INTERVALS_MS = (100, 200, 500, 1000)
_RECORDED_MS = _INTERVALS_MS[0]
_SECONDS_OF_FAULTS = (0.3, 0.7, 1.5, 3.0)
_TIMES_EACH = 3
_SEED = 7
_QUIET_SECONDS = 40.0
_GAP_SECONDS = 7.0
_WINDOWS = WindowSettings(length_seconds=5.0, hop_seconds=1.0)

_METRICS = (
    "system.cpu.utilization",
    "system.disk.io{disk.io.direction=write}",
    "system.linux.context_switches",
    "system.linux.interrupts",
    "system.memory.usage{system.memory.state=used}",
    "system.network.tcp.connections{network.connection.event=failed}",
    "system.network.tcp.retransmits",
    "system.paging.faults",
)
_FEATURES = ("mean", "standard_deviation", "minimum", "maximum", "mean_abs_change")
_STRETCH = 10
"""Windows in a row of which the quiet ones are learned from; as many after them tell what deviates by chance."""

_QUIET_SHARE = 0.95

_ROUNDS, _WARM_UP_SECONDS, _SLICE_SECONDS = 2, 1.0, 8.0
_PLAN = tuple((kind, seconds) for kind in KINDS for seconds in _SECONDS_OF_FAULTS) * _TIMES_EACH
_FAULTS = f"{len(_PLAN)} faults of {_SECONDS_OF_FAULTS[0]:g} to {_SECONDS_OF_FAULTS[-1]:g} s"

FIGURES = tuple(
    figure
    for interval_ms in _INTERVALS_MS
    for figure in (
        Figure(f"cpu_percent_{interval_ms}ms", "% of a core", f"`pulsetrain agent` at {interval_ms} ms"),
        Figure(f"caught_percent_{interval_ms}ms", "%", f"of {_FAULTS}, those in a flagged window"),
        Figure(
            f"kept_percent_{interval_ms}ms", "%", f"of those that are caught at {_RECORDED_MS} ms, those caught here"
        ),
        Figure(f"false_percent_{interval_ms}ms", "%", "of quiet windows that nothing was learned from, those flagged"),
    )
)


def run() -> dict[str, float]:
    """Records, judges at each interval, and measures an agent at each interval."""
    topics = TopicNames()
    with EmbeddedBroker() as broker, TemporaryDirectory(prefix="pulsetrain-bench-") as folder:
        broker.declare([topics.samples, topics.status])
        blocks, faults = _recorded(broker.bootstrap, Path(folder))
        percents = _cpu_percents(broker.bootstrap, Path(folder))
    judgements = judged(blocks, faults)
    caught_first = judgements[_RECORDED_MS].caught
    return {
        name: value
        for interval_ms, judgement in judgements.items()
        for name, value in {
            f"cpu_percent_{interval_ms}ms": percents[interval_ms],
            f"caught_percent_{interval_ms}ms": 100.0 * len(judgement.caught) / len(faults),
            f"kept_percent_{interval_ms}ms": 100.0 * len(judgement.caught & caught_first) / max(1, len(caught_first)),
            f"false_percent_{interval_ms}ms": 100.0 * judgement.false_share,
        }.items()
    }


@dataclass(frozen=True, slots=True)
class Judgement:
    """The faults that are in a flagged window, and the share of quiet windows that are flagged."""

    caught: frozenset[Fault]
    false_share: float


def judged(blocks: Sequence[SampleBlock], faults: Sequence[Fault]) -> dict[int, Judgement]:
    """By interval. A feature is looked at that moves, and is missing in no quiet window, at every interval."""
    series = {interval_ms: _series(blocks, faults, interval_ms) for interval_ms in _INTERVALS_MS}
    is_usable = np.all([one.is_usable for one in series.values()], axis=0)
    scores = {interval_ms: one.scores(is_usable) for interval_ms, one in series.items()}
    quiet = {interval_ms: scores[interval_ms][one.is_held_out] for interval_ms, one in series.items()}
    cut = max(Z_SCORE_FLOOR, float(np.quantile(np.concatenate(list(quiet.values())), _QUIET_SHARE)))
    return {
        interval_ms: Judgement(
            frozenset(fault for fault, rows in one.inside.items() if (scores[interval_ms][rows] > cut).any()),
            float((quiet[interval_ms] > cut).mean()),
        )
        for interval_ms, one in series.items()
    }


@dataclass(frozen=True, slots=True)
class _Series:
    """The watched features at one interval: `rows` (windows, features), NaN where missing.

    `inside` (windows,) says by fault which windows it reaches into. Of the quiet ones, stretch by stretch, some are
    learned from and the others tell what deviates by chance.
    """

    rows: FloatArray
    inside: Mapping[Fault, NDArray[np.bool_]]

    @property
    def is_quiet(self) -> NDArray[np.bool_]:
        is_disturbed: NDArray[np.bool_] = np.any(list(self.inside.values()), axis=0)
        return ~is_disturbed

    @property
    def is_learned(self) -> NDArray[np.bool_]:
        is_even: NDArray[np.bool_] = np.arange(len(self.rows)) // _STRETCH % 2 == 0
        return self.is_quiet & is_even

    @property
    def is_held_out(self) -> NDArray[np.bool_]:
        return self.is_quiet & ~self.is_learned

    @property
    def is_usable(self) -> NDArray[np.bool_]:
        moves: NDArray[np.bool_] = np.ptp(self.rows[self.is_learned], axis=0) > 0
        return moves & np.isfinite(self.rows[self.is_quiet]).all(axis=0)

    def scores(self, is_usable: NDArray[np.bool_]) -> FloatArray:
        """The largest deviation of each window in sigma, shape (windows,); what is missing deviates by nothing."""
        rows = self.rows[:, is_usable]
        deviations = fit_standardisation(rows[self.is_learned]).standardise(rows)
        largest: FloatArray = np.nan_to_num(np.abs(deviations)).max(axis=1)
        return largest


def _recorded(bootstrap: str, folder: Path) -> tuple[list[SampleBlock], list[Fault]]:
    """Blocks of an agent at the shortest interval, and the faults that were made meanwhile."""
    random = Random(_SEED)
    plan = random.sample(_PLAN, len(_PLAN))
    faults = []
    with ExitStack() as stack:
        disturb = stack.enter_context(injector(folder))
        stack.enter_context(pulsetrain_agent(_RECORDED_MS, bootstrap, folder))
        reader = TopicReader(KafkaSettings(bootstrap=bootstrap), TopicNames().samples)
        stack.enter_context(closing(reader))
        time.sleep(_QUIET_SECONDS)
        for kind, seconds in plan:
            faults.append(disturb.inject(kind, seconds))
            # The embedded broker doesn't keep much.
            reader.poll()
            time.sleep(_GAP_SECONDS + random.random())
        time.sleep(_WINDOWS.length_seconds)
        blocks = [decode_sample_block(record.value) for record in reader.poll()]
    return blocks, faults


def _cpu_percents(bootstrap: str, folder: Path) -> dict[int, float]:
    with ExitStack() as stack:
        agents: dict[str, Peer] = {}
        for interval_ms in _INTERVALS_MS:
            own_folder = folder / str(interval_ms)
            own_folder.mkdir()
            agents[str(interval_ms)] = stack.enter_context(pulsetrain_agent(interval_ms, bootstrap, own_folder))
        slices = measure_in_turns(agents, _ROUNDS, _WARM_UP_SECONDS, _SLICE_SECONDS)
    return {int(name): median(part.cpu_percent for part in parts) for name, parts in slices.items()}


def _series(blocks: Sequence[SampleBlock], faults: Sequence[Fault], interval_ms: int) -> _Series:
    windows = _feature_windows(at_interval(blocks, interval_ms * NS // 1000))
    begins, ends = (np.array([getattr(window, end) for window in windows]) for end in ("start_ns", "end_ns"))
    inside = {fault: (begins < fault.end_ns) & (ends > fault.begin_ns) for fault in faults}
    return _Series(np.array([_row(window) for window in windows]), inside)


def _feature_windows(blocks: Iterable[SampleBlock]) -> list[FeatureWindow]:
    """Of the host, in order of time."""
    engine, feature_sets = WindowEngine(_WINDOWS), FeatureSets.from_fc_parameters()
    windows = []
    for offset, block in enumerate(blocks):
        step = engine.process(block, offset, int(block.ticks_ns[-1]))
        for closed in step.windows:
            windows += [one for one in feature_windows(closed, feature_sets, _WINDOWS) if one.entity.endswith("/host")]
    return windows


def _row(window: FeatureWindow) -> list[float]:
    """The watched features, NaN where the window has none."""
    metrics = {metric: row for row, metric in enumerate(window.metrics)}
    columns = [window.features.index(feature) for feature in _FEATURES]
    return [
        float(window.values[metrics[metric], column]) if metric in metrics else float("nan")
        for metric in _METRICS
        for column in columns
    ]
