"""Throttling by heat; files in the form of Documentation/ABI/testing/sysfs-devices-system-cpu."""

from pathlib import Path

import pytest

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.thermal_throttle import ThermalThrottleCollector
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas import catalogue


def cpu(tmp_path: Path, number: int, package: int, count: str, milliseconds: str) -> Path:
    folder = tmp_path / f"devices/system/cpu/cpu{number}"
    (folder / "topology").mkdir(parents=True)
    (folder / "thermal_throttle").mkdir()
    (folder / "topology/physical_package_id").write_text(f"{package}\n")
    (folder / "thermal_throttle/package_throttle_count").write_text(f"{count}\n")
    (folder / "thermal_throttle/package_throttle_total_time_ms").write_text(f"{milliseconds}\n")
    return folder


def test_each_package_counts_once(tmp_path: Path) -> None:
    for number in range(12):
        cpu(tmp_path, number, number // 6, str(3 + number // 6), "1500")
    collector = ThermalThrottleCollector(Roots(tmp_path, tmp_path))
    assert collector.is_supported().supported
    found = dict(zip(collector.metrics(), collector.decode([collector.read()])[0], strict=True))
    assert found == {"system.linux.cpu.throttles": 3 + 4, "system.linux.cpu.throttled_time": pytest.approx(3.0)}
    for metric in found:
        assert catalogue.find(metric) is not None
    collector.close()


def test_no_package_is_missing_in_the_sum_of_many(tmp_path: Path) -> None:
    for number in range(32):
        cpu(tmp_path, number, number, str(number), "1000")
    collector = ThermalThrottleCollector(Roots(tmp_path, tmp_path))
    assert collector.is_supported().supported
    assert collector.decode([collector.read()])[0] == [31 * 32 / 2, pytest.approx(32.0)]
    collector.close()


def test_an_older_kernel_counts_how_often_but_not_how_long(tmp_path: Path) -> None:
    (cpu(tmp_path, 0, 0, "30", "1") / "thermal_throttle/package_throttle_total_time_ms").unlink()
    (cpu(tmp_path, 1, 1, "6", "1") / "thermal_throttle/package_throttle_total_time_ms").unlink()
    collector = ThermalThrottleCollector(Roots(tmp_path, tmp_path))
    assert collector.is_supported().supported
    assert collector.metrics() == ("system.linux.cpu.throttles",)
    assert collector.decode([collector.read()])[0] == [36]


def test_a_machine_that_does_not_count_does_not_support_the_collector(tmp_path: Path) -> None:
    collector = ThermalThrottleCollector(Roots(tmp_path, tmp_path))
    assert "there is no" in collector.is_supported().reason
    (cpu(tmp_path, 0, 0, "1", "1") / "topology/physical_package_id").unlink()
    assert not collector.is_supported().supported


def test_a_word_for_a_number_is_refused(tmp_path: Path) -> None:
    cpu(tmp_path, 0, 0, "many", "1")
    collector = ThermalThrottleCollector(Roots(tmp_path, tmp_path))
    assert "unexpected" in collector.is_supported().reason
    with pytest.raises(CollectError, match="unexpected"):
        collector.decode([collector.read()])
