"""What NVIDIA's DCGM calls the metrics of a GPU (dcgm_fields.h; default-counters.csv and dcp-metrics of dcgm-exporter).

Left out are fields whose unit differs between versions (the `_VIOLATION` times, `PCIE_TX_THROUGHPUT`,
`NVLINK_BANDWIDTH_TOTAL`), and `XID_ERRORS`, which is the code of an event and no quantity.
"""

from pulsetrain.schemas.catalogue.exporters.mapping import CanonicalName, Names

_PERCENT = 0.01
_MEBI = 1024.0 * 1024.0
_MEGA = 1e6
_MILLI = 1e-3
_GPU = {"hw.type": "gpu"}


def _one(name: str, scale: float = 1.0, /, **attributes: str) -> tuple[CanonicalName, ...]:
    return (CanonicalName(name, scale, attributes),)


def _utilization(task: str, scale: float = 1.0) -> tuple[CanonicalName, ...]:
    return _one("hw.gpu.utilization", scale, **{"hw.gpu.task": task})


def _memory(state: str) -> tuple[CanonicalName, ...]:
    return _one("hw.gpu.memory.usage", _MEBI, **{"hw.gpu.memory.state": state})


def _clock(domain: str) -> tuple[CanonicalName, ...]:
    return _one("hw.gpu.clock.frequency", _MEGA, **{"hw.gpu.clock.domain": domain})


def _rate(link: str, direction: str) -> tuple[CanonicalName, ...]:
    return _one("hw.gpu.io.rate", **{"hw.gpu.link": link, "network.io.direction": direction})


def _pipe(pipe: str) -> tuple[CanonicalName, ...]:
    return _one("hw.gpu.pipe.activity", **{"hw.gpu.pipe": pipe})


def _retired(kind: str) -> tuple[CanonicalName, ...]:
    return _one("hw.gpu.memory.retired_pages", **{"error.type": kind})


def _remapped(kind: str) -> tuple[CanonicalName, ...]:
    return _one("hw.gpu.memory.remapped_rows", **{"error.type": kind})


def _limit(kind: str) -> tuple[CanonicalName, ...]:
    return _one("hw.temperature.limit", **_GPU, **{"hw.limit_type": kind})


def _errors(kind: str) -> tuple[CanonicalName, ...]:
    return _one("hw.errors", **_GPU, **{"error.type": kind})


def _ecc(kind: str, counter: str) -> tuple[CanonicalName, ...]:
    return _one("hw.errors", **_GPU, **{"error.type": f"ecc_{kind}", "hw.gpu.ecc.counter": counter})


_NVLINK_CRC = (CanonicalName("hw.errors", attributes=_GPU | {"error.type": "nvlink_crc"}, is_sum=True),)

