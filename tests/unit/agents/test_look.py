"""What a machine has and what it has not, and one look at its values; a source that hangs or fails hides no other."""

import math
import threading
from collections.abc import Sequence

import pytest

from pulsetrain.agents.collectors.base import Collected, Observation, Support
from pulsetrain.agents.collectors.scheduled import InBackground, Scheduled
from pulsetrain.agents.errors import CollectError
from pulsetrain.agents.look import Value, look
from pulsetrain.agents.settings import AgentSettings
from pulsetrain.agents.sources import Source, Sources, configured_sources
from tests.unit.agents.background_fakes import Answer, ScriptedBackground
from tests.unit.agents.fakes import ScriptedCollector

INTERRUPTS = "system.linux.interrupts"
LOAD = "system.linux.load"
UTILIZATION = "system.cpu.utilization"


def background(name: str, *answers: Answer, support: Support | Exception | None = None) -> ScriptedBackground:
    collector = ScriptedBackground(answers, name, interval_ms=5000, deadline_seconds=0.05)
    collector.metric_names = (INTERRUPTS,)
    collector.supports = [support or Support(True)]
    return collector


class Absent(ScriptedCollector):
    metric_names = (LOAD, INTERRUPTS)

    def is_supported(self) -> Support:
        return Support(False, "/proc/secret: Permission denied")


class Counter(ScriptedCollector):
    """Counts on by 5 at each reading."""

    def read(self) -> float:
        self.value += 5
        return self.value


def sources(scheduled: Sequence[ScriptedCollector] = (), slow: Sequence[ScriptedBackground] = ()) -> Sources:
    in_background = [InBackground(collector) for collector in slow]
    return Sources([Scheduled(collector) for collector in scheduled], in_background, interval_ms=100)


def wait_for(event: threading.Event) -> None:
    event.wait()


def no_sleep(_seconds: float) -> None:
    """The test's clocks need no time."""


def seen(time_ns: int, value: float, missing: str = "") -> Collected:
    reasons = {INTERRUPTS: missing} if missing else {}
    return Collected([Observation("gpu:0", time_ns, (INTERRUPTS,), (value,), reasons)])


def test_what_is_absent_is_listed_with_its_reason_and_what_it_would_bring() -> None:
    listed = sources(
        [
            ScriptedCollector("cpu", [f"{UTILIZATION}{{cpu.mode=user}}", UTILIZATION]),
            Absent("x", []),
        ],
        [background("gpu", support=Support(False, "no driver")), background("broken", support=RuntimeError("bug"))],
    ).listed()
    assert listed == [
        Source("cpu", "/proc/cpu", 100, (UTILIZATION,), Support(True)),
        Source("x", "/proc/x", 100, (LOAD, INTERRUPTS), Support(False, "/proc/secret: Permission denied")),
        Source("gpu", "the gpu library", 5000, (INTERRUPTS,), Support(False, "no driver")),
        Source("broken", "the broken library", 5000, (INTERRUPTS,), Support(False, "RuntimeError: bug")),
    ]


def test_a_gauge_is_shown_and_a_counter_with_its_growth() -> None:
    gpu = background("gpu", seen(10_000_000_000, 100.0), seen(14_000_000_000, 120.0))
    values, failures = look(sources([ScriptedCollector("load", [LOAD])], [gpu]), no_sleep)
    assert failures == {}
    assert values == [
        Value("load", "host", LOAD, 1.0, None, ""),
        Value("gpu", "gpu:0", INTERRUPTS, 120.0, 5.0, ""),
    ]


def test_a_counter_of_a_file_grows_between_its_two_readings() -> None:
    values, _ = look(sources([Counter("interrupts", [INTERRUPTS])]), no_sleep)
    (value,) = values
    assert value.value == 11.0
    assert value.per_second is not None
    assert value.per_second > 0


def test_a_counter_that_was_reset_has_no_growth_and_a_missing_value_its_reason() -> None:
    reset = background("reset", seen(1, 100.0), seen(2, 3.0))
    blind = background("blind", seen(1, 1.0), seen(2, math.nan, "not permitted"))
    values, _ = look(sources([], [reset, blind]), no_sleep)
    assert [(value.collector, value.per_second, value.missing) for value in values] == [
        ("reset", None, ""),
        ("blind", None, "not permitted"),
    ]


def test_what_fails_or_hangs_is_named_and_hides_nothing() -> None:
    failing, hanging = ScriptedCollector("file", [LOAD]), background("hanging")
    late = background("late", CollectError("not yet"), seen(2, 7.0))
    failing.failure = CollectError("the file is gone")
    driver_answers = threading.Event()
    hanging.before = lambda _: wait_for(driver_answers)
    hanging.interval_ms = 1000
    asked = sources([failing], [hanging, late])
    values, failures = look(asked, no_sleep)
    assert failures == {"file": "the file is gone", "hanging": "there was no answer within 1.1 s"}
    assert [(value.collector, value.value) for value in values] == [("late", 7.0)]
    asked.close()
    assert failing.closed
    assert hanging.closed
    driver_answers.set()


@pytest.mark.parametrize("again", range(2))
def test_this_machine_can_be_asked_as_often_as_one_likes(again: int) -> None:
    asked = configured_sources(AgentSettings())
    listed = {source.collector: source for source in asked.listed()}
    asked.close()
    assert listed["cpu"].support == Support(True)
    assert "system.cpu.utilization" in listed["cpu"].metric_names
    assert all(source.metric_names for source in listed.values())
    assert all(source.support.supported or source.support.reason for source in listed.values())
