"""Notices when a broker that runs in the foreground has ended."""

import threading
from collections.abc import Callable

from pulsetrain.cli.errors import CliError

WATCH_SECONDS = 10.0

_FAILED_LOOKS = 2


def wait_while_answering(
    stop: threading.Event, problem: Callable[[], str | None], watch_seconds: float = WATCH_SECONDS
) -> None:
    """Return once `stop` is set.

    Args:
        stop: set by whoever wants the broker to end.
        problem: asks the broker; what is wrong with it, or None.
        watch_seconds: distance of two looks.

    Raises:
        CliError: the broker did not answer twice in a row.
    """
    failed = 0
    while not stop.wait(watch_seconds):
        trouble = problem()
        failed = failed + 1 if trouble else 0
        if failed == _FAILED_LOOKS:
            raise CliError(f"Apache Kafka has ended or hangs: {trouble}.")
