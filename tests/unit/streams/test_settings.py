"""Settings that can't work are refused in one sentence."""

from typing import Any

import pytest

from pulsetrain.streams.settings import LearnSettings, WindowSettings, WorkerSettings


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"length_seconds": 0}, "windows.length_seconds must be greater than 0 and finite"),
        ({"length_seconds": float("nan")}, "windows.length_seconds must be greater than 0 and finite"),
        ({"hop_seconds": 31}, "windows.hop_seconds must not be greater than windows.length_seconds"),
        ({"grid_tolerance_ms": 2500}, "windows.grid_tolerance_ms must be less than half of windows.hop_seconds"),
        (
            {"hold_limit_seconds": 32},
            "windows.hold_limit_seconds must be greater than length_seconds + allowed_lateness_seconds",
        ),
    ],
)
def test_windows_that_can_not_work_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence.replace("+", r"\+")):
        WindowSettings(**settings)


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_times_that_can_not_pass_are_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match=r"learn\.warm_up_seconds must be greater than 0 and finite"):
        LearnSettings(warm_up_seconds=seconds)
    with pytest.raises(ValueError, match=r"worker\.heartbeat_seconds must be greater than 0 and finite"):
        WorkerSettings(heartbeat_seconds=seconds)
