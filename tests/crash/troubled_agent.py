"""An agent that has all the troubles of real ones: what it puts on the samples topic, second by second."""

import random
from collections import Counter
from dataclasses import dataclass

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.schemas.sample_block import SampleBlock
from pulsetrain.streams.settings import WindowSettings
from tests.crash.sources import SECOND_NS, SOURCES, Source

_USUAL_LEVEL = 50.0
_COUNTER_STEP = 100
_COPY_DELAYS_SECONDS = (0, 0, 1, 2, 5, 20, 60, 200)


@dataclass(frozen=True, slots=True)
class Troubles:
    """How likely each is: of a second (restart, cut_off, long_cut_off, fault), of a block, or of a value.

    `doubled_at_takeover` comes on top of `doubled` while a worker's partitions are taken over.
    """

    restart: float = 1 / 120
    cut_off: float = 1 / 120
    long_cut_off: float = 1 / 2400
    fault: float = 1 / 40
    lost: float = 0.01
    late: float = 0.01
    doubled: float = 0.02
    doubled_at_takeover: float = 0.2
    missing: float = 0.002
    invalid: float = 0.0005


CALM = Troubles(**dict.fromkeys(Troubles.__slots__, 0.0))
"""Nothing happens: the data of a warm-up."""


@dataclass(frozen=True, slots=True)
class _Collected:
    source: Source
    ticks_ns: IntArray
    values: FloatArray


