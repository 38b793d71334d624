"""Temperatures, fans and power of the machine's sensor chips (Documentation/hwmon/sysfs-interface.rst of Linux).

Reading a sensor may take a driver milliseconds on a slow bus, and what is read changes slowly.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pulsetrain.agents.collectors.base import HOST, Collected, Observation, Roots, Support
from pulsetrain.agents.collectors.bounded import Bounded
from pulsetrain.agents.collectors.kernel_file import read_once
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas.catalogue import metric_id

_MAX_SENSORS = 64
_RESCAN_NS = 60_000_000_000
_INPUT = re.compile(r"(temp|fan|power)(\d+)_(input|average)")
_METRICS = {"temp": ("hw.temperature", 1e-3), "fan": ("hw.fan.speed", 1.0), "power": ("hw.power", 1e-6)}
"""Millidegrees Celsius, revolutions a minute and microwatts."""

_HOTTEST_CPU = metric_id("hw.temperature", **{"hw.type": "cpu"})
_CPU_CHIPS = ("coretemp", "k10temp", "zenpower")
_EXACTNESSES = 3
_CORE = re.compile(r"Core \d+")
"""Each core of an Intel CPU has a sensor, which interrupts that core when it is read; the package's is the hottest."""


@dataclass(frozen=True, slots=True)
class Sensor:
    """One sensor: where it is read, and what it is called."""

    input: Path
    fault: Path
    metric: str
    scale: float
    is_of_cpu: bool


class HwmonCollector:
    """Every sensor of temperature, fan or power, and the hottest CPU."""

    name = "hwmon"
    interval_ms = 5000
    deadline_seconds = 4.0
    metric_names = tuple(name for name, _ in _METRICS.values())

    def __init__(self, roots: Roots) -> None:
        self._folder = roots.sys / "class/hwmon"
        self.source = str(self._folder / "hwmon*")
        self._sensors: list[Sensor] = []
        self._most = Bounded(self.name, "sensors of temperature, fans and power", _MAX_SENSORS)
        self._scanned_ns: int | None = None

    def is_supported(self) -> Support:
        """Whether there is a sensor."""
        if not find_sensors(self._folder):
            return Support(False, f"there is no sensor of temperature, fan or power in {self.source}")
        return Support(True)

    def collect(self, time_ns: int) -> Collected:
        """What the sensors say."""
        if self._scanned_ns is None or not 0 <= time_ns - self._scanned_ns < _RESCAN_NS:
            self._sensors, self._scanned_ns = list(self._most.first(find_sensors(self._folder))), time_ns
        values: dict[str, float] = {}
        missing: dict[str, str] = {}
        for sensor in self._sensors:
            try:
                values[sensor.metric] = _read(sensor)
            except (CollectError, ValueError) as error:
                values[sensor.metric] = math.nan
                missing[sensor.metric] = str(error)
        if len(missing) == len(values):
            raise CollectError(next(iter(missing.values()), f"there is no sensor left in {self.source}"))
        of_cpus = [values[sensor.metric] for sensor in self._sensors if sensor.is_of_cpu]
        if of_cpus:
            values[_HOTTEST_CPU] = max((value for value in of_cpus if not math.isnan(value)), default=math.nan)
        observation = Observation(HOST, time_ns, tuple(values), list(values.values()), missing)
        return Collected([observation], self._most.take_notices())

    def close(self) -> None:
        """Nothing stays open."""


def find_sensors(folder: Path) -> list[Sensor]:
    """The sensors of CPUs, then those of all other chips, in the order of the chips' devices.

    Sensors that bear the same name are told apart by their channel, and chips of one device by their number.
    """
    chips = sorted((_device(path), path) for path in folder.glob("hwmon*"))
    found = [one for device, chip in chips for one in _sensors(device, chip)]
    names = [Counter(one.metrics[exactness] for one in found) for exactness in range(_EXACTNESSES)]
    sensors = [one.sensor(names) for one in found]
    return sorted(sensors, key=lambda sensor: not sensor.is_of_cpu)


@dataclass(frozen=True, slots=True)
class _Found:
    """A sensor and what it may be called, ever more exactly; the last is unique."""

    input: Path
    fault: Path
    metrics: tuple[str, ...]
    scale: float
    is_of_cpu: bool

    def sensor(self, names: Sequence[Counter[str]]) -> Sensor:
        """Under the first of the names that no other sensor has."""
        unique = (metric for metric, taken in zip(self.metrics, names, strict=True) if taken[metric] == 1)
        return Sensor(self.input, self.fault, next(unique, self.metrics[-1]), self.scale, self.is_of_cpu)


def _sensors(device: str, chip: Path) -> Iterator[_Found]:
    number = chip.name
    if not (chip / "name").exists() and (chip / "device/name").exists():
        chip = chip / "device"  # where older drivers have their files
    name = _text(chip / "name")
    found: set[str] = set()
    for path in sorted(chip.glob("*_*"), key=_place):
        match = _INPUT.fullmatch(path.name)
        if match is None:
            continue
        kind, channel = match[1], match[1] + match[2]
        label = _text(chip / f"{channel}_label") or channel
        if channel in found or (name == "coretemp" and _CORE.fullmatch(label)):
            continue
        found.add(channel)
        metric, scale = _METRICS[kind]
        chip_name = {"hw.name": name} if name else {}
        exact_label = label if label == channel else f"{label} {channel}"
        metrics = tuple(
            metric_id(metric, **chip_name, **{"hw.id": place, "hw.sensor_location": location})
            for place, location in ((device, label), (device, exact_label), (f"{device}:{number}", exact_label))
        )
        is_of_cpu = kind == "temp" and name in _CPU_CHIPS
        yield _Found(path, chip / f"{channel}_fault", metrics, scale, is_of_cpu)


def _place(path: Path) -> tuple[str, int, str]:
    """temp2 before temp10, and of one channel the average, a mean over time, before the input of the moment."""
    match = _INPUT.fullmatch(path.name)
    return (match[1], int(match[2]), match[3]) if match else ("", 0, "")


def _read(sensor: Sensor) -> float:
    """In the catalogue's unit.

    Raises:
        CollectError: the sensor says nothing, or that it is broken.
        ValueError: it says no number.
    """
    if sensor.fault.exists() and _text(sensor.fault) == "1":
        raise CollectError(f"{sensor.fault} says that the sensor is broken")
    return int(read_once(sensor.input)) * sensor.scale


def _device(chip: Path) -> str:
    """The device's name on its bus, which stays the same from boot to boot; the chip's number does not."""
    device = chip / "device"
    return device.resolve().name if device.exists() else chip.name


def _text(path: Path) -> str:
    """Empty where there is no such file."""
    try:
        return read_once(path).decode(errors="replace").strip()
    except CollectError:
        return ""
