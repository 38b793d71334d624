"""Disk counters from /proc/diskstats, whose number of columns has grown twice."""

import math
from pathlib import Path

import pytest

from pulsetrain.agents.collectors.base import Notice, Roots
from pulsetrain.agents.collectors.devices import physical_disks
from pulsetrain.agents.collectors.disk import DiskReader, disk_collector

RECORDED = Path(__file__).parents[3] / "data/proc/epyc_vm"

FOURTEEN = " 8 0 sda 10 1 200 30 40 2 500 60 7 80 90"
EIGHTEEN = FOURTEEN + " 11 3 120 13"
TWENTY = EIGHTEEN + " 14 15"
TWENTY_TWO = TWENTY + " 16 17"


def values(disks: list[str], *lines: str) -> dict[str, float]:
    reader = DiskReader(disks)
    content = "\n".join([*lines, ""]).encode()
    return dict(zip(reader.layout(content), reader.values([content])[0], strict=True))


def test_the_recorded_disk_gives_bytes_and_seconds() -> None:
    collector = disk_collector(Roots(RECORDED / "proc", RECORDED / "sys"))
    assert collector.is_supported().supported
    found = dict(zip(collector.metrics(), collector.decode([collector.read()])[0], strict=True))
    # 254 0 vda 117377 12969 7698810 72480 29099 46187 4925976 17294 0 15512 93641 ...; a sector has 512 bytes.
    assert found["system.disk.io{disk.io.direction=read}"] == 3_941_790_720
    assert found["system.disk.io{disk.io.direction=write}"] == 2_522_099_712
    assert found["system.disk.operations{disk.io.direction=read,system.device=vda}"] == 117_377
    assert found["system.disk.operation_time{disk.io.direction=write}"] == pytest.approx(17.294)
    assert found["system.disk.io_time"] == pytest.approx(15.512)
    assert found["system.disk.operation_time{disk.io.direction=flush}"] == pytest.approx(2.968)
    assert "system.disk.io{disk.io.direction=read,system.device=loop0}" not in found


@pytest.mark.parametrize(("line", "columns"), [(FOURTEEN, 11), (EIGHTEEN, 15), (TWENTY, 17), (TWENTY_TWO, 17)])
def test_every_number_of_columns_is_understood_and_further_ones_are_ignored(line: str, columns: int) -> None:
    found = values(["sda"], line)
    assert len(found) == 2 * columns + 1
    assert found["system.disk.io{disk.io.direction=read}"] == 200 * 512
    assert found["system.disk.weighted_io_time"] == pytest.approx(0.09)
    assert found.get("system.disk.io{disk.io.direction=discard}", 61440.0) == 61440.0
    assert found.get("system.disk.operations{disk.io.direction=flush}", 14.0) == 14.0


def test_a_short_line_is_skipped_and_counted() -> None:
    found = values(["sda", "sdb"], "   8       0 sdb 1 2 3", TWENTY)
    assert found["system.disk.operations{disk.io.direction=read}"] == 10
    assert found["pulsetrain.agent.lines.skipped{agent.collector=disk}"] == 1


def test_a_line_with_a_word_for_a_number_is_skipped_and_counted() -> None:
    found = values(["sda", "sdb"], TWENTY.replace("sda 10", "sdb ten"), TWENTY)
    assert found["system.disk.operations{disk.io.direction=read}"] == 10
    assert found["pulsetrain.agent.lines.skipped{agent.collector=disk}"] == 1


def test_partitions_and_virtual_disks_are_not_counted_twice(tmp_path: Path) -> None:
    for disk in ("sda", "nvme0n1"):
        (tmp_path / "sys/block" / disk / "device").mkdir(parents=True)
    for virtual in ("loop0", "dm-0", "md0", "zram0"):
        (tmp_path / "sys/block" / virtual).mkdir(parents=True)
    disks = physical_disks(Roots(tmp_path / "proc", tmp_path / "sys"))
    assert disks == ["nvme0n1", "sda"]
    names = ("sda", "sda1", "nvme0n1", "nvme0n1p1", "loop0", "dm-0", "md0", "zram0")
    found = values(disks, *(TWENTY.replace("sda", name) for name in names))
    assert found["system.disk.operations{disk.io.direction=read}"] == 20
    assert {metric.partition("system.device=")[2] for metric in found} == {"", "sda}", "nvme0n1}"}


def test_where_no_disk_is_linked_to_a_device_the_names_decide(tmp_path: Path) -> None:
    for name in ("xvda", "loop0", "dm-1"):
        (tmp_path / "block" / name).mkdir(parents=True)
    assert physical_disks(Roots(tmp_path, tmp_path)) == ["xvda"]


def test_a_disk_that_was_pulled_is_missing_and_so_are_the_sums_until_it_returns() -> None:
    reader = DiskReader(["sda", "sdb"])
    both = f"{TWENTY}\n{TWENTY.replace('sda', 'sdb')}\n".encode()
    metrics = reader.layout(both)
    found = dict(zip(metrics, reader.values([f"{TWENTY}\n".encode()])[0], strict=True))
    assert math.isnan(found["system.disk.operations{disk.io.direction=read}"])
    assert math.isnan(found["system.disk.operations{disk.io.direction=read,system.device=sdb}"])
    assert found["system.disk.operations{disk.io.direction=read,system.device=sda}"] == 10
    assert reader.values([both])[0][0] == 20


def test_a_disk_that_comes_later_does_not_make_the_sums_jump() -> None:
    reader = DiskReader(["sda", "sdb"])
    reader.layout(f"{TWENTY}\n".encode())
    assert reader.values([f"{TWENTY}\n{TWENTY.replace('sda', 'sdb')}\n".encode()])[0][0] == 10


def test_a_machine_without_disks_does_not_support_the_collector(tmp_path: Path) -> None:
    (tmp_path / "diskstats").write_text(TWENTY + "\n")
    support = disk_collector(Roots(tmp_path, tmp_path)).is_supported()
    assert not support.supported
    assert "diskstats" in support.reason


def test_of_very_many_disks_all_are_summed_and_that_some_have_no_metrics_of_their_own_is_told() -> None:
    disks = [f"sd{letter}{other}" for letter in "abcd" for other in "abcdefghij"]
    told: list[Notice] = []
    reader = DiskReader(disks, told.append)
    content = "".join(f"{TWENTY.replace('sda', disk)}\n" for disk in disks).encode()
    found = dict(zip(reader.layout(content), reader.values([content])[0], strict=True))
    assert found["system.disk.operations{disk.io.direction=read}"] == 40 * 10
    assert sum(metric.startswith("system.disk.io_time{") for metric in found) == 32
    assert [notice.message for notice in told] == [
        "This node has 40 disks: only the first 32 have metrics of their own."
    ]
