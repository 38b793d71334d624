"""Foreground commands: how they end, and what they need installed."""

import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from pulsetrain.cli.errors import CliError
from pulsetrain.cli.extras import require_extra
from pulsetrain.cli.node_watch import wait_while_answering
from pulsetrain.cli.stopping import stop_on_signals


@pytest.fixture
def handlers() -> Iterator[None]:
    """Gives the test process its own signal handlers back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_for_an_orderly_end_and_the_second_does_not_wait(
    number: signal.Signals, handlers: None
) -> None:
    stop = stop_on_signals()
    os.kill(os.getpid(), number)
    assert stop.wait(10)
    default: dict[int, object] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    assert signal.getsignal(number) is default[number]


def answers(*reports: str | None, then: threading.Event) -> Callable[[], str | None]:
    """Gives the reports one after another; with the last one `then` is set."""
    left = list(reports)

    def problem() -> str | None:
        report = left.pop(0)
        if not left:
            then.set()
        return report

    return problem


def test_a_broker_that_misses_one_look_goes_on() -> None:
    stop = threading.Event()
    wait_while_answering(stop, answers(None, "no answer", None, "no answer", None, then=stop), watch_seconds=0)


def test_a_broker_that_misses_two_looks_has_ended() -> None:
    never = threading.Event()
    with pytest.raises(CliError, match="ended or hangs: connection refused"):
        wait_while_answering(never, answers(None, "slow", "connection refused", None, then=never), watch_seconds=0)


def test_a_missing_extra_is_named_with_the_way_to_install_it() -> None:
    require_extra("streams", "json")
    with pytest.raises(CliError, match=r"nosuchmodule not found\): `pip install 'pulsetrain\[streams\]'`"):
        require_extra("streams", "json", "nosuchmodule")
