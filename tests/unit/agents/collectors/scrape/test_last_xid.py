"""The code of the last Xid: an event when it changes, never a quantity, never a recovery."""

import pytest

from pulsetrain.agents.background import BackgroundThread
from pulsetrain.agents.collectors.base import Collected
from pulsetrain.agents.collectors.scheduled import InBackground
from pulsetrain.agents.collectors.scrape.merging import Merger
from pulsetrain.schemas.status import Severity, StatusEvent
from tests.unit.agents.background_fakes import START, Clock
from tests.unit.agents.collectors.scrape.texts import NOW_NS, SECOND, by_entity, collector

GPU = "gpu:GPU-a"


def text(code: object, uuid: str = "GPU-a") -> str:
    labels = f'gpu="0",UUID="{uuid}"'
    return f"DCGM_FI_DEV_XID_ERRORS{{{labels}}} {code}\nDCGM_FI_DEV_GPU_TEMP{{{labels}}} 40\n"


def events(*codes: object) -> list[tuple[int, object]]:
    """The scrape at which an event was told, and its code."""
    scraped = collector(*(text(code) for code in codes))
    told: list[tuple[int, object]] = []
    for step in range(len(codes)):
        for notice in scraped.collect(NOW_NS + step * SECOND).notices:
            assert (notice.event, notice.entity) == (StatusEvent.GPU_XID, GPU)
            assert notice.details["collector"] == "scrape_t"
            told.append((step, notice.details["xid"]))
    return told


def test_each_change_is_one_event_and_the_restart_of_the_exporter_none() -> None:
    assert events(0, 0, 31, 31, 31, 79, 79, 0, 0) == [(2, 31), (5, 79)]


def test_a_notice_says_what_the_code_means_who_tells_it_and_how_urgent_it_is() -> None:
    scraped = collector(text(0), text(79))
    scraped.collect(NOW_NS)
    (notice,) = scraped.collect(NOW_NS + SECOND).notices
    assert notice.message == ("gpu:GPU-a: Xid 79 (the GPU has fallen off the bus), says http://127.0.0.1:9400/metrics.")
    assert notice.severity == Severity.ERROR


def test_a_code_that_comes_back_after_a_restart_is_a_new_event() -> None:
    assert events(0, 31, 0, 31) == [(1, 31), (3, 31)]


def test_a_code_that_is_there_at_the_start_is_a_state_and_no_event() -> None:
    scraped = collector(text(31), text(31), text(79), text(0))
    seen = []
    for step in range(4):
        collected = scraped.collect(NOW_NS + step * SECOND)
        labels = by_entity(collected)[GPU].labels
        seen.append((len(collected.notices), labels["hw.gpu.last_xid"], labels["hw.gpu.last_xid.seen"]))
    assert seen == [
        (0, "31", "at start"), (0, "31", "at start"), (1, "79", "since start"), (0, "79", "since start")
    ]  # fmt: skip


def test_a_gpu_without_an_event_has_no_such_label() -> None:
    labels = by_entity(collector(text(0)).collect(NOW_NS))[GPU].labels
    assert not [label for label in labels if "xid" in label]


def test_the_code_is_never_a_value() -> None:
    scraped = collector(text(0), text(79))
    for step in range(2):
        observation = by_entity(scraped.collect(NOW_NS + step * SECOND))[GPU]
        assert observation.metrics == ("hw.temperature{hw.type=gpu}",)
        assert list(observation.values) == [40.0]


def test_what_is_no_code_changes_nothing() -> None:
    assert events(0, 31, "NaN", 31, 2147483634, 31, "N/A", 31, -1, 31, 31.5, 31) == [(1, 31)]


def test_each_gpu_has_its_own_code() -> None:
    scraped = collector(text(0) + text(0, "GPU-b"), text(0) + text(48, "GPU-b"))
    assert not scraped.collect(NOW_NS).notices
    assert [notice.entity for notice in scraped.collect(NOW_NS + SECOND).notices] == ["gpu:GPU-b"]


@pytest.mark.parametrize("late", [1, 2, 3])
def test_an_event_is_told_once_whichever_scrape_comes_too_late_to_be_used(late: int) -> None:
    scraped = collector(text(0), text(79), text(79), text(79))
    clock = Clock(START + 600 * SECOND)
    asked = []

    def collect_slowly(time_ns: int) -> Collected:
        asked.append(time_ns)
        clock.spend(scraped.deadline_seconds + 1.0 if len(asked) == late else 0.0)
        clock.end_ns = START if len(asked) == 4 else clock.end_ns
        return scraped_collect(time_ns)

    scraped_collect = scraped.collect
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scraped, "collect", collect_slowly)
        thread = BackgroundThread(InBackground(scraped), clock.time_ns, clock.monotonic)
        thread.run(clock.wait)
    assert [outcome.collected is None for outcome in thread.outcomes()].index(True) == late - 1
    assert [notice.details["xid"] for notice in thread.notices()] == [79]


def test_an_event_that_a_failing_call_has_seen_is_told_at_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    scraped = collector(text(0), text(79), text(79), text(79))
    scraped.collect(NOW_NS)
    with monkeypatch.context() as patch:
        patch.setattr(Merger, "merge", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            scraped.collect(NOW_NS + SECOND)
    told = [len(scraped.collect(NOW_NS + step * SECOND).notices) for step in (2, 3)]
    assert told == [1, 0]
