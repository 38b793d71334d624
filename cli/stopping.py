"""An orderly end on Ctrl-C and SIGTERM."""

import signal
import sys
import threading

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def stop_on_signals() -> threading.Event:
    """An event that the first SIGINT or SIGTERM sets; the second one ends the process as usual."""
    stop = threading.Event()

    def set_once(number: int, _frame: object) -> None:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        stop.set()

    signal.signal(signal.SIGINT, set_once)
    signal.signal(signal.SIGTERM, set_once)
    return stop


def exit_on_signals() -> None:
    """The first SIGINT, SIGTERM or SIGHUP ends the process with code 0 through all its `with` blocks.

    Those that follow are ignored, so that nothing interrupts the clean-up. One that the process was started to
    ignore (`nohup`) stays ignored.
    """

    def leave(_number: int, _frame: object) -> None:
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
        sys.exit(0)

    for number in _ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, leave)
