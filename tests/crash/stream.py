"""Sends what the simulated nodes have each second, as the wall clock goes, while other things are done."""

import threading
import time
from collections import Counter
from collections.abc import Iterable
from itertools import count

from confluent_kafka import Producer

from pulsetrain.schemas.kafka import KafkaSettings, producer_config
from pulsetrain.schemas.sample_block import SampleBlock, encode_sample_block
from pulsetrain.streams.settings import WindowSettings
from tests.crash.sources import SECOND_NS
from tests.crash.troubled_agent import TroubledAgent, Troubles

_PHASES = 4
"""Nodes send in turn, so that a worker can be killed between any two of them."""

_CLOCK_ERROR_SECONDS = 40
"""The nodes' clocks are off by up to so much, well within what counts as the future."""


def troubled_fleet(nodes: int, seed: int, start_ns: int, troubles: Troubles | None = None) -> list[TroubledAgent]:
    """So many agents with seeds of their own; their clocks, in whole seconds, are not the same."""
    return [
        TroubledAgent(
            f"node-{number:02}",
            seed * 1000 + number,
            start_ns + (number * 7 % (2 * _CLOCK_ERROR_SECONDS) - _CLOCK_ERROR_SECONDS) * SECOND_NS,
            troubles or Troubles(),
        )
        for number in range(nodes)
    ]


class Stream:
    """Samples of all agents on one topic, from `start` to `finish`.

    A second that is late, as on a slow machine, is made up for; none is left out.
    """

    def __init__(self, kafka: KafkaSettings, topic: str, agents: list[TroubledAgent]) -> None:
        self._producer = Producer(producer_config(kafka))
        self._topic = topic
        self._agents = agents
        self._stopped = threading.Event()
        self._takeover_until = 0.0
        self._thread = threading.Thread(target=self._run, name="stream", daemon=True)
        self.blocks = 0

    def start(self) -> None:
        """Begins to send."""
        self._thread.start()

    def expect_takeover(self, seconds: float) -> None:
        """Sends more blocks twice for a while."""
        self._takeover_until = time.monotonic() + seconds

    def finish(self, windows: WindowSettings, seconds: float) -> None:
        """Stops, sends each node's backlog and its marker, and waits until the broker has everything."""
        self.stop()
        for agent in self._agents:
            self._send(agent.finish(windows))
        assert self._producer.flush(seconds) == 0, f"blocks were not confirmed within {seconds:.0f} s"

    def stop(self) -> None:
        """Stops where it is."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def happened(self) -> Counter[str]:
        """How often each trouble has come."""
        return sum((agent.happened for agent in self._agents), Counter())

    def _run(self) -> None:
        start = time.monotonic()
        for turn in count():
            second, phase = divmod(turn, _PHASES)
            if self._stopped.wait(max(0.0, start + second + phase / _PHASES - time.monotonic())):
                return
            for agent in self._agents[phase::_PHASES]:
                self._send(agent.send_second(at_takeover=time.monotonic() < self._takeover_until))

    def _send(self, blocks: Iterable[SampleBlock]) -> None:
        for block in blocks:
            self._producer.produce(self._topic, key=block.node.encode(), value=encode_sample_block(block))
            self.blocks += 1
        self._producer.poll(0)
