"""Sensor chips; files in the form of Documentation/hwmon/sysfs-interface.rst."""

import math
import shutil
from pathlib import Path

import pytest

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.hwmon import HwmonCollector
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas import catalogue

SECOND = 1_000_000_000


def chip(tmp_path: Path, number: int, device: str, name: str, **files: str) -> Path:
    folder = tmp_path / f"class/hwmon/hwmon{number}"
    folder.mkdir(parents=True)
    (tmp_path / "devices" / device).mkdir(parents=True)
    (folder / "device").symlink_to(tmp_path / "devices" / device)
    (folder / "name").write_text(f"{name}\n")
    for file, text in files.items():
        (folder / file).write_text(f"{text}\n")
    return folder


def machine(tmp_path: Path) -> tuple[HwmonCollector, Path]:
    chip(
        tmp_path,
        1,
        "coretemp.0",
        "coretemp",
        temp1_input="61000",
        temp1_label="Package id 0",
        temp1_max="84000",
        temp2_input="59000",
        temp2_label="Core 0",
    )
    chip(tmp_path, 0, "coretemp.1", "coretemp", temp1_input="67500", temp1_label="Package id 1")
    board = chip(
        tmp_path,
        2,
        "0-0050",
        "board",
        temp1_input="-5000",
        temp1_fault="0",
        temp10_input="70000",
        fan2_input="8400",
        fan2_label="rear",
        power1_average="412000000",
        power1_input="399000000",
        in0_input="1200",
    )
    return HwmonCollector(Roots(tmp_path, tmp_path)), board


def values(collector: HwmonCollector, time_ns: int = 0) -> dict[str, float]:
    (observation,) = collector.collect(time_ns).observations
    return dict(zip(observation.metrics, observation.values, strict=True))


def test_sensors_are_in_degrees_revolutions_and_watts_and_named_by_their_device(tmp_path: Path) -> None:
    collector, _ = machine(tmp_path)
    assert collector.is_supported().supported
    found = values(collector)
    assert found == {
        "hw.temperature{hw.id=0-0050,hw.name=board,hw.sensor_location=temp1}": -5.0,
        "hw.temperature{hw.id=0-0050,hw.name=board,hw.sensor_location=temp10}": 70.0,
        "hw.fan.speed{hw.id=0-0050,hw.name=board,hw.sensor_location=rear}": 8400,
        "hw.power{hw.id=0-0050,hw.name=board,hw.sensor_location=power1}": pytest.approx(412.0),
        "hw.temperature{hw.id=coretemp.0,hw.name=coretemp,hw.sensor_location=Package%20id%200}": 61.0,
        "hw.temperature{hw.id=coretemp.1,hw.name=coretemp,hw.sensor_location=Package%20id%201}": 67.5,
        "hw.temperature{hw.type=cpu}": 67.5,
    }
    for metric in found:
        assert catalogue.find(metric) is not None


def test_a_sensor_that_is_broken_or_switched_off_is_missing_and_says_why(tmp_path: Path) -> None:
    collector, board = machine(tmp_path)
    values(collector)
    (board / "temp1_fault").write_text("1\n")
    (board / "fan2_input").unlink()
    (observation,) = collector.collect(SECOND).observations
    found = dict(zip(observation.metrics, observation.values, strict=True))
    broken = "hw.temperature{hw.id=0-0050,hw.name=board,hw.sensor_location=temp1}"
    fan = "hw.fan.speed{hw.id=0-0050,hw.name=board,hw.sensor_location=rear}"
    assert math.isnan(found[broken])
    assert math.isnan(found[fan])
    assert "broken" in observation.missing[broken]
    assert "No such file" in observation.missing[fan]


def test_the_hottest_cpu_is_missing_only_where_no_cpu_tells(tmp_path: Path) -> None:
    collector, _ = machine(tmp_path)
    values(collector)
    (tmp_path / "class/hwmon/hwmon0/temp1_input").write_text("\n")
    assert values(collector, SECOND)["hw.temperature{hw.type=cpu}"] == 61.0
    (tmp_path / "class/hwmon/hwmon1/temp1_input").write_text("\n")
    assert math.isnan(values(collector, 2 * SECOND)["hw.temperature{hw.type=cpu}"])


