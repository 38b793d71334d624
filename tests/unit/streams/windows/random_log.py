"""Random logs of one partition: several nodes and collectors, with everything that goes wrong on the way."""

import random
from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np

from pulsetrain.schemas.sample_block import SampleBlock
from pulsetrain.streams.settings import WindowSettings

SECOND = 1_000_000_000
EPOCH = 1_800_000_000 * SECOND
"""Tick 0 of all logs, a window start."""

SETTINGS = WindowSettings(
    length_seconds=30,
    hop_seconds=5,
    allowed_lateness_seconds=2,
    idle_timeout_seconds=60,
    hold_limit_seconds=90,
    future_limit_seconds=300,
)
STRAY_SECONDS = 290
"""Copies of a block come at most so long after it, leftovers of a session so long after its last block."""

METRICS = ("load.a", "load.b", "system.cpu.utilization")


class Fault(Enum):
    """What may go wrong in a log."""

    RESTART = auto()
    JUMP = auto()
    SILENCE = auto()
    SLOW_CLOCK = auto()
    DELAYED = auto()
    LOST = auto()
    REORDERED = auto()
    APPEND_TIME_BACK = auto()
    DOUBLED = auto()
    LEFTOVER = auto()
    FUTURE = auto()
    UNDECODABLE = auto()
    INVALID = auto()
    REBOOT = auto()
    JITTER = auto()


@dataclass(frozen=True)
class Message:
    """One message of the partition; `block` is None where it can't be decoded."""

    block: SampleBlock | None
    append_ns: int


@dataclass
class _Agent:
    node: str
    tick: int
    session: int = 0
    boot: int = 0
    appended: int = 0
    sent_until: int | None = None
    sequences: dict[str, int] = field(default_factory=dict)
    delayed: list[tuple[list[int], str]] = field(default_factory=list)

    def restart(self, pause: int) -> None:
        self.session += 1
        self.tick += pause
        self.sent_until = None
        self.sequences = {}
        self.delayed = []

    def send(self, ticks: list[int], collector: str, rng: random.Random, faults: frozenset[Fault]) -> SampleBlock:
        sequence = self.sequences.get(collector, 0)
        self.sequences[collector] = sequence + 1
        metrics = METRICS if rng.random() < 0.9 else tuple(rng.sample(METRICS, 2))
        values = np.array([[rng.random() for _ in metrics] for _ in ticks])
        values[values < 0.02] = np.nan
        if Fault.INVALID in faults:
            values[values > 0.98] = rng.choice([np.inf, 9223372036854775794.0, -1.0])
        jitter_ns = rng.randint(-3_000_000, 3_000_000) if Fault.JITTER in faults else 0
        block = SampleBlock(
            node=self.node,
            session=f"{self.node}-{self.session}",
            boot_id=f"boot-{self.boot}",
            collector=collector,
            entity=f"{self.node}/host",
            sequence=sequence,
            sent_until_ns=self.sent_until,
            interval_ns=SECOND,
            ticks_ns=np.array([EPOCH + tick * SECOND + jitter_ns for tick in ticks], dtype=np.int64),
            metrics=metrics,
            values=values,
            labels={"collector": collector, "sequence": str(sequence)},
        )
        self.sent_until = max(self.sent_until or 0, int(block.ticks_ns[-1]))
        return block


def random_log(seed: int, faults: frozenset[Fault], steps: int) -> list[Message]:
    """A log of about `steps` messages in which only the given faults occur."""
    rng = random.Random(seed)

    def happens(fault: Fault, probability: float) -> bool:
        return fault in faults and rng.random() < probability

    append = 3_000 + rng.randint(0, 9)  # far enough ahead of all ticks that none of them is in the future
    agents = [_Agent(f"node-{letter}", rng.randint(5, 40)) for letter in "abc"[: rng.randint(1, 3)]]
    slow_until = 0
    log: list[Message] = []
    stray: list[tuple[int, int, SampleBlock]] = []  # due, latest append time, block
    for _ in range(steps):
        append += rng.choice([0, 1, 1, 1, 2])
        if happens(Fault.SILENCE, 0.015):
            append += rng.choice([30, 61, 91, 200])
        slow_until = max(slow_until, append + 300 if happens(Fault.SLOW_CLOCK, 0.01) else 0)
        append += rng.choice([5, 20]) if append < slow_until else 0
        log += [Message(block, _nanoseconds(append)) for due, latest, block in stray if due <= append <= latest]
        stray = [entry for entry in stray if entry[0] > append]
        agent = rng.choice(agents)
        if happens(Fault.RESTART, 0.02):
            if Fault.LEFTOVER in faults:
                for ticks, collector in agent.delayed:
                    block = agent.send(ticks, collector, rng, faults)
                    stray.append((append + rng.randint(1, 60), agent.appended + STRAY_SECONDS, block))
            agent.restart(rng.choice([1, 3, 20, 50]))
        elif happens(Fault.REBOOT, 0.02):
            agent.boot += 1  # a source that names no new session, as scrapes don't
        elif happens(Fault.JUMP, 0.03):
            agent.tick += rng.choice([3, 12, 29, 30, 31, 70])
        elif happens(Fault.FUTURE, 0.02):
            # The clock is far ahead for one block; until the agent is restarted, `sent_until` stays so.
            log.append(Message(agent.send([append + 301], "x", rng, faults), _nanoseconds(append)))
        elif agent.sent_until is not None and agent.sent_until > EPOCH + agent.tick * SECOND and rng.random() < 0.3:
            agent.restart(0)
        ticks = list(range(agent.tick, agent.tick + rng.randint(1, 6)))
        agent.tick += len(ticks)
        collector = rng.choice("xy")
        if collector == "y" and happens(Fault.DELAYED, 0.5):
            agent.delayed.append((ticks, collector))
            continue
        sending = [(ticks, collector)]
        if agent.delayed and rng.random() < 0.6:
            sending.append(agent.delayed.pop(0))
        for some_ticks, some_collector in sending:
            block = agent.send(some_ticks, some_collector, rng, faults)
            if happens(Fault.LOST, 0.04):
                continue
            log.append(Message(block, _nanoseconds(append)))
            if (block.sent_until_ns or 0) > _nanoseconds(append + 300):
                continue  # in the future, so it is not taken
            agent.appended = append
            if happens(Fault.DOUBLED, 0.06):
                stray.append((append + rng.choice([0, 1, 5, 30, 100, 250]), append + STRAY_SECONDS, block))
        if happens(Fault.UNDECODABLE, 0.02):
            log.append(Message(None, _nanoseconds(append)))
    for index in range(1, len(log)):
        one, other = log[index - 1], log[index]
        if _have_one_session(one, other) and happens(Fault.REORDERED, 0.1):
            log[index - 1], log[index] = Message(other.block, one.append_ns), Message(one.block, other.append_ns)
        if happens(Fault.APPEND_TIME_BACK, 0.05):  # a new leader's clock is behind
            log[index] = Message(log[index].block, log[index].append_ns - 3 * SECOND)
    return log


def _have_one_session(one: Message, other: Message) -> bool:
    return one.block is not None and other.block is not None and one.block.session == other.block.session


def _nanoseconds(append: int) -> int:
    return EPOCH + append * SECOND
