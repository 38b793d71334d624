"""Notices when a broker that runs in the foreground has ended."""

import time
from collections.abc import Callable
from typing import NoReturn

from pulsetrain.cli.errors import CliError

WATCH_SECONDS = 10.0

_FAILED_LOOKS = 2


def wait_while_answering(problem: Callable[[], str | None], sleep: Callable[[float], object] = time.sleep) -> NoReturn:
    """Ask a broker again and again whether all is well.

    Args:
        problem: asks the broker; what is wrong with it, or None.
        sleep: called with the distance of two looks in seconds.

    Raises:
        CliError: the broker did not answer twice in a row.
    """
    failed = 0
    while True:
        sleep(WATCH_SECONDS)
        trouble = problem()
        failed = failed + 1 if trouble else 0
        if failed == _FAILED_LOOKS:
            raise CliError(f"Apache Kafka has ended or hangs: {trouble}.")
