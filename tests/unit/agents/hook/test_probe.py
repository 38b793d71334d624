"""The probe in a training loop."""

import copy
import logging
import math
import pickle
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
import pytest

from pulsetrain.agents.hook import TrainingProbe
from pulsetrain.agents.hook.identity import Identity
from pulsetrain.agents.hook.message import MAX_MESSAGE_BYTES, MAX_STEPS, NonFinite, Sender, Totals, encode
from tests.unit.agents.hook.fakes import NS, Clock, Recorder

START = 1_700_000_000 * NS


class Loop:
    """A probe with clocks, and a training loop around it."""

    def __init__(self, listens: bool = True) -> None:
        self.monotonic, self.wall = Clock(50 * NS), Clock(START)
        self.sent = Recorder(listens)
        self.probe = TrainingProbe("llm", 3, outlet=self.sent, monotonic_ns=self.monotonic, time_ns=self.wall)

    def work(self, seconds: float) -> None:
        self.monotonic.now_ns += round(seconds * NS)
        self.wall.now_ns += round(seconds * NS)


class Metric:
    """Reads as a number, and would ask all ranks for it."""

    def compute(self, *arguments: object) -> NoReturn:
        raise AssertionError("a collective was called")

    __float__ = __call__ = __getattribute__ = compute