class TroubledAgent:
    """The agent of one node. The same seed gives the same script; only copies at takeovers come on top of it.

    It restarts (a new session, at times after a reboot: a new boot id and counters from 0), is cut off and sends its
    backlog late but in order, loses blocks, collects some so late that they are beyond the allowed lateness, and sends
    some twice. Its node has faults, which shift the values of one entity.

    Args:
        name: the node.
        seed: of everything that happens to it.
        start_ns: the node's clock when it begins, at a whole second.
    """

    def __init__(self, name: str, seed: int, start_ns: int, troubles: Troubles) -> None:
        self.name = name
        self.happened: Counter[str] = Counter()
        self._troubles = troubles
        self._start_ns = start_ns
        self._script = random.Random(seed)
        self._takeovers = random.Random(seed)
        self._noise = np.random.default_rng(seed)
        self._second = 0
        self._session = self._boot = 0
        self._sent_until_ns: int | None = None
        self._newest_ns = start_ns
        self._sequences: Counter[str] = Counter()
        self._counters = {source.collector: np.zeros(len(source.counters)) for source in SOURCES}
        self._next_step_ns = start_ns
        self._fault: tuple[int, str] = (0, "")
        self._down_until = self._cut_off_until = self._restart_allowed = 0
        self._late: list[tuple[int, _Collected]] = []
        self._copies: list[tuple[int, SampleBlock]] = []
        self._spool: list[SampleBlock] = []

    def send_second(self, at_takeover: bool = False) -> list[SampleBlock]:
        """What reaches the broker in the next second of the node's clock, in order."""
        now = self._second
        self._second += 1
        self._begin_troubles(now)
        sent: list[SampleBlock] = []
        if now >= self._down_until:
            self._collect(now)
            if now >= self._cut_off_until:
                sent, self._spool = self._spool, []
        for block in sent:
            chances = [(self._script, self._troubles.doubled)]
            if at_takeover:
                chances.append((self._takeovers, self._troubles.doubled_at_takeover))
            for chance, probability in chances:
                if chance.random() < probability:
                    self.happened["blocks doubled"] += 1
                    self._copies.append((now + chance.choice(_COPY_DELAYS_SECONDS), block))
        sent += [block for due, block in self._copies if due <= now]
        self._copies = [(due, block) for due, block in self._copies if due > now]
        return sent

    def finish(self, windows: WindowSettings) -> list[SampleBlock]:
        """The backlog, and a marker: a block so far ahead that all windows before it close, and it opens none."""
        hop_ns = round(windows.hop_seconds * SECOND_NS)
        ahead_ns = round((windows.length_seconds + windows.allowed_lateness_seconds) * SECOND_NS)
        tick_ns = -(-(self._newest_ns + ahead_ns) // hop_ns) * hop_ns + hop_ns // 2
        source = SOURCES[0]
        values = np.full((1, len(source.metrics)), _USUAL_LEVEL)
        marker = self._block(_Collected(source, np.array([tick_ns], dtype=np.int64), values))
        return [*self._spool, marker]

    def _begin_troubles(self, now: int) -> None:
        chance, troubles = self._script, self._troubles
        if self._happens(troubles.fault):
            self._fault = now + chance.randint(3, 20), chance.choice(SOURCES).entity
            self.happened["faults"] += 1
        if self._happens(troubles.restart) and now >= self._restart_allowed:
            self._restart(now)
        if self._happens(troubles.cut_off):
            self._cut_off_until = now + chance.randint(2, 8)
            self.happened["backlogs sent late"] += 1
        elif self._happens(troubles.long_cut_off):
            self._cut_off_until = now + chance.randint(20, 30)
            self.happened["backlogs sent late"] += 1

    def _restart(self, now: int) -> None:
        chance = self._script
        is_reboot = chance.random() < 1 / 3
        self.happened["reboots" if is_reboot else "agent restarts"] += 1
        self._down_until = now + (chance.randint(3, 8) if is_reboot else chance.randint(0, 3))
        # Windows and verdicts remember the last 16 sessions of an entity, at this pause those of a minute and more.
        self._restart_allowed = now + 4
        self._session += 1
        if is_reboot:
            self._boot += 1
            for counters in self._counters.values():
                counters[:] = 0
        self._sent_until_ns = None
        self._sequences.clear()
        self._late.clear()
        self._spool.clear()

    def _collect(self, now: int) -> None:
        """Puts the blocks of this second into the spool, those that were collected late before the others."""
        collected = [one for due, one in self._late if due <= now]
        self._late = [(due, one) for due, one in self._late if due > now]
        for source in SOURCES:
            one = self._collected(source, now)
            if one is None:
                continue
            if self._happens(self._troubles.late):
                self.happened["blocks late"] += 1
                self._late.append((now + self._script.randint(3, 10), one))
            else:
                collected.append(one)
        for one in collected:
            block = self._block(one)
            if self._happens(self._troubles.lost):
                self.happened["blocks lost"] += 1
            else:
                self._spool.append(block)

    def _collected(self, source: Source, now: int) -> _Collected | None:
        if (now + 1) % source.period_seconds:
            return None
        end_ns = self._start_ns + (now + 1) * SECOND_NS
        start_ns = end_ns - source.period_seconds * SECOND_NS
        ticks_ns = (
            self._step_ends(source, start_ns, end_ns)
            if source.irregular
            else np.arange(-(-start_ns // source.interval_ns) * source.interval_ns, end_ns, source.interval_ns)
        )
        return _Collected(source, ticks_ns, self._values(source, len(ticks_ns), now)) if len(ticks_ns) else None

    def _step_ends(self, source: Source, start_ns: int, end_ns: int) -> IntArray:
        self._next_step_ns = max(self._next_step_ns, start_ns)
        ends: list[int] = []
        while self._next_step_ns < end_ns:
            ends.append(self._next_step_ns)
            self._next_step_ns += max(1_000_000, round(source.interval_ns * self._noise.lognormal(sigma=0.3)))
        return np.array(ends, dtype=np.int64)

    def _values(self, source: Source, ticks: int, now: int) -> FloatArray:
        noise = self._noise
        until, entity = self._fault
        shift = 30.0 if now < until and entity == source.entity else 0.0
        gauges = noise.normal(_USUAL_LEVEL + shift, 1.0, size=(ticks, len(source.gauges)))
        steps = noise.poisson(_COUNTER_STEP * (1 + shift), size=(ticks, len(source.counters)))
        counters = self._counters[source.collector] + np.cumsum(steps, axis=0)
        self._counters[source.collector] = counters[-1].copy()
        values = np.concatenate([gauges, counters], axis=1)
        values[noise.random(values.shape) < self._troubles.missing] = np.nan
        values[noise.random(values.shape) < self._troubles.invalid] = np.inf
        return values

    def _block(self, collected: _Collected) -> SampleBlock:
        source = collected.source
        block = SampleBlock(
            node=self.name,
            session=f"{self.name}-{self._session}",
            boot_id=f"{self.name}-boot-{self._boot}",
            collector=source.collector,
            entity=f"{self.name}/{source.entity}",
            sequence=self._sequences[source.collector],
            sent_until_ns=self._sent_until_ns,
            interval_ns=source.interval_ns,
            ticks_ns=collected.ticks_ns,
            metrics=source.metrics,
            values=collected.values,
            labels={"job": "crash-test"},
        )
        self._sequences[source.collector] += 1
        self._newest_ns = max(self._newest_ns, int(block.ticks_ns[-1]))
        self._sent_until_ns = max(self._sent_until_ns or 0, int(block.ticks_ns[-1]))
        return block

    def _happens(self, probability: float) -> bool:
        return self._script.random() < probability
