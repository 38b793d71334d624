"""What of NVML is called, through `pynvml`: only calls that read. Nothing here sets or resets anything on a device."""

import _ctypes
import ctypes
import importlib
from typing import Any

READING_CALLS = frozenset(
    {
        # The library itself.
        "nvmlInit",
        "nvmlShutdown",
        "nvmlSystemGetDriverVersion",
        # Which devices there are.
        "nvmlDeviceGetCount",
        "nvmlDeviceGetHandleByIndex",
        "nvmlDeviceGetUUID",
        "nvmlDeviceGetName",
        "nvmlDeviceGetSerial",
        "nvmlDeviceGetPciInfo",
        "nvmlDeviceGetMigMode",
        "nvmlDeviceGetMaxMigDeviceCount",
        "nvmlDeviceGetMigDeviceHandleByIndex",
        "nvmlDeviceGetGpuInstanceId",
        "nvmlDeviceGetComputeInstanceId",
        # How they are.
        "nvmlDeviceGetUtilizationRates",
        "nvmlDeviceGetEncoderUtilization",
        "nvmlDeviceGetDecoderUtilization",
        "nvmlDeviceGetJpgUtilization",
        "nvmlDeviceGetOfaUtilization",
        "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetBAR1MemoryInfo",
        "nvmlDeviceGetPowerUsage",
        "nvmlDeviceGetEnforcedPowerLimit",
        "nvmlDeviceGetTotalEnergyConsumption",
        "nvmlDeviceGetTemperature",
        "nvmlDeviceGetTemperatureV",
        "nvmlDeviceGetTemperatureThreshold",
        "nvmlDeviceGetMarginTemperature",
        "nvmlDeviceGetClockInfo",
        "nvmlDeviceGetMaxClockInfo",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetCurrentClocksThrottleReasons",
        "nvmlDeviceGetTotalEccErrors",
        "nvmlDeviceGetRemappedRows",
        "nvmlDeviceGetCurrPcieLinkGeneration",
        "nvmlDeviceGetMaxPcieLinkGeneration",
        "nvmlDeviceGetCurrPcieLinkWidth",
        "nvmlDeviceGetMaxPcieLinkWidth",
        "nvmlDeviceGetPcieReplayCounter",
        "nvmlDeviceGetPcieThroughput",
        "nvmlDeviceGetNvLinkState",
        "nvmlDeviceGetFieldValues",
        "nvmlDeviceGetComputeRunningProcesses",
        "nvmlDeviceGetGraphicsRunningProcesses",
        "nvmlDeviceGetMPSComputeRunningProcesses",
        # Counters of a span of time; a sample is memory of this process.
        "nvmlGpmQueryDeviceSupport",
        "nvmlGpmSampleAlloc",
        "nvmlGpmSampleGet",
        "nvmlGpmMigSampleGet",
        "nvmlGpmMetricsGet",
        "nvmlGpmSampleFree",
        # Events; a set of them is memory of this process.
        "nvmlEventSetCreate",
        "nvmlDeviceRegisterEvents",
        "nvmlEventSetWait_v2",
        "nvmlEventSetFree",
    }
)

UNINITIALIZED = 1
NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
DRIVER_NOT_LOADED = 9
TIMEOUT = 10
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
LIB_RM_VERSION_MISMATCH = 18
ARGUMENT_VERSION_MISMATCH = 25
DEPRECATED = 26
GPU_NOT_FOUND = 28
UNKNOWN = 999

LOST = frozenset({GPU_IS_LOST, GPU_NOT_FOUND})
"""The device is there no more, whatever it was asked."""

REFUSED = frozenset(
    {2, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, FUNCTION_NOT_FOUND, ARGUMENT_VERSION_MISMATCH, DEPRECATED}
)
"""The device answers, and will answer the same at the next tick."""

_ERROR_PREFIX = "NVML_ERROR_"
_ADVICE = {
    NO_PERMISSION: "the agent may not open the NVIDIA devices; give it /dev/nvidiactl and /dev/nvidia*",
    NOT_FOUND: "there is no NVIDIA GPU",
    DRIVER_NOT_LOADED: "the NVIDIA kernel driver is not loaded",
    LIBRARY_NOT_FOUND: "libnvidia-ml.so.1 was not found; it comes with the NVIDIA driver",
    LIB_RM_VERSION_MISMATCH: "the NVIDIA library and the kernel driver have different versions, as after an upgrade; "
    "reload the driver or restart the node",
}


class Nvml:
    """The module `pynvml`, or one like it, narrowed to `READING_CALLS`; its constants and types as they are.

    Args:
        module: `pynvml`.
    """

    def __init__(self, module: Any) -> None:
        self._module = module
        mismatch = getattr(module, "NVMLLibraryMismatchError", module.NVMLError)
        self.errors: tuple[type[Exception], ...] = (module.NVMLError, mismatch)
        self._reasons: dict[int, str] = {
            value: name.removeprefix(_ERROR_PREFIX).lower()
            for name, value in vars(module).items()
            if name.startswith(_ERROR_PREFIX) and isinstance(value, int)
        }

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name, None)
        if name in READING_CALLS:
            value = value or self._absent
        elif value is None or (name.startswith("nvml") and callable(value)):
            raise AttributeError(f"{name} is not among the calls of NVML that only read, nor a constant")
        self.__dict__[name] = value
        return value

    def reason(self, code: int) -> str:
        """NVML's own word for an error, in lower case: `not_supported`."""
        return self._reasons.get(code, f"nvml_error_{code}")

    def sentence(self, code: int) -> str:
        """What an error of the whole library means, and what to do."""
        return _ADVICE.get(code, f"NVML says {self.reason(code)} (error {code})")

    def unload(self) -> None:
        """Forget the loaded library, so that the next initialisation takes the one that is installed then."""
        library = getattr(self._module, "nvmlLib", None)
        if library is not None:
            self._module.nvmlLib = None
            self._module._nvmlGetFunctionPointer_cache.clear()
            close_library(library)

    def _absent(self, *arguments: object) -> Any:
        raise self._module.NVMLError(FUNCTION_NOT_FOUND)


def close_library(library: ctypes.CDLL) -> None:
    """Give a library back to the loader; ctypes never does, and a loaded one hides its successor on the disk."""
    _ctypes.dlclose(library._handle)


def code_of(error: Exception) -> int:
    """NVML's number of an error. pynvml's own complaint about a too old library has none: a function is missing."""
    value = getattr(error, "value", FUNCTION_NOT_FOUND)
    return int(value)


def load_pynvml() -> Nvml:
    """The real one.

    Raises:
        ImportError: it is not installed.
    """
    return Nvml(importlib.import_module("pynvml"))