def test_a_step_lasts_from_the_end_of_the_one_before_and_the_first_has_no_duration() -> None:
    loop = Loop()
    with loop.probe as probe:
        loop.work(9)
        probe.step(loss=2.5, grad_norm=1.25, scale=65536)
        loop.work(0.25)
        probe.step(loss=2.0)
    assert loop.sent.steps == [[START + 9 * NS, 1, None, None], [START + 9 * NS + NS // 4, 2, NS // 4, None]]
    assert loop.sent.values == [[1, None, 2.5, 1.25, 65536.0, 0], [2, None, 2.0, None, None, 0]]


def test_waits_for_data_and_all_reduces_add_up_within_a_step() -> None:
    loop = Loop()
    with loop.probe as probe:
        for _ in range(2):
            with probe.data_wait():
                loop.work(0.5)
            for _ in range(3):
                with probe.all_reduce():
                    loop.work(0.125)
        probe.step()
        probe.step()
    assert [step[3] for step in loop.sent.steps] == [NS, None]
    assert loop.sent.values == [[1, 3 * NS // 4, None, None, None, 0]]


def test_batches_time_the_waits_for_a_loader_and_hand_through_what_it_gives_and_raises() -> None:
    loop = Loop()

    def loader() -> Iterator[str]:
        for letter in "ab":
            loop.work(0.5)
            yield letter
        raise LookupError("the disk is gone")

    with loop.probe as probe:
        batches = probe.batches(loader())
        assert next(batches) == "a"
        probe.step()
        assert next(batches) == "b"
        probe.step()
        with pytest.raises(LookupError, match="the disk is gone"):
            next(batches)
    assert [step[3] for step in loop.sent.steps] == [NS // 2, NS // 2]


def test_an_evaluation_that_is_left_out_belongs_to_no_step() -> None:
    loop = Loop()
    with loop.probe as probe:
        probe.step()
        with probe.all_reduce(), probe.data_wait():
            loop.work(100)
        probe.leave_out()
        loop.work(2)
        probe.step()
    assert loop.sent.steps[1][2:] == [2 * NS, None]
    assert loop.sent.values == []


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf, np.float32("nan")])
def test_a_loss_that_is_not_finite_travels_as_null_and_a_flag(loss: object) -> None:
    loop = Loop()
    with loop.probe as probe:
        probe.step(loss=loss, grad_norm=1.0)
        probe.step(loss=1.0, grad_norm=loss)
    assert loop.sent.values == [
        [1, None, None, 1.0, None, NonFinite.LOSS],
        [2, None, 1.0, None, None, NonFinite.GRADIENT_NORM],
    ]


@pytest.mark.parametrize(("loss", "number"), [(3, 3.0), (np.float64(0.5), 0.5), (np.array([1.5]), 1.5), (True, 1.0)])
def test_plain_numbers_are_read_whatever_their_type(loss: object, number: float) -> None:
    loop = Loop()
    with loop.probe as probe:
        probe.step(loss=loss)
    assert loop.sent.losses == {1: number}


NO_NUMBERS: dict[str, Callable[[], object]] = {
    "metric": Metric,
    "function": lambda: float,
    "text": lambda: "1.0",
    "list": lambda: [1.0],
    "dict": lambda: {"loss": 1.0},
    "two numbers": lambda: np.array([1.0, 2.0]),
    "too large": lambda: 1 << 2000,
    "complex": lambda: np.array([1j]),
    "object": object,
}


@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_what_is_no_number_is_not_touched_and_counted_and_the_step_counts(kind: str) -> None:
    loop = Loop()
    with loop.probe as probe:
        for _ in range(10):
            probe.step(loss=NO_NUMBERS[kind](), grad_norm=0.5)
        loop.work(1)
        probe.step()
    assert len(loop.sent.steps) == 11
    assert loop.sent.values == [[number, None, None, 0.5, None, 0] for number in range(1, 11)]
    assert loop.sent.messages[-1]["errors"] == 10


def test_an_unknown_value_is_counted_as_an_error() -> None:
    loop = Loop()
    with loop.probe as probe:
        probe.step(loss=1.0, los=2.0)
    assert loop.sent.losses == {1: 1.0}
    assert loop.sent.messages[-1]["errors"] == 1


def test_fast_steps_share_a_datagram_a_second_and_slow_ones_go_at_once() -> None:
    loop = Loop()
    with loop.probe as probe:
        for _ in range(25):
            loop.work(0.125)
            probe.step()
        assert [len(message["steps"]) for message in loop.sent.messages] == [8, 8, 8]
        loop.work(5)
        probe.step()
        assert [len(message["steps"]) for message in loop.sent.messages] == [8, 8, 8, 2]
    assert [step[1] for step in loop.sent.steps] == list(range(1, 27))
    assert [message["closing"] for message in loop.sent.messages] == [False] * 4 + [True]


def test_steps_of_microseconds_fill_datagrams_of_bounded_size() -> None:
    loop = Loop()
    with loop.probe as probe:
        for _ in range(1000):
            probe.step(loss=-1.2345678901234567e-300, grad_norm=-1.2345678901234567e-300, scale=1.2345678901234567e300)
    assert len(loop.sent.steps) == 1000
    assert max(len(message["steps"]) for message in loop.sent.messages) == MAX_STEPS


def test_the_largest_message_fits() -> None:
    number, value = 2**63 - 1, -2.2250738585072014e-308
    message = encode(
        Sender(Identity("\U0001f600" * 200, 9_999_999), "f" * 16),
        number,
        Totals(number, number, number),
        [(number, number, number, number)] * MAX_STEPS,
        [(number, number, value, value, value, 7)] * MAX_STEPS,
        closing=False,
    )
    assert len(message) <= MAX_MESSAGE_BYTES


def test_without_an_agent_steps_are_dropped_and_counted_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop(listens=False)
    with caplog.at_level(logging.WARNING), loop.probe as probe:
        for _ in range(5):
            loop.work(1)
            probe.step(loss=object())
        loop.sent.listens = True
        loop.work(1)
        probe.step()
    assert [step[1] for step in loop.sent.steps] == [6]
    assert loop.sent.messages[0]["dropped"] == 5
    assert len(caplog.records) == 1


def test_a_log_handler_that_raises_does_not_reach_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> NoReturn:
        raise OSError("the log's disk is full")

    monkeypatch.setattr(logging.getLogger("pulsetrain.hook"), "warning", fail)
    loop = Loop()
    with loop.probe as probe:
        probe.step(loss="no number")
    assert loop.sent.messages[-1]["errors"] == 2


def test_an_error_without_a_text_does_not_reach_training() -> None:
    class MuteError(Exception):
        def __str__(self) -> NoReturn:
            raise RuntimeError("there is nothing to say")

    with TrainingProbe("llm", 0, outlet=Recorder()) as probe:
        probe.count_error(MuteError())
    assert probe.errors == 2


def test_a_sender_that_fails_does_not_reach_training() -> None:
    class Broken(Recorder):
        def send(self, message: bytes) -> bool:
            raise RuntimeError("broken")

    monotonic = Clock(0)
    probe = TrainingProbe("llm", 0, outlet=Broken(), monotonic_ns=monotonic)
    with probe:
        for _ in range(10):
            monotonic.now_ns += NS
            probe.step(loss=1.0)
    assert (probe.errors, probe.dropped_steps) == (11, 10)


@pytest.mark.parametrize(("job", "rank"), [("", 0), ("j" * 201, 0), ("llm", -1), ("llm", 10**9), (7, 0), ("llm", "x")])
def test_a_probe_that_cannot_be_named_is_silent_and_training_goes_on(job: Any, rank: Any) -> None:
    sent = Recorder()
    with TrainingProbe(job, rank, outlet=sent) as probe:
        with probe.data_wait(), probe.all_reduce():
            pass
        probe.step(loss=1.0)
        probe.leave_out()
    assert sent.messages == []


def test_a_probe_begins_with_its_first_step_and_says_nothing_after_its_end() -> None:
    loop = Loop()
    loop.probe.step(loss=1.0)
    loop.probe.close()
    loop.probe.step(loss=2.0)
    with loop.probe.data_wait():
        pass
    loop.probe.close()
    assert loop.sent.losses == {1: 1.0}
    assert loop.sent.is_closed


def test_a_probe_that_is_opened_again_begins_a_session() -> None:
    loop = Loop()
    for loss in (1.0, 2.0):
        with loop.probe as probe:
            loop.work(1)
            probe.step(loss=loss)
        with probe.data_wait(), probe.all_reduce():
            loop.work(5)
        probe.step(loss=9.0)
    first, second = (message for message in loop.sent.messages if message["steps"])
    assert first["session"] != second["session"]
    assert [[step[1:] for step in one["steps"]] for one in (first, second)] == [[[1, None, None]]] * 2
    assert loop.sent.values == [[1, None, 1.0, None, None, 0], [1, None, 2.0, None, None, 0]]


def test_a_copy_in_another_process_begins_anew_with_the_same_names() -> None:
    probe = TrainingProbe("llm", 3)
    for other in (pickle.loads(pickle.dumps(probe)), copy.deepcopy(probe)):  # noqa: S301 - our own bytes
        other._outlet = sent = Recorder()
        with other:
            other.step()
        assert (sent.messages[0]["job"], sent.messages[0]["rank"]) == ("llm", 3)
