"""Stands in for the module `pynvml`: its real constants and types, with GPUs of our own behind them.

The figures are those of an H100 SXM5 80 GB under driver 550 while it trains.
"""

import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pynvml

NOT_SUPPORTED = pynvml.NVML_ERROR_NOT_SUPPORTED
GPU_IS_LOST = pynvml.NVML_ERROR_GPU_IS_LOST
UNKNOWN = pynvml.NVML_ERROR_UNKNOWN
MIB = 1024 * 1024
WAIT_SECONDS = 30.0
"""How long a test waits for another thread: far longer than it takes."""


class Fail:
    """An answer that is an error."""

    def __init__(self, code: int) -> None:
        self.code = code


def answers_of_an_h100() -> dict[str, Any]:
    return {
        "nvmlDeviceGetName": "NVIDIA H100 80GB HBM3",
        "nvmlDeviceGetSerial": "1652823054567",
        "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=87, memory=45),
        "nvmlDeviceGetEncoderUtilization": [0, 16710],
        "nvmlDeviceGetDecoderUtilization": [3, 16710],
        "nvmlDeviceGetJpgUtilization": [0, 16710],
        "nvmlDeviceGetOfaUtilization": [0, 16710],
        "nvmlDeviceGetMemoryInfo": lambda version=None: SimpleNamespace(
            total=81559 * MIB, reserved=551 * MIB, free=8008 * MIB, used=73000 * MIB
        ),
        "nvmlDeviceGetBAR1MemoryInfo": SimpleNamespace(bar1Total=131072 * MIB, bar1Free=131071 * MIB, bar1Used=1 * MIB),
        "nvmlDeviceGetPowerUsage": 612345,
        "nvmlDeviceGetEnforcedPowerLimit": 700000,
        "nvmlDeviceGetTotalEnergyConsumption": 123456789,
        "nvmlDeviceGetTemperature": 61,
        "nvmlDeviceGetTemperatureThreshold": lambda threshold: {0: 92, 1: 89, 2: 95, 3: 87}[threshold],
        "nvmlDeviceGetMarginTemperature": 26,
        "nvmlDeviceGetClockInfo": lambda domain: {0: 1980, 1: 1980, 2: 2619, 3: 1545}[domain],
        "nvmlDeviceGetMaxClockInfo": lambda domain: {0: 1980, 1: 1980, 2: 2619, 3: 1965}[domain],
        "nvmlDeviceGetCurrentClocksEventReasons": 0x4,
        "nvmlDeviceGetTotalEccErrors": lambda error, counter: {(0, 0): 2, (1, 0): 0, (0, 1): 7, (1, 1): 1}[
            error, counter
        ],
        "nvmlDeviceGetRemappedRows": (1, 0, 0, 0),
        "nvmlDeviceGetCurrPcieLinkGeneration": 5,
        "nvmlDeviceGetMaxPcieLinkGeneration": 5,
        "nvmlDeviceGetCurrPcieLinkWidth": 16,
        "nvmlDeviceGetMaxPcieLinkWidth": 16,
        "nvmlDeviceGetPcieReplayCounter": 0,
        "nvmlDeviceGetPcieThroughput": lambda counter: {0: 1500, 1: 2500}[counter],
        "nvmlDeviceGetNvLinkState": lambda link: 1,
        "nvmlDeviceGetComputeRunningProcesses": [],
        "nvmlDeviceGetGraphicsRunningProcesses": [],
        "nvmlDeviceGetMPSComputeRunningProcesses": Fail(NOT_SUPPORTED),
        "nvmlDeviceGetMigMode": [0, 0],
        "nvmlDeviceGetMaxMigDeviceCount": 7,
    }


class FakeGpu:
    """One GPU. `answers` by call, a value, a function of the call's further arguments, or a `Fail`; `fields` by id, a
    number, a function of the scope, or a `Fail`."""

    def __init__(self, uuid: str, bus: int = 0x3B) -> None:
        self.uuid: str | bytes = uuid
        self.answers = answers_of_an_h100()
        self.answers["nvmlDeviceGetPciInfo"] = SimpleNamespace(busId=f"00000000:{bus:02X}:00.0")
        self.fields: dict[int, Any] = {pynvml.NVML_FI_DEV_MEMORY_TEMP: 72, pynvml.NVML_FI_DEV_NVLINK_LINK_COUNT: 0}
        self.failure: int | None = None
        self.has_gpm = False
        self.gpm: Callable[[int], Any] = lambda metric: 50.0
        self.mig: dict[int, FakeGpu] = {}
        self.mig_ids = (0, 0)
        self.hangs_in: dict[str, threading.Event] = {}


