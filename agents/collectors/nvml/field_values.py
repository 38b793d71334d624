"""Metrics that NVML tells by field id: many in one call, each with an error of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pulsetrain.agents.collectors.nvml.library import Nvml
from pulsetrain.agents.collectors.nvml.reading import Reading, Refusals
from pulsetrain.schemas.catalogue import metric_id

_NANO = 1e-9

_MEMBERS = {
    "NVML_VALUE_TYPE_DOUBLE": "dVal",
    "NVML_VALUE_TYPE_UNSIGNED_INT": "uiVal",
    "NVML_VALUE_TYPE_UNSIGNED_LONG": "ulVal",
    "NVML_VALUE_TYPE_UNSIGNED_LONG_LONG": "ullVal",
    "NVML_VALUE_TYPE_SIGNED_LONG_LONG": "sllVal",
    "NVML_VALUE_TYPE_SIGNED_INT": "siVal",
    "NVML_VALUE_TYPE_UNSIGNED_SHORT": "usVal",
}
"""Members of nvmlValue_t by nvmlValueType_t."""


@dataclass(frozen=True, slots=True)
class FieldValue:
    """One field by the name of its constant; times `scale` it is in the catalogue's unit."""

    metric: str
    constant: str
    scale: float = 1.0


def _clock_time(reason: str, constant: str) -> FieldValue:
    metric = metric_id("hw.gpu.clock.event.time", **{"hw.gpu.clock.event.reason": reason})
    return FieldValue(metric, f"NVML_FI_DEV_CLOCKS_EVENT_REASON_{constant}", _NANO)


FAST_FIELDS = (
    FieldValue(
        metric_id("hw.temperature", **{"hw.type": "gpu", "hw.sensor_location": "memory"}), "NVML_FI_DEV_MEMORY_TEMP"
    ),
    _clock_time("sw_power_cap", "SW_POWER_CAP"),
    _clock_time("sync_boost", "SYNC_BOOST"),
    _clock_time("sw_thermal_slowdown", "SW_THERM_SLOWDOWN"),
    _clock_time("hw_thermal_slowdown", "HW_THERM_SLOWDOWN"),
    _clock_time("hw_power_brake_slowdown", "HW_POWER_BRAKE_SLOWDOWN"),
)

SLOW_FIELDS = (
    FieldValue(metric_id("hw.gpu.memory.retired_pages", **{"error.type": "ecc_corrected"}), "NVML_FI_DEV_RETIRED_SBE"),
    FieldValue(
        metric_id("hw.gpu.memory.retired_pages", **{"error.type": "ecc_uncorrected"}), "NVML_FI_DEV_RETIRED_DBE"
    ),
    FieldValue("hw.gpu.memory.retired_pages.pending", "NVML_FI_DEV_RETIRED_PENDING"),
)


class Values:
    """The numbers in answers of nvmlDeviceGetFieldValues."""

    def __init__(self, nvml: Nvml) -> None:
        self._members = {getattr(nvml, constant): member for constant, member in _MEMBERS.items()}

    def number(self, answer: Any) -> float:
        """The number of an answer without error; NaN of a type that is not known yet."""
        member = self._members.get(answer.valueType)
        return float("nan") if member is None else float(getattr(answer.value, member))


class FieldValueReader:
    """Asks one device a list of fields in one call."""

    def __init__(self, nvml: Nvml, handle: Any, fields: Sequence[FieldValue], refusals: Refusals) -> None:
        self._nvml = nvml
        self._handle = handle
        self._fields = [(getattr(nvml, field.constant), field) for field in fields]
        self._refusals = refusals
        self._values = Values(nvml)

    def read_into(self, reading: Reading) -> None:
        """Add every metric, with a value or with the reason why there is none.

        Raises:
            GpuLostError: the device is gone.
        """
        refusals = self._refusals
        standing = {field: refusals.standing(field) for _, field in self._fields}
        asked = [identifier for identifier, field in self._fields if standing[field] is None]
        failure: str | None = None
        answers: Iterator[Any] = iter(())
        if asked:
            try:
                answers = iter(self._nvml.nvmlDeviceGetFieldValues(self._handle, asked))
            except self._nvml.errors as error:
                failure = refusals.note(self, error, reading)
        for _, field in self._fields:
            refusal = standing[field] or failure
            if refusal is None:
                answer = next(answers)
                if not answer.nvmlReturn:
                    reading.add(field.metric, self._values.number(answer), field.scale)
                    continue
                refusal = refusals.note_code(field, answer.nvmlReturn, reading)
            reading.miss((field.metric,), refusal)

    def close(self) -> None:
        """Nothing is held."""
