"""Kills workers and stops the broker while a troubled fleet streams, then compares what came out."""

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from pulsetrain.cli.topics import create_topics
from pulsetrain.schemas.anomaly import Anomaly
from pulsetrain.schemas.json_record import decode_json
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.status import Status, StatusEvent
from pulsetrain.schemas.topics import TopicNames
from tests.crash.comparison import compare
from tests.crash.plan import PARTITIONS, WINDOWS, Outcome, Plan
from tests.crash.reference import identified_windows, undisturbed_verdicts, undisturbed_windows
from tests.crash.sources import SECOND_NS
from tests.crash.stream import Stream, troubled_fleet
from tests.crash.warm_up import publish_models
from tests.crash.workers import Workers
from tests.processes import wait_until
from tests.topic_log import whole_topic

_TAKEOVER_SECONDS = 20.0
_SECOND_VERSION_AFTER_SECONDS = 60

_CONFIG = """
[kafka]
bootstrap = "{bootstrap}"

[topics]
prefix = "{prefix}"
partitions = {partitions}

[worker]
heartbeat_seconds = 1.0

[worker.windows]
length_seconds = {windows.length_seconds}
hop_seconds = {windows.hop_seconds}
idle_timeout_seconds = {windows.idle_timeout_seconds}
"""

Say = Callable[[str], None]


