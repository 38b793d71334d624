"""What the demo may take of a machine."""

from pathlib import Path

import pytest

from pulsetrain.cli.demo.machine import ContainerMemory, container_memory, leak_mebibytes
from pulsetrain.cli.errors import CliError

MEMINFO = "MemTotal:       24683808 kB\nMemFree:        22000000 kB\nMemAvailable:   {available} kB\n"
MEBIBYTE = 1024 * 1024


@pytest.mark.parametrize(
    ("available_kibibytes", "container", "mebibytes"),
    [
        (22_000_000, None, 1536),
        (3_000_000, None, 976),
        (22_000_000, ContainerMemory(1024 * MEBIBYTE, 256 * MEBIBYTE, 0), 256),
        (22_000_000, ContainerMemory(2048 * MEBIBYTE, 2047 * MEBIBYTE, 1500 * MEBIBYTE), 500),
        (600_000, ContainerMemory(1024 * MEBIBYTE, 256 * MEBIBYTE, 0), 195),
    ],
)
def test_the_leak_takes_a_third_of_what_is_available_and_a_bounded_amount(
    available_kibibytes: int, container: ContainerMemory | None, mebibytes: int
) -> None:
    """For instance 3,000,000 KiB / 1024 / 3 = 976.6, and (2048 - 2047 + 1500) / 3 = 500.3 MiB beside a page cache."""
    assert leak_mebibytes(MEMINFO.format(available=available_kibibytes), container) == mebibytes


def test_a_machine_without_room_for_a_leak_is_told_so_before_the_demo_begins() -> None:
    with pytest.raises(CliError, match="needs 300 MiB of memory for its leak, and 50 MiB are available"):
        leak_mebibytes(MEMINFO.format(available=22_000_000), ContainerMemory(100 * MEBIBYTE, 50 * MEBIBYTE, 0))


def test_the_limits_of_both_versions_of_cgroups_are_read(tmp_path: Path) -> None:
    assert container_memory(tmp_path) is None
    version_1 = tmp_path / "memory"
    version_1.mkdir()
    (version_1 / "memory.limit_in_bytes").write_text("3000\n")
    (version_1 / "memory.usage_in_bytes").write_text("2000\n")
    (version_1 / "memory.stat").write_text("cache 900\ninactive_file 1\ntotal_inactive_file 500\n")
    assert container_memory(tmp_path) == ContainerMemory(3000, 2000, 500)
    (tmp_path / "memory.max").write_text("4000\n")
    (tmp_path / "memory.current").write_text("1000\n")
    (tmp_path / "memory.stat").write_text("anon 100\ninactive_file 300\n")
    assert container_memory(tmp_path) == ContainerMemory(4000, 1000, 300)
    (tmp_path / "memory.max").write_text("max\n")
    assert container_memory(tmp_path) is None
