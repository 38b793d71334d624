"""What the demo may take of a machine."""

import pytest

from pulsetrain.cli.demo.machine import leak_mebibytes

MEMINFO = "MemTotal:       24683808 kB\nMemFree:        22000000 kB\nMemAvailable:   {available} kB\n"


@pytest.mark.parametrize(
    ("available_kibibytes", "limit", "usage", "mebibytes"),
    [
        (22_000_000, "max", "0", 1280),
        (3_000_000, "max\n", "0", 976),
        (300_000, "max", "0", 97),
        (22_000_000, "1073741824\n", "268435456\n", 256),
        (600_000, "1073741824", "268435456", 195),
    ],
)
def test_the_leak_takes_a_third_of_what_is_available_and_a_bounded_amount(
    available_kibibytes: int, limit: str, usage: str, mebibytes: int
) -> None:
    """For instance 3,000,000 KiB / 1024 / 3 = 976.6, and (1024 - 256) / 3 = 256 in a container of 1 GiB."""
    assert leak_mebibytes(MEMINFO.format(available=available_kibibytes), limit, usage) == mebibytes
