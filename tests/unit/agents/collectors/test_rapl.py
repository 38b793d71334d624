"""Energy from RAPL.

The files are written in the form of Documentation/power/powercap/powercap.rst: a machine with two packages, of which
the second has the index 15, and their memory.
"""

import math
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.collectors.base import Notice, Roots
from pulsetrain.agents.collectors.energy import EnergySum
from pulsetrain.agents.collectors.rapl import RaplCollector, find_zones
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas import catalogue

RANGE = 262_143_328_850
PACKAGE_0 = "hw.energy{hw.id=0,hw.name=package,hw.type=cpu}"
PACKAGE_15 = "hw.energy{hw.id=15,hw.name=package,hw.type=cpu}"
DRAM_15 = "hw.energy{hw.id=15,hw.name=dram,hw.type=memory}"
ALL_PACKAGES = "hw.energy{hw.type=cpu}"


def zone(tmp_path: Path, folder: str, name: str, energy: int, **others: int) -> Path:
    path = tmp_path / "class/powercap" / folder
    path.mkdir(parents=True)
    (path / "name").write_text(f"{name}\n")
    (path / "energy_uj").write_text(f"{energy}\n")
    (path / "max_energy_range_uj").write_text(f"{RANGE}\n")
    for file, number in others.items():
        (path / file).write_text(f"{number}\n")
    return path


def machine(tmp_path: Path) -> list[Path]:
    (tmp_path / "class/powercap/intel-rapl").mkdir(parents=True)
    limits = {"constraint_0_max_power_uw": 280_000_000, "constraint_1_max_power_uw": 0}
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 1_000_000)
    return [
        zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000, **limits),
        zone(tmp_path, "intel-rapl:1", "package-15", 262_143_000_000, **limits),
        zone(tmp_path, "intel-rapl:1:0", "dram", 7_500_000),
    ]


def values(collector: RaplCollector) -> dict[str, float]:
    return dict(zip(collector.metrics(), collector.decode([collector.read()])[0], strict=True))


def test_each_zone_is_a_counter_in_joules_named_by_its_kind_and_its_packages_index(tmp_path: Path) -> None:
    machine(tmp_path)
    collector = RaplCollector(Roots(tmp_path, tmp_path))
    assert collector.is_supported().supported
    found = values(collector)
    assert found == {PACKAGE_0: 5.0, PACKAGE_15: 262_143.0, DRAM_15: 7.5, ALL_PACKAGES: 262_148.0}
    for metric in found:
        entry = catalogue.find(metric)
        assert entry is not None
        assert (entry.kind, entry.unit) == (catalogue.MetricKind.COUNTER, "J")
        assert "-" not in catalogue.metric_name(metric)
    collector.close()


def test_a_counter_that_ran_over_grows_by_what_was_left_and_what_it_shows(tmp_path: Path) -> None:
    _, package, _ = machine(tmp_path)
    clock = iter([10.0, 11.0])
    collector = RaplCollector(Roots(tmp_path, tmp_path), lambda: next(clock))
    collector.is_supported()
    before = values(collector)
    (package / "energy_uj").write_text("150000\n")
    after = values(collector)
    # (262143328850 - 262143000000) + 150000 = 478850 microjoules in one second: 0.479 W.
    assert after[PACKAGE_15] - before[PACKAGE_15] == pytest.approx(0.478850, abs=1e-9)
    assert after[ALL_PACKAGES] - before[ALL_PACKAGES] == pytest.approx(0.478850, abs=1e-9)


def test_a_pause_in_which_the_counter_may_have_run_round_is_unknown_and_then_it_goes_on() -> None:
    # At 280 W the counter is full after 936.2 s.
    energy = EnergySum(RANGE, 280.0, lambda: "boot")
    energy.add(0.0, 1_000_000)
    assert energy.add(936.0, 3_000_000) == 3.0
    assert math.isnan(energy.add(1873.0, 4_000_000))
    assert energy.add(1874.0, 4_500_000) == 3.5


def test_a_counter_that_fell_after_a_boot_was_reset() -> None:
    boots = iter(["a", "b", "b"])
    energy = EnergySum(RANGE, 280.0, lambda: next(boots))
    energy.add(0.0, 262_143_000_000)
    assert math.isnan(energy.add(1.0, 150_000))
    assert energy.add(2.0, 1_150_000) == pytest.approx(262_144.0)


