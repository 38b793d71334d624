"""Runs several stages together: one child process each, started and stopped as one."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import wait

from pulsetrain.schemas.errors import SchemaError
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams.errors import StreamError
from pulsetrain.streams.features import FeatureSet
from pulsetrain.streams.settings import WorkerSettings

_GRACE_SECONDS = 2.0


def run_worker(
    stages: Sequence[str], settings: WorkerSettings, kafka: KafkaSettings, topics: TopicNames, partitions: int
) -> int:
    """Runs the stages until SIGTERM or SIGINT, or until one of them ends; returns the exit code.

    Raises:
        StreamError: a stage is unknown, or the topics don't fit (one stage only; several report it themselves).
        FeatureError: the configured feature set names something that tsfresh does not know.
    """
    if settings.features is not None:
        FeatureSet.from_fc_parameters(settings.features)
    if len(stages) == 1:
        from pulsetrain.streams.worker import run_stage  # Faust's import takes a second and only the child needs it

        return run_stage(stages[0], settings, kafka, topics, partitions)
    context = multiprocessing.get_context("spawn")
    children = [
        context.Process(target=_run_child, name=stage, args=(stage, settings, kafka, topics, partitions))
        for stage in stages
    ]

    stopping = False

    def stop(_signal: int | None = None, _frame: object = None) -> None:
        nonlocal stopping
        if not stopping:  # a child that is told twice may die of it while it ends in order
            stopping = True
            for child in children:
                if child.is_alive():
                    child.terminate()

    for child in children:
        child.start()
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    wait([child.sentinel for child in children])
    stop()
    for child in children:
        child.join(settings.shutdown_seconds + _GRACE_SECONDS)
        if child.is_alive():
            child.kill()
            child.join()
    return max(abs(child.exitcode or 0) for child in children)


def _run_child(stage: str, settings: WorkerSettings, kafka: KafkaSettings, topics: TopicNames, partitions: int) -> None:
    from pulsetrain.streams.worker import run_stage

    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        code = run_stage(stage, settings, kafka, topics, partitions)
    except (StreamError, SchemaError) as error:
        print(f"pulsetrain worker {stage}: {error}", file=sys.stderr, flush=True)
        code = 1
    raise SystemExit(code)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
