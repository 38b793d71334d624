"""Settings that can't work are refused in one sentence."""

from typing import Any

import pytest

from pulsetrain.streams.settings import LearnSettings, WindowSettings


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"length_seconds": 0}, "windows.length_seconds must be greater than 0"),
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


def test_a_warm_up_of_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match=r"learn\.warm_up_seconds must be greater than 0"):
        LearnSettings(warm_up_seconds=0)
