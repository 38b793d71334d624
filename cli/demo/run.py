"""Runs the demo: a broker, an agent and workers of its own, the story, and a view of it."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from pulsetrain.cli.brokers.embedded import EMBEDDED_PARTITIONS, EmbeddedBroker
from pulsetrain.cli.config import load_config
from pulsetrain.cli.config_sources import VARIABLE_PREFIX, variable_name
from pulsetrain.cli.demo.chapters import first_problem
from pulsetrain.cli.demo.children import Children, Loads
from pulsetrain.cli.demo.demo import Demo
from pulsetrain.cli.demo.feed import Feed
from pulsetrain.cli.demo.journal import Journal
from pulsetrain.cli.demo.machine import MachineHands, leak_mebibytes_here, take_few_cpus
from pulsetrain.cli.demo.observations import Observations
from pulsetrain.cli.demo.screen import Moment
from pulsetrain.cli.demo.story import STAGES, NotClosedError, Story, Wait, Waits
from pulsetrain.cli.demo.timing import HOP_SECONDS, WARM_UP_SECONDS, WINDOW_SECONDS
from pulsetrain.cli.demo.views import View
from pulsetrain.cli.errors import CliError
from pulsetrain.cli.topics import create_topics
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import ALL_TOPICS

PREFIX = "demo."

_POLL_SECONDS = 0.2


def run_demo(*, on_apache_kafka: bool, announce: Callable[[str], None], view_of: Callable[[Demo], View]) -> Demo:
    """Runs the whole demo; afterwards nothing of it is left but what is returned.

    Args:
        on_apache_kafka: whether on a real broker instead of the embedded one.
        announce: called with a sentence while the broker starts.
        view_of: makes the view of a demo that is about to begin.

    Raises:
        BrokerError: the broker can't be started.
        CliError: this machine has too little memory.
    """
    take_few_cpus()
    leak_mebibytes_here()  # says now what would fail in the middle
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pulsetrain-demo-")))
        broker, environment = stack.enter_context(_broker(on_apache_kafka, announce))
        config = load_config(environment=environment)
        children = stack.enter_context(Children(folder, _without_settings(os.environ) | environment))
        loads = stack.enter_context(Loads())
        hands = MachineHands(children, loads, config.kafka, config.topics.names.labels)
        journal = Journal(time.time)
        seen = Observations(time.time, journal)
        demo = Demo(broker, journal, seen, Story(seen, hands, journal, time.time))
        view = stack.enter_context(view_of(demo))
        children.start("workers", ["worker", *sorted(STAGES)])
        feed = stack.enter_context(Feed(config.kafka, PREFIX, journal))

        def look() -> None:
            children.check()
            loads.check()
            for record in feed.poll(_POLL_SECONDS):
                seen.take(record)

        try:
            drive(demo.story.tell(), look, view.show, time.time)
            demo.not_closed = first_problem(demo.story.chapters)
        except (NotClosedError, CliError) as error:
            demo.not_closed = str(error)
        demo.seconds = time.time() - demo.story.began_at
    return demo


def drive(waits: Waits, look: Callable[[], None], show: Callable[[Moment], None], clock: Callable[[], float]) -> None:
    """Carries a story through: each wait ends when it comes true or when its time is over.

    Args:
        look: takes what has come; it waits a moment for it.
        show: shows what is waited for.
        clock: Unix seconds.
    """

    def comes_true(wait: Wait) -> bool:
        began_at = clock()
        while not wait.until():
            passed_seconds = clock() - began_at
            if passed_seconds >= wait.seconds:
                return False
            share = wait.progress() if wait.progress else passed_seconds / wait.seconds
            show(Moment(clock(), wait.what, share))
            look()
        return True

    try:
        wait = next(waits)
        while True:
            wait = waits.send(comes_true(wait))
    except StopIteration:
        return


@contextmanager
def _broker(on_apache_kafka: bool, announce: Callable[[str], None]) -> Iterator[tuple[str, dict[str, str]]]:
    """What to call the broker, and the settings of the demo's processes as environment variables."""
    if on_apache_kafka:
        with ApacheKafka(announce=announce) as node:
            create_topics(KafkaSettings(bootstrap=node.bootstrap), PREFIX, EMBEDDED_PARTITIONS)
            yield f"Apache Kafka {node.bootstrap}", _settings(node.bootstrap, declare_topics=True)
    else:
        with EmbeddedBroker() as embedded:
            embedded.declare(topic.full_name(PREFIX) for topic in ALL_TOPICS)
            yield f"embedded broker {embedded.bootstrap}", _settings(embedded.bootstrap, declare_topics=False)


def _settings(bootstrap: str, *, declare_topics: bool) -> dict[str, str]:
    settings = {
        "kafka.bootstrap": bootstrap,
        "topics.prefix": PREFIX,
        "topics.partitions": EMBEDDED_PARTITIONS,
        "worker.declare_topics": str(declare_topics).lower(),
        "worker.heartbeat_seconds": 1.0,
        "worker.shutdown_seconds": 5.0,
        "worker.windows.length_seconds": WINDOW_SECONDS,
        "worker.windows.hop_seconds": HOP_SECONDS,
        "worker.windows.allowed_lateness_seconds": 1.0,
        "worker.learn.warm_up_seconds": WARM_UP_SECONDS,
        "worker.learn.activation_delay_seconds": 2.0,
        # A minute of warm-up has a dozen independent windows: too few for the default number of columns, and for a
        # threshold that is exceeded once a day.
        "worker.learn.max_columns": 80,
        "worker.learn.false_alarms_per_day": 400.0,
    }
    return {variable_name(tuple(name.split("."))): str(value) for name, value in settings.items()}


def _without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith(VARIABLE_PREFIX)}
