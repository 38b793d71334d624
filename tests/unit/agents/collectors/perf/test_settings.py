"""Settings that can't work are refused where they are read."""

import msgspec
import pytest

from pulsetrain.agents.collectors.perf.settings import PerfSettings


@pytest.mark.parametrize("interval_ms", [0, -1, 600_001])
def test_an_interval_must_be_possible(interval_ms: int) -> None:
    with pytest.raises(ValueError, match=r"perf\.interval_ms"):
        PerfSettings(interval_ms=interval_ms)


def test_a_misspelt_key_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"intervall_ms": 5}, PerfSettings)
