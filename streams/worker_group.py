"""Runs several stages together: one child process each, started and stopped as one."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import NamedTuple

from pulsetrain.models.errors import ModelError
from pulsetrain.schemas.errors import SchemaError
from pulsetrain.schemas.kafka import KafkaSettings, SettingsError
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams.errors import StreamError
from pulsetrain.streams.features import FeatureError, FeatureSets
from pulsetrain.streams.settings import WorkerSettings

EXIT_FAILED = 1
EXIT_CONFIGURATION = 2

_GRACE_SECONDS = 2.0


class StageEnd(NamedTuple):
    """How a stage's process ended.

    `exit_code` is negative if a signal ended it; `sent` is the last signal that this worker sent to it, if any.
    """

    stage: str
    exit_code: int
    sent: signal.Signals | None


def group_exit_code(ends: Sequence[StageEnd]) -> int:
    """The greatest exit code that a stage chose; 1 if a signal ended one that was not told to stop, or not in time."""
    return max(EXIT_FAILED if _problem(end) else max(end.exit_code, 0) for end in ends)


def signal_problems(ends: Sequence[StageEnd]) -> list[str]:
    """A sentence for each stage that a signal ended, save those that just did as they were told."""
    return [f"pulsetrain worker {end.stage}: {problem}" for end in ends if (problem := _problem(end))]


def _problem(end: StageEnd) -> str | None:
    if end.exit_code >= 0 or (end.sent == signal.SIGTERM and end.exit_code == -signal.SIGTERM):
        return None
    if end.sent == signal.SIGKILL:
        return "not stopped in time and killed; unconfirmed work is done again by the next worker."
    return (
        f"ended by {signal.Signals(-end.exit_code).name}, so the other stages were stopped too; find out who sent it "
        "(the kernel does when memory runs out) and start the worker again."
    )


def run_worker(
    stages: Sequence[str], settings: WorkerSettings, kafka: KafkaSettings, topics: TopicNames, partitions: int
) -> int:
    """Runs the stages until SIGTERM or SIGINT, or until one of them ends; returns the exit code.

    Raises:
        StreamError: a stage is unknown, or the topics don't fit (one stage only; several report it themselves).
        FeatureError: the configured feature set names something that tsfresh does not know.
    """
    if "features" in stages:
        FeatureSets.from_fc_parameters(settings.features, settings.metric_features)
    if len(stages) == 1:
        from pulsetrain.streams.worker import run_stage  # Faust's import takes a second and only the child needs it

        return run_stage(stages[0], settings, kafka, topics, partitions)
    context = multiprocessing.get_context("spawn")
    children = [
        context.Process(target=_run_child, name=stage, args=(stage, settings, kafka, topics, partitions))
        for stage in stages
    ]
    stop_requests, requester = context.Pipe(duplex=False)

    def request_stop(_signal: int, _frame: object) -> None:
        requester.send_bytes(b"stop")

    signal.signal(signal.SIGTERM, request_stop)
    signal.signal(signal.SIGINT, request_stop)
    for child in children:
        child.start()
    wait([stop_requests, *(child.sentinel for child in children)])
    # Each is told once: a child that is told twice may die of it while it ends in order.
    sent = {child.name: signal.SIGTERM for child in children if child.is_alive()}
    for child in children:
        if child.name in sent:
            child.terminate()
    for child in children:
        child.join(settings.shutdown_seconds + _GRACE_SECONDS)
        if child.is_alive():
            sent[child.name] = signal.SIGKILL
            child.kill()
            child.join()
    ends = [StageEnd(child.name, child.exitcode or 0, sent.get(child.name)) for child in children]
    for problem in signal_problems(ends):
        print(problem, file=sys.stderr, flush=True)
    return group_exit_code(ends)


def _run_child(stage: str, settings: WorkerSettings, kafka: KafkaSettings, topics: TopicNames, partitions: int) -> None:
    from pulsetrain.streams.worker import run_stage

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the parent passes it on as SIGTERM
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        code = run_stage(stage, settings, kafka, topics, partitions)
    except (SettingsError, FeatureError) as error:
        code = _report(stage, error, EXIT_CONFIGURATION)
    except (StreamError, SchemaError, ModelError) as error:
        code = _report(stage, error, EXIT_FAILED)
    raise SystemExit(code)


def _report(stage: str, error: Exception, code: int) -> int:
    print(f"pulsetrain worker {stage}: {error}", file=sys.stderr, flush=True)
    return code


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
