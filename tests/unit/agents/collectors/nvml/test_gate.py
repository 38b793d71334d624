"""The library is shut down only when no call is under way."""

import threading

import pytest

from pulsetrain.agents.collectors.nvml.gate import Gate, GateClosedError
from tests.unit.agents.collectors.nvml.fake_pynvml import WAIT_SECONDS


def test_calls_of_the_current_session_are_let_in() -> None:
    gate = Gate()
    gate.open(2)

    with gate.entered(2):
        pass
    with pytest.raises(GateClosedError), gate.entered(1):
        pass


def test_a_closed_gate_lets_nobody_in() -> None:
    gate = Gate()
    gate.open(1)

    assert gate.close(WAIT_SECONDS)
    with pytest.raises(GateClosedError), gate.entered(1):
        pass


def test_a_gate_that_can_not_be_closed_for_a_hanging_call_is_open_again() -> None:
    gate = Gate()
    gate.open(1)

    with gate.entered(1):
        assert not gate.close(0.01)
        with gate.entered(1):
            pass


def test_closing_waits_for_the_last_call() -> None:
    gate, inside, leave = Gate(), threading.Event(), threading.Event()
    gate.open(1)

    def call() -> None:
        with gate.entered(1):
            inside.set()
            assert leave.wait(WAIT_SECONDS)

    thread = threading.Thread(target=call)
    thread.start()
    assert inside.wait(WAIT_SECONDS)
    threading.Timer(0.05, leave.set).start()

    assert gate.close(WAIT_SECONDS)
    thread.join(WAIT_SECONDS)


def test_a_call_that_hangs_already_is_not_waited_for_and_keeps_nobody_out() -> None:
    now = [0.0]
    gate = Gate(lambda: now[0])
    gate.open(1)

    with gate.entered(1):
        now[0] = 2.0
        assert not gate.close(WAIT_SECONDS)
        with gate.entered(1):
            pass
