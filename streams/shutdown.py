"""A deadline for ending: a worker whose broker is away would wait for it for ever."""

import os
import sys
import threading

EXIT_DEADLINE_MISSED = 1


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
