"""Runs one stage in this process until it is told to stop."""

import asyncio
import gc
import logging
import signal
import sys
from importlib import import_module

import faust

from pulsetrain.schemas.kafka import KafkaSettings, wait_for_broker, wait_for_topics
from pulsetrain.schemas.topics import ALL_TOPICS, TopicNames
from pulsetrain.streams.errors import StreamError
from pulsetrain.streams.faust_app import make_app
from pulsetrain.streams.log_limits import RepeatFilter
from pulsetrain.streams.settings import WorkerSettings
from pulsetrain.streams.shutdown import arm_shutdown_deadline

STAGES = ("features", "detect", "learn")
"""Each is a module of `pulsetrain.streams.stages`, imported only by the worker that runs it."""

_NEW_OBJECTS_BEFORE_COLLECTION = 100_000
"""What a message leaves is freed by its reference counts. With Python's 700, collections that find nothing took 3 us a
message, and some stopped the worker for 10 ms; with 20,000, those of a thousand nodes' held messages took 50 ms."""

_SWITCH_SECONDS = 0.0005
"""How long Faust's loop and the thread that reads from Kafka wait for each other at most; Python's own 5 ms cost 5 % of
the rate."""


class _StageWorker(faust.Worker):
    """Faust's worker with our deadline for shutting down."""

    def __init__(self, app: faust.App, shutdown_seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(app, loop=loop, quiet=True, override_logging=False, redirect_stdouts=False)
        self.spinner = None
        self._shutdown_seconds = shutdown_seconds

    def _on_sigint(self) -> None:
        self._on_sigterm()

    def _on_sigterm(self) -> None:
        arm_shutdown_deadline(self._shutdown_seconds, self.app.conf.id)
        super()._on_sigterm()


def run_stage(stage: str, settings: WorkerSettings, kafka: KafkaSettings, topics: TopicNames, partitions: int) -> int:
    """Runs a stage until SIGTERM or SIGINT; returns the exit code, 0 after a clean stop.

    Waits for the broker and for the topics first, with back-off and one sentence a try.

    Raises:
        StreamError: the stage is unknown.
        TopicsError: the topics don't fit.
    """
    if stage not in STAGES:
        raise StreamError(f"there is no stage {stage!r}: choose from {', '.join(STAGES)}")
    _set_up_logging()
    signal.signal(signal.SIGTERM, _exit_before_start)
    wait_for_broker(kafka, _announce)
    wait_for_topics(kafka, ALL_TOPICS, topics.prefix, partitions, _announce)
    app = make_app(stage, kafka, topics, partitions, declare_topics=settings.declare_topics)
    import_module(f"pulsetrain.streams.stages.{stage}").attach(app, kafka, topics, settings)
    gc.collect()
    gc.freeze()  # modules and the app live as long as the process; a collection among them takes 50 ms
    gc.set_threshold(_NEW_OBJECTS_BEFORE_COLLECTION)
    sys.setswitchinterval(_SWITCH_SECONDS)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    worker = _StageWorker(app, settings.shutdown_seconds, loop)
    try:
        worker.execute_from_commandline()
    except SystemExit as stopped:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what is left is the interpreter's own end
        return int(stopped.code or 0)


def _exit_before_start(_signal: int, _frame: object) -> None:
    raise SystemExit(0)


def _announce(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _set_up_logging() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(RepeatFilter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("pulsetrain").setLevel(logging.INFO)