def test_many_other_sensors_do_not_displace_those_of_the_cpus(tmp_path: Path) -> None:
    for number in range(40):
        chip(tmp_path, number, f"0000:{number:02x}:00.0", "nvme", temp1_input="40000", temp2_input="41000")
    chip(tmp_path, 99, "coretemp.0", "coretemp", temp1_input="61000", temp1_label="Package id 0")
    collector = HwmonCollector(Roots(tmp_path, tmp_path))
    found = values(collector)
    assert found["hw.temperature{hw.type=cpu}"] == 61.0
    assert len(found) == 64 + 1


def test_that_there_are_more_sensors_than_are_read_is_told_once(tmp_path: Path) -> None:
    for number in range(40):
        chip(tmp_path, number, f"0000:{number:02x}:00.0", "nvme", temp1_input="40000", temp2_input="41000")
    collector = HwmonCollector(Roots(tmp_path, tmp_path))
    told = [collector.collect(minute * 60 * SECOND).notices for minute in range(3)]
    assert [notice.message for notice in told[0]] == [
        "This node has 80 sensors of temperature, fans and power: only the first 64 are read."
    ]
    assert told[1:] == [[], []]


def test_sensors_of_the_same_name_are_told_apart_and_none_is_lost(tmp_path: Path) -> None:
    board = chip(tmp_path, 0, "nct6775.656", "nct6798", temp1_input="31000", temp1_label="SYSTIN")
    for channel, degrees in ((2, 32000), (7, 37000)):
        (board / f"temp{channel}_input").write_text(f"{degrees}\n")
        (board / f"temp{channel}_label").write_text("PECI Agent 0\n")
    # Two chips of one device, neither with labels.
    for number, watts in ((1, 100), (2, 200)):
        chip(tmp_path, number, f"card{number}", "accelerator", power1_input=str(watts * 1_000_000))
    (tmp_path / "class/hwmon/hwmon2/device").unlink()
    (tmp_path / "class/hwmon/hwmon2/device").symlink_to(tmp_path / "devices/card1")
    assert values(HwmonCollector(Roots(tmp_path, tmp_path))) == {
        "hw.temperature{hw.id=nct6775.656,hw.name=nct6798,hw.sensor_location=SYSTIN}": 31.0,
        "hw.temperature{hw.id=nct6775.656,hw.name=nct6798,hw.sensor_location=PECI%20Agent%200%20temp2}": 32.0,
        "hw.temperature{hw.id=nct6775.656,hw.name=nct6798,hw.sensor_location=PECI%20Agent%200%20temp7}": 37.0,
        "hw.power{hw.id=card1:hwmon1,hw.name=accelerator,hw.sensor_location=power1}": pytest.approx(100.0),
        "hw.power{hw.id=card1:hwmon2,hw.name=accelerator,hw.sensor_location=power1}": pytest.approx(200.0),
    }


def test_a_chip_without_a_device_goes_by_its_number(tmp_path: Path) -> None:
    (chip(tmp_path, 7, "gone", "acpitz", temp1_input="30000") / "device").unlink()
    collector = HwmonCollector(Roots(tmp_path, tmp_path))
    assert values(collector) == {"hw.temperature{hw.id=hwmon7,hw.name=acpitz,hw.sensor_location=temp1}": 30.0}


def test_the_files_of_an_older_driver_are_in_the_folder_of_its_device(tmp_path: Path) -> None:
    folder = chip(tmp_path, 3, "applesmc.768", "unused")
    (folder / "name").rename(folder / "device/name")
    (folder / "device/name").write_text("applesmc\n")
    (folder / "device/fan2_input").write_text("1998\n")
    collector = HwmonCollector(Roots(tmp_path, tmp_path))
    assert values(collector) == {"hw.fan.speed{hw.id=applesmc.768,hw.name=applesmc,hw.sensor_location=fan2}": 1998}


def test_without_sensors_the_collector_is_not_supported_and_when_all_go_it_fails(tmp_path: Path) -> None:
    assert "no sensor" in HwmonCollector(Roots(tmp_path, tmp_path)).is_supported().reason
    collector, _ = machine(tmp_path)
    values(collector)
    shutil.rmtree(tmp_path / "class")
    with pytest.raises(CollectError, match="No such file"):
        collector.collect(SECOND)
    with pytest.raises(CollectError, match="no sensor left"):
        collector.collect(120 * SECOND)
    collector.close()
