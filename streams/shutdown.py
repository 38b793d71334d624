"""A deadline for ending: a worker whose broker is away would wait for it for ever."""

import logging
import os
import sys
import threading

import faust

EXIT_DEADLINE_MISSED = 1

_log = logging.getLogger(__name__)


def arm_shutdown_deadline(seconds: float, name: str) -> threading.Timer:
    """Ends the process after `seconds` with a message and exit code 1, unless it has ended by itself before.

    Whatever was not confirmed by then is not acknowledged either: it is read again by the next worker.
    """

    def end_process() -> None:
        print(
            f"{name}: not stopped within {seconds:.0f} s (is the broker away?); ending now. "
            "Unconfirmed work is done again by the next worker.",
            file=sys.stderr,
            flush=True,
        )
        os._exit(EXIT_DEADLINE_MISSED)

    timer = threading.Timer(seconds, end_process)
    timer.daemon = True
    timer.start()
    return timer


def stop_after_failure(app: faust.App, seconds: float, failure: BaseException) -> None:
    """Ends a worker that can't go on: it crashes in order, or by the deadline, and its supervisor starts it again.

    Nothing more is acknowledged, so whatever it had not finished is read again from the last commit.
    """
    _log.critical(
        "this worker can't go on and stops; what it had not finished is read again from the last commit: %s: %s",
        type(failure).__name__,
        failure,
        exc_info=failure,
    )
    arm_shutdown_deadline(seconds, app.conf.id)
    app.add_future(app.crash(failure))
