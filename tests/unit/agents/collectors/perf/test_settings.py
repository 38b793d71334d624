"""Settings that can't work are refused where they are read."""

import msgspec
import pytest

from pulsetrain.agents.collectors.perf.settings import PerfSettings


def test_by_default_perf_counts_at_its_least_interval() -> None:
    assert PerfSettings() == PerfSettings(enabled="auto", interval_ms=1000, events=())


@pytest.mark.parametrize("event", ["-a", "a,b", "a b", "", "x;y", "cpu/event=1", "a/b/c/", "$(x)", "e" * 200])
def test_an_event_must_be_a_single_event(event: str) -> None:
    with pytest.raises(ValueError, match=r"perf\.events"):
        PerfSettings(events=(event,))


@pytest.mark.parametrize(
    "event", ["context-switches", "cycles:u", "cpu/event=0xc0,umask=0x1,name=x/", "sched:sched_switch"]
)
def test_events_in_perfs_own_words_are_taken(event: str) -> None:
    assert PerfSettings(events=(event,)).events == (event,)


@pytest.mark.parametrize("interval_ms", [0, -1, 600_001])
def test_an_interval_must_be_possible(interval_ms: int) -> None:
    with pytest.raises(ValueError, match=r"perf\.interval_ms"):
        PerfSettings(interval_ms=interval_ms)


def test_too_many_events_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 16"):
        PerfSettings(events=("cycles",) * 17)


def test_a_misspelt_key_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"intervall_ms": 5}, PerfSettings)
