"""Running programs in turns: one is measured while the others stand still."""

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from tests.bench.peers.peer import Peer
from tests.bench.process_cost import tree, tree_cpu_seconds


@dataclass(frozen=True, slots=True)
class Slice:
    """What a program did in some seconds."""

    seconds: float
    cpu_seconds: float
    samples: float

    @property
    def cpu_percent(self) -> float:
        """Of one core."""
        return 100.0 * self.cpu_seconds / self.seconds

    @property
    def cpu_ms_per_1000_samples(self) -> float:
        """Infinite where there were no samples."""
        return 1e6 * self.cpu_seconds / self.samples if self.samples else float("inf")


def measure_in_turns(
    peers: Mapping[str, Peer], rounds: int, warm_up_seconds: float, seconds: float
) -> dict[str, list[Slice]]:
    """Slices by name, one a round; afterwards all programs run again.

    A program that was let go first catches up with whatever it does then; only afterwards is it measured.
    """
    slices: dict[str, list[Slice]] = {name: [] for name in peers}
    for peer in peers.values():
        _signal(peer, signal.SIGSTOP)
    for _ in range(rounds):
        for name, peer in peers.items():
            _signal(peer, signal.SIGCONT)
            with peer.in_use():
                time.sleep(warm_up_seconds)
                slices[name].append(_slice(peer, seconds))
            _signal(peer, signal.SIGSTOP)
    for peer in peers.values():
        _signal(peer, signal.SIGCONT)
    return slices


def _slice(peer: Peer, seconds: float) -> Slice:
    peer.begin()
    begin, cpu_begin = time.monotonic(), tree_cpu_seconds(peer.pid)
    time.sleep(seconds)
    cpu, elapsed = tree_cpu_seconds(peer.pid) - cpu_begin, time.monotonic() - begin
    return Slice(elapsed, cpu, peer.end())


def _signal(peer: Peer, number: signal.Signals) -> None:
    for pid in tree(peer.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
