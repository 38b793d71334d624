"""NVLink: which links are up, what they carried and what went wrong on them, summed over a GPU's links."""

from dataclasses import dataclass
from typing import Any

from pulsetrain.agents.collectors.nvml.field_values import Values
from pulsetrain.agents.collectors.nvml.library import Nvml
from pulsetrain.agents.collectors.nvml.reading import Reading, Refusals
from pulsetrain.schemas.catalogue import metric_id

_KIBI = 1024.0
_MAX_LINKS = 64
_COUNT = "nvlink"
_NO_LINKS = "no_nvlink"


@dataclass(frozen=True, slots=True)
class _Counter:
    """`per_link`: constants of fields that are asked link by link, with their scales; the first that answers counts.
    `in_all`: fields of older GPUs that tell the sum."""

    metric: str
    per_link: tuple[tuple[str, float], ...]
    in_all: tuple[str, ...] = ()


def _io(direction: str, older: str, newer: str) -> _Counter:
    metric = metric_id("hw.gpu.io", **{"hw.gpu.link": "nvlink", "network.io.direction": direction})
    return _Counter(metric, ((f"NVML_FI_DEV_NVLINK_{older}", _KIBI), (f"NVML_FI_DEV_NVLINK_{newer}", 1.0)))


def _errors(kind: str, per_link: str, *in_all: str) -> _Counter:
    metric = metric_id("hw.errors", **{"hw.type": "gpu", "error.type": f"nvlink_{kind}"})
    return _Counter(
        metric,
        ((f"NVML_FI_DEV_NVLINK_{per_link}", 1.0),),
        tuple(f"NVML_FI_DEV_NVLINK_{name}_ERROR_COUNT_TOTAL" for name in in_all),
    )


_COUNTERS = (
    _io("transmit", "THROUGHPUT_DATA_TX", "COUNT_XMIT_BYTES"),
    _io("receive", "THROUGHPUT_DATA_RX", "COUNT_RCV_BYTES"),
    _errors("replay", "ERROR_DL_REPLAY", "REPLAY"),
    _errors("recovery", "ERROR_DL_RECOVERY", "RECOVERY"),
    _errors("crc", "ERROR_DL_CRC", "CRC_FLIT", "CRC_DATA"),
)
_LINKS_UP, _LINKS_DOWN = (metric_id("hw.gpu.nvlink.links", **{"hw.state": state}) for state in ("up", "down"))
NVLINK_METRICS = (_LINKS_UP, _LINKS_DOWN, *(counter.metric for counter in _COUNTERS))


class NvLinkReader:
    """Asks for the links of one GPU.

    A link that does not answer counts with its last value, so that a sum over links falls only where a counter did.
    """

    def __init__(self, nvml: Nvml, handle: Any, refusals: Refusals) -> None:
        self._nvml = nvml
        self._handle = handle
        self._refusals = refusals
        self._values = Values(nvml)
        self._last: dict[tuple[str, int], float] = {}

    def read_into(self, reading: Reading) -> None:
        """Add every metric, with a value or with the reason why there is none.

        Raises:
            GpuLostError: the device is gone.
        """
        refusal = self._refusals.standing(_COUNT)
        if refusal is None:
            try:
                refusal = self._read(reading)
            except self._nvml.errors as error:
                refusal = self._refusals.note(_COUNT, error, reading)
        if refusal is not None:
            reading.miss(NVLINK_METRICS, refusal)

    def close(self) -> None:
        """Nothing is held."""

    def _read(self, reading: Reading) -> str | None:
        (answer,) = self._nvml.nvmlDeviceGetFieldValues(self._handle, [self._nvml.NVML_FI_DEV_NVLINK_LINK_COUNT])
        if answer.nvmlReturn:
            return self._refusals.note_code(_COUNT, answer.nvmlReturn, reading)
        links = min(int(self._values.number(answer)), _MAX_LINKS)
        if links == 0:
            return _NO_LINKS
        self._read_states(links, reading)
        for counter in _COUNTERS:
            self._read_counter(counter, links, reading)
        return None

    def _read_states(self, links: int, reading: Reading) -> None:
        states, reason = [], _NO_LINKS
        for link in range(links):
            try:
                states.append(bool(self._nvml.nvmlDeviceGetNvLinkState(self._handle, link)))
            except self._nvml.errors as error:
                reason = self._refusals.note((_LINKS_UP, link), error, reading)
        if states:
            reading.add(_LINKS_UP, states.count(True), 1.0)
            reading.add(_LINKS_DOWN, states.count(False), 1.0)
        else:
            reading.miss((_LINKS_UP, _LINKS_DOWN), reason)

    def _read_counter(self, counter: _Counter, links: int, reading: Reading) -> None:
        reason = "not_supported"
        for constant, scale in counter.per_link:
            refusal = self._refusals.standing(constant)
            if refusal is not None:
                reason = refusal
                continue
            field = getattr(self._nvml, constant)
            answers = self._nvml.nvmlDeviceGetFieldValues(self._handle, [(field, link) for link in range(links)])
            errors = [answer.nvmlReturn for answer in answers if answer.nvmlReturn]
            if len(errors) == links:
                reason = self._refusals.note_code(constant, errors[0], reading)
                continue
            for link, answer in enumerate(answers):
                if not answer.nvmlReturn:
                    self._last[constant, link] = self._values.number(answer)
            in_all = sum(value for (known, _), value in self._last.items() if known == constant)
            reading.add(counter.metric, in_all, scale)
            return
        self._read_total(counter, reason, reading)

    def _read_total(self, counter: _Counter, reason: str, reading: Reading) -> None:
        refusal = self._refusals.standing(counter) if counter.in_all else reason
        if refusal is None:
            fields = [getattr(self._nvml, constant) for constant in counter.in_all]
            answers = self._nvml.nvmlDeviceGetFieldValues(self._handle, fields)
            errors = [answer.nvmlReturn for answer in answers if answer.nvmlReturn]
            if not errors:
                reading.add(counter.metric, sum(map(self._values.number, answers)), 1.0)
                return
            refusal = self._refusals.note_code(counter, errors[0], reading)
        reading.miss((counter.metric,), refusal)
