"""From steps that end whenever they do to windows on a grid: hook, collector, blocks, windows, with one clock."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from pulsetrain.agents.collectors.training.collector import TrainingCollector
from pulsetrain.agents.collectors.training.message import decode
from pulsetrain.agents.collectors.training.ranks import Ranks
from pulsetrain.agents.collectors.training.settings import HookSettings
from pulsetrain.agents.gathering import Gatherer
from pulsetrain.agents.hook import TrainingProbe
from pulsetrain.agents.sampler import Samples
from pulsetrain.agents.session import Batch, Node, Session
from pulsetrain.schemas.feature_window import FeatureWindow, SampleCount
from pulsetrain.streams.extraction import feature_windows
from pulsetrain.streams.features import FeatureSets
from pulsetrain.streams.settings import WindowSettings
from pulsetrain.streams.windows import WindowEngine

MS = 1_000_000
NS = 1_000_000_000
START = 1_800_000_000 * NS
SECONDS = 100
SETTINGS = WindowSettings()
LENGTH_SECONDS = SETTINGS.length_seconds
MEAN_AND_MAXIMUM = FeatureSets.from_fc_parameters({"mean": None, "maximum": None})


@dataclass
class Machine:
    """A node with one rank, whose agent also reads the host every 100 ms; time passes in steps of 1 ms."""

    now_ns: int = START
    engine: WindowEngine = field(default_factory=lambda: WindowEngine(SETTINGS))
    windows: list[FeatureWindow] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._ranks = Ranks(lambda pid: {})
        self._gatherer = Gatherer()
        self._session = Session(Node("n", "boot", {}))
        self._blocks = 0
        self._interval_ns = TrainingCollector(HookSettings(), lambda pid: {}).interval_ms * MS
        self.probe = TrainingProbe("llm", 0, outlet=self, monotonic_ns=self.clock, time_ns=self.clock)

    def clock(self) -> int:
        return self.now_ns

    def is_open(self, now_ns: int) -> bool:
        return True

    def send(self, message: bytes) -> bool:
        self._ranks.add(decode(message), 0, self.now_ns)
        return True

    def close(self) -> None:
        """As a hook's outlet."""

    def run(self, durations_ms: list[int], seconds: int = SECONDS) -> list[FeatureWindow]:
        """Steps of these durations, in turn; then the windows of the rank that are complete."""
        ends = set((START + np.cumsum(durations_ms) * MS).tolist())
        for _ in range(seconds * 1000):
            self.now_ns += MS
            if self.now_ns in ends:
                self.probe.step(loss=1.0)
            if self.now_ns % NS == 0:
                self._read_host()
                for observation in self._ranks.observations(self.now_ns):
                    problem = self._gatherer.add("training", "the socket", self._interval_ns, observation)
                    assert problem is None
            if self.now_ns % (100 * MS) == 0:
                for batch in self._gatherer.due(self.now_ns):
                    self._send(batch)
        return [window for window in self.windows if window.entity == "llm/rank:0" and window.complete]

    def _read_host(self) -> None:
        ticks_ns = self.now_ns - NS + 100 * MS * np.arange(1, 11)
        samples = Samples(ticks_ns, np.ones((10, 1)), {}, {})
        self._send(Batch("host", "host", 100 * MS, ("system.cpu.load_average.1m",), samples, {}))

    def _send(self, batch: Batch) -> None:
        step = self.engine.process(self._session.block(batch), self._blocks, self.now_ns)
        self._blocks += 1
        for closed in step.windows:
            self.windows += feature_windows(closed, MEAN_AND_MAXIMUM, SETTINGS)


def after(seconds: int, windows: list[FeatureWindow]) -> list[FeatureWindow]:
    """Those that start so long after the first step."""
    return [window for window in windows if window.start_ns >= START + seconds * NS]


def hops(first_seconds: int, seconds: int) -> list[int]:
    """Starts of the windows whose end and lateness lie within a run of so many seconds."""
    last = seconds - SETTINGS.length_seconds - SETTINGS.allowed_lateness_seconds
    return [START + second * NS for second in range(first_seconds, int(last) + 1, int(SETTINGS.hop_seconds))]