def test_a_counter_that_fell_by_more_than_can_have_been_used_was_reset() -> None:
    energy = EnergySum(RANGE, 280.0, lambda: "boot")
    energy.add(0.0, 100_000_000_000)
    assert math.isnan(energy.add(1.0, 5_000_000))
    assert energy.add(2.0, 6_000_000) == pytest.approx(100_001.0)


@given(st.integers(0, RANGE - 1), st.lists(st.integers(0, 280_000_000), max_size=50))
def test_the_sum_grows_by_what_was_used_wherever_the_counter_stands(start: int, used: list[int]) -> None:
    energy = EnergySum(RANGE, 280.0, lambda: "boot")
    total = counter = start
    assert energy.add(0.0, counter) == pytest.approx(start / 1e6)
    for second, microjoules in enumerate(used, 1):
        total += microjoules
        counter = (counter + microjoules) % RANGE
        assert energy.add(float(second), counter) == pytest.approx(total / 1e6)


def test_counters_that_may_not_be_read_are_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(tmp_path)
    open_file = os.open

    def refuse(path: Path, *arguments: int) -> int:
        if Path(path).name == "energy_uj":
            raise PermissionError(13, "Permission denied")
        return int(open_file(path, *arguments))

    monkeypatch.setattr("os.open", refuse)
    collector = RaplCollector(Roots(tmp_path, tmp_path))
    support = collector.is_supported()
    assert not support.supported
    assert support.reason.startswith("permission denied:")
    assert "root" in support.reason
    assert collector.metrics() == ()


def test_a_machine_without_rapl_says_so(tmp_path: Path) -> None:
    support = RaplCollector(Roots(tmp_path, tmp_path)).is_supported()
    assert not support.supported
    assert "no RAPL" in support.reason


def test_a_zone_that_says_nothing_is_missing_and_the_others_stay(tmp_path: Path) -> None:
    first, second, third = machine(tmp_path)
    collector = RaplCollector(Roots(tmp_path, tmp_path))
    collector.is_supported()
    (first / "energy_uj").write_text("garbage\n")
    found = values(collector)
    assert math.isnan(found[PACKAGE_0])
    assert math.isnan(found[ALL_PACKAGES])
    assert found[DRAM_15] == 7.5
    collector.close()
    for folder in (first, second, third):
        (folder / "energy_uj").unlink()
    assert not collector.is_supported().supported


def test_a_zone_of_several_dies_and_one_without_a_range_and_two_of_one_name(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0-die-1", 1)
    zone(tmp_path, "intel-rapl:2", "psys", 1)
    zone(tmp_path, "intel-rapl:10", "psys", 2)
    (zone(tmp_path, "intel-rapl:3", "package-3", 1) / "max_energy_range_uj").unlink()
    assert [(found.name, found.index) for found in find_zones(tmp_path / "class/powercap")] == [
        ("package", "0-die-1"),
        ("psys", "intel-rapl:2"),
        ("package", "3"),
        ("psys", "intel-rapl:10"),
    ]
    collector = RaplCollector(Roots(tmp_path, tmp_path))
    collector.is_supported()
    assert collector.metrics() == (
        "hw.energy{hw.id=0-die-1,hw.name=package,hw.type=cpu}",
        "hw.energy{hw.id=intel-rapl:2,hw.name=psys,hw.type=enclosure}",
        "hw.energy{hw.id=intel-rapl:10,hw.name=psys,hw.type=enclosure}",
        ALL_PACKAGES,
    )


def test_of_very_many_zones_all_packages_are_read_and_that_parts_are_not_is_told(tmp_path: Path) -> None:
    for number in range(32):
        zone(tmp_path, f"intel-rapl:{number}", f"package-{number}", 1_000_000)
        zone(tmp_path, f"intel-rapl:{number}:0", "core", 400_000)
        zone(tmp_path, f"intel-rapl:{number}:1", "dram", 500_000)
    told: list[Notice] = []
    collector = RaplCollector(Roots(tmp_path, tmp_path), tell=told.append)
    assert collector.is_supported().supported
    assert values(collector)[ALL_PACKAGES] == 32.0
    assert len(collector.metrics()) == 64 + 1
    assert [notice.message for notice in told] == ["This node has 96 RAPL zones: only the first 64 are read."]
    collector.close()


def test_zones_that_all_fail_make_the_reading_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(tmp_path)
    collector = RaplCollector(Roots(tmp_path, tmp_path))
    collector.is_supported()
    monkeypatch.setattr("os.pread", lambda *_: (_ for _ in ()).throw(OSError(61, "No data available")))
    with pytest.raises(CollectError, match="No data available"):
        collector.read()
