"""Foreground commands: how they end, and what they need installed."""

import os
import signal
from collections.abc import Iterator

import pytest

from pulsetrain.agents.orders import Orders
from pulsetrain.cli.errors import CliError
from pulsetrain.cli.extras import require_extra
from pulsetrain.cli.node_watch import wait_while_answering
from pulsetrain.cli.stopping import exit_on_signals, obey_signals

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture
def handlers() -> Iterator[None]:
    """Gives the test process its own signal handlers back."""
    before = {number: signal.getsignal(number) for number in ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_for_an_orderly_end_and_the_second_does_not_wait(
    number: signal.Signals, handlers: None
) -> None:
    orders = Orders()
    obey_signals(orders)
    os.kill(os.getpid(), number)
    assert orders.wait(10)
    assert orders.is_stopping
    default: dict[int, object] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    assert signal.getsignal(number) is default[number]


def test_a_hang_up_asks_for_the_settings_to_be_read_anew_and_wakes_whoever_waits(handlers: None) -> None:
    orders = Orders()
    obey_signals(orders)
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGHUP)
        assert orders.wait(10)
        assert not orders.is_stopping
        assert orders.take_reload()
        assert not orders.take_reload()
        assert not orders.wait(0)


@pytest.mark.parametrize("number", ENDING)
def test_the_first_signal_leaves_through_the_clean_up_and_no_other_interrupts_it(
    number: signal.Signals, handlers: None
) -> None:
    cleaned = []

    def run() -> None:
        try:
            os.kill(os.getpid(), number)
            signal.pause()
        finally:
            for following in ENDING:
                os.kill(os.getpid(), following)
            cleaned.append(True)

    exit_on_signals()
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 0
    assert cleaned


def test_a_signal_that_the_process_was_started_to_ignore_stays_ignored(handlers: None) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    obey_signals(Orders())
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    exit_on_signals()
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


class EndOfTestError(Exception):
    """Raised instead of a further look."""


def watch(*reports: str | None) -> None:
    """Look at a broker that gives the reports one after another."""
    left = list(reports)

    def sleep(_seconds: float) -> None:
        if not left:
            raise EndOfTestError

    wait_while_answering(lambda: left.pop(0), sleep)


def test_a_broker_that_misses_one_look_goes_on() -> None:
    with pytest.raises(EndOfTestError):
        watch(None, "no answer", None, "no answer", None)


def test_a_broker_that_misses_two_looks_has_ended() -> None:
    with pytest.raises(CliError, match="ended or hangs: connection refused"):
        watch(None, "slow", "connection refused", None)


def test_a_missing_extra_is_named_with_the_way_to_install_it() -> None:
    require_extra("streams", "json")
    with pytest.raises(CliError, match=r"nosuchmodule not found\): `pip install 'pulsetrain\[streams\]'`"):
        require_extra("streams", "json", "nosuchmodule")