class FakePynvml:
    """The module. `failure`, `count_failure`, `wait_failure`: of initialising, counting GPUs and waiting for events.
    `calls`: how often each function was called."""

    def __init__(self, *gpus: FakeGpu) -> None:
        self.__dict__.update({name: value for name, value in vars(pynvml).items() if not name.startswith("nvmlDevice")})
        self.gpus = list(gpus)
        self.failure: int | None = None
        self.count_failure: int | None = None
        self.wait_failure: int | None = None
        self.initialised = 0
        self.calls: Counter[str] = Counter()
        self.open_samples: set[int] = set()
        self.open_sets: set[int] = set()
        self.watched: list[tuple[str, int]] = []
        self.events: list[tuple[str, int]] = []
        self.event_came = threading.Condition()
        self._opened = 0
        for name in ("nvmlInit", "nvmlShutdown", "nvmlSystemGetDriverVersion"):
            setattr(self, name, getattr(self, f"_{name}"))
        for name in ("GpmQueryDeviceSupport", "GpmSampleAlloc", "GpmSampleFree", "GpmSampleGet", "GpmMigSampleGet"):
            setattr(self, f"nvml{name}", getattr(self, f"_nvml{name}"))
        self.nvmlGpmMetricsGet = self._gpm_metrics
        self.nvmlEventSetCreate = self._event_set_create
        self.nvmlDeviceRegisterEvents = self._register
        self.nvmlEventSetWait_v2 = self._event_set_wait
        self.nvmlEventSetFree = self.open_sets.remove
        self.c_nvmlGpmMetricsGet_t = _Question

    def __getattr__(self, name: str) -> Any:
        if name.startswith("nvmlDeviceGet"):
            return partial(self._device_call, name)
        raise AttributeError(name)

    def absent_call(self, *arguments: Any) -> Any:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)

    def handle(self, gpu: FakeGpu) -> int:
        return id(gpu)

    def tell(self, gpu: FakeGpu, code: int) -> None:
        """An Xid event."""
        with self.event_came:
            self.events.append((str(gpu.uuid), code))
            self.event_came.notify_all()

    def _device_call(self, name: str, handle: Any = None, *arguments: Any, **named: Any) -> Any:
        self.calls[name] += 1
        self._check_initialised()
        if name == "nvmlDeviceGetCount":
            if self.count_failure is not None:
                raise pynvml.NVMLError(self.count_failure)
            return len(self.gpus)
        if name == "nvmlDeviceGetHandleByIndex":
            self._check(self.gpus[handle], name)
            return self.handle(self.gpus[handle])
        gpu = self._gpu(handle)
        self._check(gpu, name)
        if name == "nvmlDeviceGetUUID":
            return gpu.uuid
        if name == "nvmlDeviceGetFieldValues":
            return [_field(gpu, asked) for asked in arguments[0]]
        if name == "nvmlDeviceGetMigDeviceHandleByIndex":
            if arguments[0] not in gpu.mig:
                raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
            return self.handle(gpu.mig[arguments[0]])
        if name in {"nvmlDeviceGetGpuInstanceId", "nvmlDeviceGetComputeInstanceId"}:
            return gpu.mig_ids[name == "nvmlDeviceGetComputeInstanceId"]
        answer = gpu.answers.get(name, Fail(NOT_SUPPORTED))
        if callable(answer):
            answer = answer(*arguments, **named)
        if isinstance(answer, Fail):
            raise pynvml.NVMLError(answer.code)
        return answer

    def _gpu(self, handle: Any) -> FakeGpu:
        for gpu in self.gpus:
            for candidate in (gpu, *gpu.mig.values()):
                if self.handle(candidate) == handle:
                    return candidate
        raise pynvml.NVMLError(GPU_IS_LOST)

    def _check(self, gpu: FakeGpu, name: str) -> None:
        if name in gpu.hangs_in:
            assert gpu.hangs_in[name].wait(WAIT_SECONDS)
        if gpu.failure is not None:
            raise pynvml.NVMLError(gpu.failure)

    def _check_initialised(self) -> None:
        if not self.initialised:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_UNINITIALIZED)

    def _nvmlInit(self) -> None:  # noqa: N802
        self.calls["nvmlInit"] += 1
        if self.failure is not None:
            raise pynvml.NVMLError(self.failure)
        self.initialised += 1

    def _nvmlShutdown(self) -> None:  # noqa: N802
        self._check_initialised()
        assert not self.open_samples
        assert not self.open_sets
        self.initialised -= 1

    def _nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return "550.163.01"

    def _nvmlGpmQueryDeviceSupport(self, handle: int) -> SimpleNamespace:  # noqa: N802
        gpu = self._gpu(handle)
        self._check(gpu, "nvmlGpmQueryDeviceSupport")
        return SimpleNamespace(isSupportedDevice=int(gpu.has_gpm))

    def _nvmlGpmSampleAlloc(self) -> SimpleNamespace:  # noqa: N802
        self._opened += 1
        self.open_samples.add(self._opened)
        return SimpleNamespace(number=self._opened, gpu=None)

    def _nvmlGpmSampleFree(self, sample: SimpleNamespace) -> None:  # noqa: N802
        self.open_samples.remove(sample.number)

    def _nvmlGpmSampleGet(self, handle: int, sample: SimpleNamespace) -> None:  # noqa: N802
        gpu = self._gpu(handle)
        self._check(gpu, "nvmlGpmSampleGet")
        sample.gpu = gpu

    def _nvmlGpmMigSampleGet(self, handle: int, instance: int, sample: SimpleNamespace) -> None:  # noqa: N802
        sample.gpu = next(part for part in self._gpu(handle).mig.values() if part.mig_ids[0] == instance)

    def _gpm_metrics(self, question: Any) -> Any:
        assert question.sample1 is not question.sample2
        assert question.sample1.gpu is question.sample2.gpu
        for answer in question.metrics[: question.numMetrics]:
            value = question.sample2.gpu.gpm(answer.metricId)
            answer.nvmlReturn, answer.value = (value.code, 0.0) if isinstance(value, Fail) else (0, value)
        return question

    def _event_set_create(self) -> int:
        self._opened += 1
        self.open_sets.add(self._opened)
        return self._opened

    def _register(self, handle: int, events: int, event_set: int) -> None:
        gpu = self._gpu(handle)
        self.calls["nvmlDeviceRegisterEvents"] += 1
        self._check(gpu, "nvmlDeviceRegisterEvents")
        if isinstance(answer := gpu.answers.get("nvmlDeviceRegisterEvents"), Fail):
            raise pynvml.NVMLError(answer.code)
        assert events == pynvml.nvmlEventTypeXidCriticalError
        self.watched.append((str(gpu.uuid), event_set))

    def _event_set_wait(self, event_set: int, timeout_ms: int) -> SimpleNamespace:
        assert event_set in self.open_sets
        if self.wait_failure is not None:
            self.calls["failed waits"] += 1
            raise pynvml.NVMLError(self.wait_failure)
        with self.event_came:
            if not self.event_came.wait_for(lambda: self.events, 0.02):
                raise pynvml.NVMLError(pynvml.NVML_ERROR_TIMEOUT)
            uuid, code = self.events.pop(0)
        gpu = next(gpu for gpu in self.gpus if gpu.uuid == uuid)
        return SimpleNamespace(device=self.handle(gpu), eventType=pynvml.nvmlEventTypeXidCriticalError, eventData=code)


class _Question:
    def __init__(self) -> None:
        self.metrics = [SimpleNamespace() for _ in range(100)]
        self.numMetrics = 0


def _field(gpu: FakeGpu, asked: Any) -> SimpleNamespace:
    field, scope = asked if isinstance(asked, tuple) else (asked, 0)
    value = gpu.fields.get(field, Fail(NOT_SUPPORTED))
    if callable(value):
        value = value(scope)
    if isinstance(value, Fail):
        return SimpleNamespace(nvmlReturn=value.code)
    return SimpleNamespace(
        nvmlReturn=0,
        valueType=pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG,
        value=SimpleNamespace(ullVal=value),
    )