class CrashRun:
    """One run on topics of its own.

    Args:
        folder: for the configuration and the workers' logs.
        say: takes a line of progress.
    """

    def __init__(self, kafka: ApacheKafka, prefix: str, plan: Plan, folder: Path, say: Say) -> None:
        self._broker = kafka
        self._kafka = KafkaSettings(bootstrap=kafka.bootstrap)
        self._topics = TopicNames(prefix)
        self._plan = plan
        self._say = say
        self._chance = random.Random(plan.seed)
        self._started = time.monotonic()
        self._broker_stops = 0
        self._may_end: set[str] = set()
        self._explained_exits = 0
        self._unexplained_exits: list[str] = []
        self._start_ns = (time.time_ns() // SECOND_NS - 1) * SECOND_NS
        create_topics(self._kafka, prefix, PARTITIONS, replication_factor=1)
        self._config = folder / "pulsetrain.toml"
        self._config.write_text(
            _CONFIG.format(bootstrap=kafka.bootstrap, prefix=prefix, partitions=PARTITIONS, windows=WINDOWS)
        )
        self._features, self._detect = (
            Workers(stage, plan.workers, self._config, folder, self._kafka, self._topics, topic)
            for stage, topic in (("features", self._topics.samples), ("detect", self._topics.features))
        )

    def run(self) -> Outcome:
        """Streams, kills, waits until everything is committed, and compares.

        Raises:
            AssertionError: the workers are not done within the plan's limit; the message says what was waited for.
        """
        agents = troubled_fleet(self._plan.nodes, self._plan.seed, self._start_ns)
        stream = Stream(self._kafka, self._topics.samples, agents)
        second_version_ns = self._start_ns + _SECOND_VERSION_AFTER_SECONDS * SECOND_NS
        with ExitStack() as stack:
            stack.callback(stream.stop)
            stack.enter_context(self._features)
            models = publish_models(self._kafka, self._topics.models, WINDOWS, self._start_ns, second_version_ns)
            stack.enter_context(self._detect)
            stream.start()
            self._progress(f"{models} versions of models are published, {self._plan.nodes} nodes stream")
            self._wait_for_commits({stage: {} for stage in self._stages}, "the first commit")
            for number in range(1, self._plan.kills + 1):
                self._kill(number, stream)
            stream.finish(WINDOWS, self._seconds_left())
            for stage in self._stages:
                self._wait(f"the {stage.stage} stage to commit everything", stage.is_done)
            self._progress("the marker blocks are through, and everything is committed")
        outcome = self._compare()
        outcome.happened = stream.happened
        outcome.counts |= {"blocks sent": stream.blocks}
        return outcome

    @property
    def _stages(self) -> tuple[Workers, Workers]:
        return self._features, self._detect

    def _kill(self, number: int, stream: Stream) -> None:
        """Kills one worker of each stage, starts it again, and waits until every partition has moved on."""
        time.sleep(self._chance.uniform(0.0, 3.0))
        self._start_ended()
        began = time.monotonic()
        stream.expect_takeover(_TAKEOVER_SECONDS)
        victims = []
        stages = list(self._stages)
        self._chance.shuffle(stages)
        for stage in stages:
            victims.append(stage.kill_one(self._chance))
            time.sleep(self._chance.uniform(0.0, 1.0))
        positions = {stage: stage.committed() for stage in self._stages}
        steps = [self._start_killed]
        if self._plan.stops_broker(number):
            steps.append(self._stop_and_start_broker)
            self._chance.shuffle(steps)
        for step in steps:
            time.sleep(self._chance.uniform(0.0, 2.0))
            step()
        self._wait_for_commits(positions, f"every partition to move on after kill {number} ({', '.join(victims)})")
        self._may_end.clear()
        self._progress(
            f"kill {number} of {self._plan.kills}: {' and '.join(victims)}"
            f"{', and a stop of the broker' if len(steps) > 1 else ''}; "
            f"all partitions have moved on after {time.monotonic() - began:.0f} s"
        )

    def _start_killed(self) -> None:
        for stage in self._stages:
            stage.start_killed()

    def _start_ended(self) -> None:
        """Starts workers that have ended, and notes whether that is explained: once each by a stop of the broker."""
        for stage in self._stages:
            for name, code in stage.start_ended().items():
                self._progress(f"{name} has ended by itself with exit code {code}")
                if name in self._may_end:
                    self._may_end.remove(name)
                    self._explained_exits += 1
                else:
                    self._unexplained_exits.append(f"{name}, exit code {code}")

    def _stop_and_start_broker(self) -> None:
        self._start_ended()
        self._may_end = {name for stage in self._stages for name in stage.names}
        self._broker.stop()
        time.sleep(self._chance.uniform(2.0, 6.0))
        self._broker.start()
        self._broker_stops += 1

    def _wait_for_commits(self, positions: dict[Workers, dict[int, int]], what: str) -> None:
        for stage, before in positions.items():

            def has_moved_on(stage: Workers = stage, before: dict[int, int] = before) -> bool:
                committed = stage.committed()
                return all(offset > before.get(partition, 0) for partition, offset in committed.items())

            self._wait(f"{what}: {stage.stage}", has_moved_on)

    def _wait(self, what: str, condition: Callable[[], bool]) -> None:
        def supervised() -> bool:
            self._start_ended()
            return condition()

        try:
            wait_until(what, supervised, self._seconds_left())
        except AssertionError as error:
            limit = f"the whole run has {self._plan.limit_seconds:.0f} s"
            ended = f"ended by themselves: {self._explained_exits} and {self._unexplained_exits}"
            state = (stage.state() for stage in self._stages)
            raise AssertionError("\n".join([f"{error}; {limit}", ended, *state])) from None

    def _seconds_left(self) -> float:
        return max(0.0, self._started + self._plan.limit_seconds - time.monotonic())

    def _compare(self) -> Outcome:
        expected = undisturbed_windows(whole_topic(self._kafka, self._topics.samples), WINDOWS)
        self._progress(f"an undisturbed run gives {len(expected)} windows")
        windows = compare(expected, identified_windows(whole_topic(self._kafka, self._topics.features)))
        verdicts = undisturbed_verdicts(expected.values(), whole_topic(self._kafka, self._topics.models))
        self._progress(f"and {len(verdicts)} verdicts")
        published = (
            ((anomaly.id, anomaly.revision), record.value or b"")
            for record in whole_topic(self._kafka, self._topics.anomalies)
            for anomaly in [decode_json(record.value, Anomaly)]
        )
        outcome = Outcome(
            self._plan, windows, compare(verdicts, published), self._dropped_copies(), self._unexplained_exits
        )
        outcome.counts = {
            "kills of features workers": self._features.kills,
            "kills of detect workers": self._detect.kills,
            "kills of a worker that was catching up": sum(stage.kills_while_catching_up for stage in self._stages),
            "stops of the broker": self._broker_stops,
            "workers that ended at a stop of the broker": self._explained_exits,
        }
        return outcome

    def _dropped_copies(self) -> int:
        """By the last heartbeat of each detect worker; what it dropped between that and its death is missing."""
        dropped: dict[str, int] = {}
        for record in whole_topic(self._kafka, self._topics.status):
            status = decode_json(record.value, Status)
            repeated = status.details.get("repeated")
            if status.event is StatusEvent.HEARTBEAT and isinstance(repeated, int):
                dropped[status.source] = repeated
        return sum(dropped.values())

    def _progress(self, text: str) -> None:
        self._say(f"{time.monotonic() - self._started:6.0f} s  {text}")
