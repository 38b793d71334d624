"""An orderly end on Ctrl-C and SIGTERM."""

import signal
import threading


def stop_on_signals() -> threading.Event:
    """An event that the first SIGINT or SIGTERM sets; the second one ends the process as usual."""
    stop = threading.Event()

    def set_once(number: int, _frame: object) -> None:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        stop.set()

    signal.signal(signal.SIGINT, set_once)
    signal.signal(signal.SIGTERM, set_once)
    return stop
