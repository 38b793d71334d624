"""Several devices are asked, and one that hangs keeps nobody waiting."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from pulsetrain.agents.collectors.nvml.crew import Answers, Crew
from tests.unit.agents.collectors.nvml.fake_pynvml import WAIT_SECONDS


class _Hanging:
    """A question that is answered when the test says so."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.released = threading.Event()
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        self.started.set()
        assert self.released.wait(WAIT_SECONDS)
        return "late"


@pytest.fixture
def crew() -> Iterator[Crew[str]]:
    made: Crew[str] = Crew("test")
    yield made
    made.close()


def _until(crew: Crew[str], questions: dict[str, Callable[[], str]], key: str) -> Answers[str]:
    """Ask until there is an answer of `key`."""
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        answers = crew.ask(questions, 0.3)
        if key in answers.given:
            return answers
        time.sleep(0.001)
    pytest.fail(f"{key} never answered")


def test_every_device_answers_for_itself(crew: Crew[str]) -> None:
    answers = crew.ask({"a": lambda: "1", "b": lambda: "2"}, WAIT_SECONDS)

    assert answers == Answers(given={"a": "1", "b": "2"})


def test_one_thread_is_enough_while_nobody_hangs(crew: Crew[str]) -> None:
    for _ in range(5):
        crew.ask({key: lambda: "x" for key in "abcdefgh"}, WAIT_SECONDS)

    assert crew.threads == 1


def test_a_device_that_raises_costs_only_itself(crew: Crew[str]) -> None:
    def fails() -> str:
        raise OSError("no")

    answers = crew.ask({"a": fails, "b": lambda: "2"}, WAIT_SECONDS)

    assert answers.given == {"b": "2"}
    assert isinstance(answers.failed["a"], OSError)


def test_the_others_answer_while_one_hangs(crew: Crew[str]) -> None:
    hanging = _Hanging()

    answers = crew.ask({"a": hanging, "b": lambda: "2", "c": lambda: "3"}, 2.0)

    assert answers.given == {"b": "2", "c": "3"}
    assert answers.silent.keys() == {"a"}
    hanging.released.set()


def test_a_hanging_device_is_neither_asked_again_nor_waited_for() -> None:
    now, hanging = [0.0], _Hanging()
    crew: Crew[str] = Crew("test", lambda: now[0])
    crew.ask({"a": hanging}, 0.0)
    assert hanging.started.wait(WAIT_SECONDS)
    now[0] = 7.0

    answers = crew.ask({"a": hanging}, WAIT_SECONDS)

    assert answers.silent == {"a": 7.0}
    assert hanging.asked == 1
    hanging.released.set()
    crew.close()


def test_many_hanging_devices_hold_one_thread_each_and_no_more(crew: Crew[str]) -> None:
    hanging = {key: _Hanging() for key in "abc"}
    questions: dict[str, Callable[[], str]] = {**hanging, "d": lambda: "4"}

    for _ in range(5):
        answers = _until(crew, questions, "d")

    assert answers.silent.keys() == set("abc")
    assert crew.threads == 4
    for device in hanging.values():
        device.released.set()


def test_a_late_answer_is_thrown_away_and_the_device_is_asked_again(crew: Crew[str]) -> None:
    hanging = _Hanging()
    crew.ask({"a": hanging}, 0.1)
    hanging.released.set()

    answers = _until(crew, {"a": lambda: "new"}, "a")

    assert answers.given == {"a": "new"}
