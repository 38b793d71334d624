"""An orderly end on Ctrl-C and SIGTERM."""

import signal
import sys

from pulsetrain.agents.orders import Orders

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def obey_signals(orders: Orders) -> None:
    """The first SIGINT or SIGTERM orders to stop, the second ends the process as usual; SIGHUP orders to read anew.

    A SIGHUP that the process was started to ignore (`nohup`) stays ignored.
    """

    def stop(number: int, _frame: object) -> None:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        orders.stop()

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda _number, _frame: orders.reload())


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