DCGM_NAMES: Names = {
    "DCGM_FI_DEV_GPU_UTIL": _utilization("general", _PERCENT),
    "DCGM_FI_DEV_ENC_UTIL": _utilization("encoder", _PERCENT),
    "DCGM_FI_DEV_DEC_UTIL": _utilization("decoder", _PERCENT),
    "DCGM_FI_DEV_MEM_COPY_UTIL": _one("hw.gpu.memory.controller.utilization", _PERCENT),
    "DCGM_FI_DEV_FB_USED": _memory("used"),
    "DCGM_FI_DEV_FB_FREE": _memory("free"),
    "DCGM_FI_DEV_FB_RESERVED": _memory("reserved"),
    "DCGM_FI_DEV_FB_TOTAL": _one("hw.gpu.memory.limit", _MEBI),
    "DCGM_FI_DEV_BAR1_USED": _one("hw.gpu.bar1.usage", _MEBI, **{"hw.gpu.memory.state": "used"}),
    "DCGM_FI_DEV_BAR1_TOTAL": _one("hw.gpu.bar1.limit", _MEBI),
    "DCGM_FI_DEV_SM_CLOCK": _clock("sm"),
    "DCGM_FI_DEV_MEM_CLOCK": _clock("memory"),
    "DCGM_FI_DEV_VIDEO_CLOCK": _clock("video"),
    "DCGM_FI_DEV_POWER_USAGE": _one("hw.power", **_GPU),
    "DCGM_FI_DEV_ENFORCED_POWER_LIMIT": _one("hw.power.limit", **_GPU),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": _one("hw.energy", _MILLI, **_GPU),
    "DCGM_FI_DEV_GPU_TEMP": _one("hw.temperature", **_GPU),
    "DCGM_FI_DEV_MEMORY_TEMP": _one("hw.temperature", **_GPU, **{"hw.sensor_location": "memory"}),
    "DCGM_FI_DEV_SLOWDOWN_TEMP": _limit("high.degraded"),
    "DCGM_FI_DEV_SHUTDOWN_TEMP": _limit("high.critical"),
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": _errors("pcie_replay"),
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": _ecc("corrected", "volatile"),
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": _ecc("uncorrected", "volatile"),
    "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL": _ecc("corrected", "aggregate"),
    "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL": _ecc("uncorrected", "aggregate"),
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": _NVLINK_CRC,
    "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL": _NVLINK_CRC,
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL": _errors("nvlink_replay"),
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": _errors("nvlink_recovery"),
    "DCGM_FI_DEV_RETIRED_SBE": _retired("ecc_corrected"),
    "DCGM_FI_DEV_RETIRED_DBE": _retired("ecc_uncorrected"),
    "DCGM_FI_DEV_RETIRED_PENDING": _one("hw.gpu.memory.retired_pages.pending"),
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": _remapped("ecc_corrected"),
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": _remapped("ecc_uncorrected"),
    "DCGM_FI_DEV_ROW_REMAP_PENDING": _one("hw.gpu.memory.remapped_rows.pending"),
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": _one("hw.gpu.memory.remapped_rows.failed"),
    "DCGM_FI_DEV_PCIE_LINK_GEN": _one("hw.gpu.pcie.generation"),
    "DCGM_FI_DEV_PCIE_MAX_LINK_GEN": _one("hw.gpu.pcie.generation.limit"),
    "DCGM_FI_DEV_PCIE_LINK_WIDTH": _one("hw.gpu.pcie.lanes"),
    "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH": _one("hw.gpu.pcie.lanes.limit"),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": _utilization("graphics"),
    "DCGM_FI_PROF_SM_ACTIVE": _one("hw.gpu.sm.activity"),
    "DCGM_FI_PROF_SM_OCCUPANCY": _one("hw.gpu.sm.occupancy"),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": _one("hw.gpu.tensor.activity"),
    "DCGM_FI_PROF_PIPE_FP64_ACTIVE": _pipe("fp64"),
    "DCGM_FI_PROF_PIPE_FP32_ACTIVE": _pipe("fp32"),
    "DCGM_FI_PROF_PIPE_FP16_ACTIVE": _pipe("fp16"),
    "DCGM_FI_PROF_PIPE_INT_ACTIVE": _pipe("integer"),
    "DCGM_FI_PROF_PIPE_TENSOR_DFMA_ACTIVE": _pipe("tensor_fp64"),
    "DCGM_FI_PROF_PIPE_TENSOR_HMMA_ACTIVE": _pipe("tensor_fp16"),
    "DCGM_FI_PROF_PIPE_TENSOR_IMMA_ACTIVE": _pipe("tensor_integer"),
    "DCGM_FI_PROF_DRAM_ACTIVE": _one("hw.gpu.memory.activity"),
    "DCGM_FI_PROF_PCIE_TX_BYTES": _rate("pcie", "transmit"),
    "DCGM_FI_PROF_PCIE_RX_BYTES": _rate("pcie", "receive"),
    "DCGM_FI_PROF_NVLINK_TX_BYTES": _rate("nvlink", "transmit"),
    "DCGM_FI_PROF_NVLINK_RX_BYTES": _rate("nvlink", "receive"),
}