def features(windows: list[FeatureWindow], metric: str) -> np.ndarray:
    """Mean and maximum of a metric in each window, (windows, 2)."""
    return np.array([window.values[window.metrics.index(metric)] for window in windows])


@pytest.mark.parametrize("step_ms", [4, 70, 330, 1000, 1130, 2300, 6000, 7130, 10_000])
def test_steps_of_one_duration_have_it_as_their_mean_at_any_pace(step_ms: int) -> None:
    machine = Machine()
    windows = after(60, machine.run([step_ms] * (2 * SECONDS * 1000 // step_ms), 2 * SECONDS))
    assert len(windows) >= 20
    np.testing.assert_allclose(features(windows, "training.step.duration"), step_ms / 1000, rtol=1e-9)
    # The ends of the first and the last step of a window are known to an interval only.
    steps = features(windows, "training.step.count")[:, 0] * LENGTH_SECONDS
    np.testing.assert_allclose(steps, LENGTH_SECONDS * 1000 / step_ms, rtol=0.02, atol=2)
    assert machine.engine.counts.used == machine.engine.counts.received


@pytest.mark.parametrize(("step_ms", "interval_seconds"), [(10_300, 30), (29_000, 30), (45_000, 60), (59_900, 60)])
def test_steps_too_long_for_several_in_a_window_have_features_in_each_that_has_a_point_of_their_grid(
    step_ms: int, interval_seconds: int
) -> None:
    seconds = 8 * 60
    windows = after(4 * 60, Machine().run([step_ms] * (seconds * 1000 // step_ms), seconds))
    interval_ns = interval_seconds * NS
    starts = [start_ns for start_ns in hops(4 * 60, seconds) if -start_ns % interval_ns < SETTINGS.length_seconds * NS]
    assert [window.start_ns for window in windows] == starts
    np.testing.assert_allclose(features(windows, "training.step.duration"), step_ms / 1000, rtol=1e-9)


def test_a_slow_step_among_slow_ones_is_the_longest_of_its_windows_whatever_lies_beside_it() -> None:
    durations_ms = [4000] * 30 + [9000] + [4000] * 30
    windows = after(60, Machine().run(durations_ms, 240))
    # The slow step ends at 129 s; a step of 4 s ends in each 5 s.
    point_ns = START + 130 * NS
    has_stall = np.array([window.start_ns <= point_ns < window.end_ns for window in windows])
    assert has_stall.any()
    np.testing.assert_allclose(features(windows, "training.step.max_duration")[:, 1], np.where(has_stall, 9.0, 4.0))


def test_of_a_grid_that_steps_do_not_meet_a_tenth_is_filled_at_most() -> None:
    windows = Machine().run([330] * (SECONDS * 1000 // 330))[2:]
    filled = np.array([window.counts[:, list(SampleCount).index(SampleCount.FILLED)] for window in windows])
    # At the window's edges, where a neighbour lies outside.
    assert filled.max() <= 3


def test_one_slow_step_among_many_fast_ones_shows_in_its_windows_and_in_no_other() -> None:
    durations_ms = [50] * 1000 + [500] + [50] * 900
    windows = Machine().run(durations_ms)[1:]
    stall_ns = START + 50 * NS
    for window, (_, longest) in zip(windows, features(windows, "training.step.max_duration"), strict=True):
        if window.start_ns + 2 * NS < stall_ns < window.end_ns - 2 * NS:
            assert longest > 0.25
        elif not window.start_ns - 2 * NS < stall_ns < window.end_ns + 2 * NS:
            assert longest == pytest.approx(0.05)


def test_of_a_rank_that_hangs_nothing_is_made_up() -> None:
    machine = Machine()
    windows = machine.run([500] * 80)
    last_step_ns = START + 40 * NS
    limit_ns = round(SETTINGS.fill_limit_intervals) * NS
    for window, (mean, _) in zip(windows, features(windows, "training.step.duration"), strict=True):
        assert np.isnan(mean) == (window.start_ns < START or window.end_ns > last_step_ns + limit_ns + NS)
    assert any(window.end_ns > last_step_ns + limit_ns + NS for window in windows)
