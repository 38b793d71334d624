"""The workers of one stage: killed at random, started again, and how far their group is."""

import random
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import TopicNames
from tests.processes import PulsetrainProcess
from tests.topic_log import GroupProgress

_STALL_SECONDS = 5.0
"""Well below the session timeout: a stalled worker keeps its partitions."""


class Workers:
    """So many worker processes of a stage, alive as long as the context.

    Args:
        folder: where each worker's output goes, `<stage>-<number>.log`.
        topic: what the stage reads.
    """

    def __init__(
        self, stage: str, workers: int, config: Path, folder: Path, kafka: KafkaSettings, topics: TopicNames, topic: str
    ) -> None:
        self.stage = stage
        self.kills = self.kills_while_catching_up = 0
        self.names = [f"{stage} {number}" for number in range(workers)]
        self._processes = [
            PulsetrainProcess(["worker", stage, "--config", str(config)], folder / f"{stage}-{number}.log")
            for number in range(workers)
        ]
        self._killed: PulsetrainProcess | None = None
        self._progress = GroupProgress(kafka, f"{topics.prefix}{stage}", topic)
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self._progress.close)
            for process in self._processes:
                stack.enter_context(process)
            self._cleanup = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup.__exit__(kind, error, trace)

    def kill_one(self, chance: random.Random) -> str:
        """SIGKILL to one of the workers, which stays dead until `start_killed`; returns its name.

        Every second one, by chance, is stalled for some seconds first and killed while it catches up: then offsets,
        windows and changes of tables are under way together.
        """
        number = chance.randrange(len(self._processes))
        self._killed = self._processes[number]
        if chance.random() < 0.5:
            self._killed.pause()
            time.sleep(chance.uniform(1.0, _STALL_SECONDS))
            self._killed.resume()
            time.sleep(chance.uniform(0.0, 1.0))
            self.kills_while_catching_up += 1
        self._killed.kill()
        self.kills += 1
        return self.names[number]

    def start_killed(self) -> None:
        """Starts the worker that was killed last."""
        if self._killed is not None:
            self._killed.start()
            self._killed = None

    def start_ended(self) -> dict[str, int]:
        """Starts workers again that have ended by themselves, as an orchestrator does; returns their exit codes."""
        ended: dict[str, int] = {}
        for name, process in zip(self.names, self._processes, strict=True):
            if process is not self._killed and not process.alive():
                ended[name] = process.wait(0)
                process.start()
        return ended

    def committed(self) -> dict[int, int]:
        """The committed offset by partition."""
        return self._progress.committed()

    def state(self) -> str:
        """How far the group is and which of its workers live, for people."""
        alive = [process.alive() for process in self._processes]
        return f"{self.stage}: committed {self.committed()} of {self._progress.ends()}, alive {alive}"

    def is_done(self) -> bool:
        """Whether everything on the topic is committed."""
        return self.committed() == self._progress.ends()
