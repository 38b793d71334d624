"""What NVIDIA's Triton inference server calls its metrics (docs/user_guide/metrics.md of triton-inference-server)."""

from pulsetrain.schemas.catalogue.exporters.mapping import CanonicalName, Names

_MICRO = 1e-6
_MILLI = 1e-3
_GPU = {"hw.type": "gpu"}


def _one(name: str, scale: float = 1.0, /, **attributes: str) -> tuple[CanonicalName, ...]:
    return (CanonicalName(name, scale, attributes),)


def _compute(phase: str) -> tuple[CanonicalName, ...]:
    return _one("inference.compute.time", _MICRO, **{"inference.phase": phase})


def _lookups(result: str) -> tuple[CanonicalName, ...]:
    return _one("inference.cache.lookups", **{"inference.cache.result": result})


TRITON_NAMES: Names = {
    "nv_inference_request_success": _one("inference.requests", **{"inference.outcome": "success"}),
    # Since 2.45 there is one series a reason; their sum is what older versions say.
    "nv_inference_request_failure": (
        CanonicalName("inference.requests", attributes={"inference.outcome": "failure"}, is_sum=True),
    ),
    "nv_inference_count": _one("inference.inferences"),
    "nv_inference_exec_count": _one("inference.executions"),
    "nv_inference_request_duration_us": _one("inference.request.time", _MICRO),
    "nv_inference_queue_duration_us": _one("inference.queue.time", _MICRO),
    "nv_inference_compute_input_duration_us": _compute("input"),
    "nv_inference_compute_infer_duration_us": _compute("infer"),
    "nv_inference_compute_output_duration_us": _compute("output"),
    "nv_inference_pending_request_count": _one("inference.requests.pending"),
    "nv_inference_first_response_histogram_ms_sum": _one("inference.first_response.time", _MILLI),
    "nv_inference_first_response_histogram_ms_count": _one("inference.first_responses"),
    "nv_cache_num_hits_per_model": _lookups("hit"),
    "nv_cache_num_misses_per_model": _lookups("miss"),
    "nv_cache_num_hits": _lookups("hit"),
    "nv_cache_num_misses": _lookups("miss"),
    "nv_cache_util": _one("inference.cache.utilization"),
    "nv_cpu_utilization": _one("system.cpu.utilization"),
    "nv_cpu_memory_total_bytes": _one("system.memory.limit"),
    "nv_cpu_memory_used_bytes": _one("system.memory.usage", **{"system.memory.state": "used"}),
    "nv_gpu_utilization": _one("hw.gpu.utilization", **{"hw.gpu.task": "general"}),
    "nv_gpu_memory_used_bytes": _one("hw.gpu.memory.usage", **{"hw.gpu.memory.state": "used"}),
    "nv_gpu_memory_total_bytes": _one("hw.gpu.memory.limit"),
    "nv_gpu_power_limit": _one("hw.power.limit", **_GPU),
    "nv_gpu_power_usage": _one("hw.power", **_GPU),
    "nv_energy_consumption": _one("hw.energy", **_GPU),
}
