"""A flood of one log message becomes one line a while that says how many were left out."""

import logging

from pulsetrain.streams.log_limits import RepeatFilter


def _record(level: int, template: str, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord("aiokafka", level, "file.py", 1, template, arguments, None)


def test_the_same_warning_passes_once_and_its_repeats_are_counted() -> None:
    now = [100.0]
    limit = RepeatFilter(repeat_seconds=30.0, clock=lambda: now[0])
    passed = []
    for second in range(61):
        now[0] = 100.0 + second
        record = _record(logging.WARNING, "connect to %s failed", f"broker {second}")
        if limit.filter(record):
            passed.append(record.getMessage())
    assert passed == [
        "connect to broker 0 failed",
        "connect to broker 30 failed (29 more like it in the last 30 s)",
        "connect to broker 60 failed (29 more like it in the last 30 s)",
    ]


def test_different_messages_and_information_are_not_held_back() -> None:
    limit = RepeatFilter(clock=lambda: 0.0)
    assert limit.filter(_record(logging.ERROR, "one"))
    assert limit.filter(_record(logging.ERROR, "two"))
    assert all(limit.filter(_record(logging.INFO, "window")) for _ in range(3))
