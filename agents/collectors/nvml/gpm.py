"""Performance counters of Hopper and later (GPM): what a GPU did between two samples."""

from dataclasses import dataclass
from typing import Any

from pulsetrain.agents.collectors.nvml.library import NOT_SUPPORTED, Nvml
from pulsetrain.agents.collectors.nvml.reading import Reading, Refusals
from pulsetrain.schemas.catalogue import metric_id

_PERCENT, _MEBI = 0.01, 1024.0 * 1024.0
_SUPPORT = "gpm"


@dataclass(frozen=True, slots=True)
class _Metric:
    metric: str
    constant: str
    scale: float


def _pipe(name: str, constant: str) -> _Metric:
    return _Metric(metric_id("hw.gpu.pipe.activity", **{"hw.gpu.pipe": name}), constant, _PERCENT)


def _rate(link: str, direction: str, constant: str) -> _Metric:
    metric = metric_id("hw.gpu.io.rate", **{"hw.gpu.link": link, "network.io.direction": direction})
    return _Metric(metric, constant, _MEBI)


_METRICS = (
    _Metric(metric_id("hw.gpu.utilization", **{"hw.gpu.task": "graphics"}), "NVML_GPM_METRIC_GRAPHICS_UTIL", _PERCENT),
    _Metric("hw.gpu.sm.activity", "NVML_GPM_METRIC_SM_UTIL", _PERCENT),
    _Metric("hw.gpu.sm.occupancy", "NVML_GPM_METRIC_SM_OCCUPANCY", _PERCENT),
    _Metric("hw.gpu.tensor.activity", "NVML_GPM_METRIC_ANY_TENSOR_UTIL", _PERCENT),
    _Metric("hw.gpu.memory.activity", "NVML_GPM_METRIC_DRAM_BW_UTIL", _PERCENT),
    _pipe("fp64", "NVML_GPM_METRIC_FP64_UTIL"),
    _pipe("fp32", "NVML_GPM_METRIC_FP32_UTIL"),
    _pipe("fp16", "NVML_GPM_METRIC_FP16_UTIL"),
    _pipe("integer", "NVML_GPM_METRIC_INTEGER_UTIL"),
    _pipe("tensor_fp64", "NVML_GPM_METRIC_DFMA_TENSOR_UTIL"),
    _pipe("tensor_fp16", "NVML_GPM_METRIC_HMMA_TENSOR_UTIL"),
    _pipe("tensor_integer", "NVML_GPM_METRIC_IMMA_TENSOR_UTIL"),
    _rate("pcie", "transmit", "NVML_GPM_METRIC_PCIE_TX_PER_SEC"),
    _rate("pcie", "receive", "NVML_GPM_METRIC_PCIE_RX_PER_SEC"),
    _rate("nvlink", "transmit", "NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC"),
    _rate("nvlink", "receive", "NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC"),
)

GPM_METRICS = tuple(entry.metric for entry in _METRICS)
_TOLD_OTHERWISE = frozenset(metric for metric in GPM_METRICS if "hw.gpu.link=pcie" in metric)
"""A slow call tells these of devices without the counters."""


def _has_gpm(nvml: Nvml, handle: Any) -> bool:
    return bool(nvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice)


def can_sample(nvml: Nvml, handle: Any) -> bool:
    """Whether a device has these counters and lets them be read: drivers can keep them for root."""
    try:
        if not _has_gpm(nvml, handle):
            return False
        sample = nvml.nvmlGpmSampleAlloc()
        try:
            nvml.nvmlGpmSampleGet(handle, sample)
        finally:
            nvml.nvmlGpmSampleFree(sample)
    except nvml.errors:
        return False
    return True


class GpmReader:
    """Keeps the last sample of one device, or of one of its MIG instances, and compares the next with it.

    Args:
        nvml: the library.
        handle: the device; for an instance its parent.
        refusals: what the device does not support.
        gpu_instance: id of the MIG instance.
    """

    def __init__(self, nvml: Nvml, handle: Any, refusals: Refusals, gpu_instance: int | None = None) -> None:
        self._nvml = nvml
        self._handle = handle
        self._refusals = refusals
        self._gpu_instance = gpu_instance
        self._samples: list[Any] = []
        self._has_previous = False
        self._question: Any = None

    def read_into(self, reading: Reading) -> None:
        """Add every metric, with a value or with the reason why there is none.

        Raises:
            GpuLostError: the device is gone.
        """
        refusal = self._refusals.standing(_SUPPORT)
        if refusal is None:
            try:
                refusal = self._read(reading)
            except self._nvml.errors as error:
                self._has_previous = False
                refusal = self._refusals.note(_SUPPORT, error, reading)
        if refusal is None:
            return
        is_lasting = self._refusals.standing(_SUPPORT) is not None
        reading.miss((metric for metric in GPM_METRICS if not (is_lasting and metric in _TOLD_OTHERWISE)), refusal)

    def close(self) -> None:
        """Free the samples; the library must still be initialised."""
        samples, self._samples, self._has_previous = self._samples, [], False
        for sample in samples:
            self._nvml.nvmlGpmSampleFree(sample)

    def _read(self, reading: Reading) -> str | None:
        nvml = self._nvml
        if self._question is None:
            if not _has_gpm(nvml, self._handle):
                return self._refusals.note_code(_SUPPORT, NOT_SUPPORTED, reading)
            self._question = self._new_question()
        while len(self._samples) < 2:
            self._samples.append(nvml.nvmlGpmSampleAlloc())
        previous, current = self._samples
        had_previous, self._has_previous = self._has_previous, False
        if self._gpu_instance is None:
            nvml.nvmlGpmSampleGet(self._handle, current)
        else:
            nvml.nvmlGpmMigSampleGet(self._handle, self._gpu_instance, current)
        self._samples, self._has_previous = [current, previous], True
        if not had_previous:
            return "first_reading"
        question = self._question
        question.sample1, question.sample2 = previous, current
        answers = nvml.nvmlGpmMetricsGet(question).metrics
        for index, entry in enumerate(_METRICS):
            answer = answers[index]
            if answer.nvmlReturn:
                reading.miss((entry.metric,), nvml.reason(answer.nvmlReturn))
            else:
                reading.add(entry.metric, answer.value, entry.scale)
        return None

    def _new_question(self) -> Any:
        nvml = self._nvml
        question = nvml.c_nvmlGpmMetricsGet_t()
        question.version = nvml.NVML_GPM_METRICS_GET_VERSION
        question.numMetrics = len(_METRICS)
        for index, entry in enumerate(_METRICS):
            question.metrics[index].metricId = getattr(nvml, entry.constant)
        return question
