"""The GPU collectors against NVML itself, field by field, on whatever libnvidia-ml.so.1 the loader finds.

A driver's library, or a simulated one on the loader's path (LD_LIBRARY_PATH). Asked directly before and after the
collectors; where it always says the same, the collectors must have said it too.
"""

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pynvml
import pytest

from pulsetrain.agents.collectors.base import Collected, Observation
from pulsetrain.agents.collectors.nvml.collectors import nvml_collectors
from pulsetrain.agents.collectors.nvml.settings import NvmlSettings
from pulsetrain.schemas.catalogue import MetricKind, find
from pulsetrain.schemas.status import StatusEvent
from tests.gpu.direct import FAST, GPM, PCIE_RATES, SLOW, Ask, has_gpm

_ROUND_SECONDS = 0.2
_ASKED = 4
"""Direct calls before and after: a value that changes by itself will not be the same in all of them."""

_OF_EVENTS = {"hw.errors{error.type=xid,hw.type=gpu}", "hw.gpu.last_xid"}


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a direct call brought: a value, or the name of an error."""

    value: float = math.nan
    error: str = ""


@dataclass(slots=True)
class _Run:
    """Three rounds of the collectors, with direct answers before and after the last.

    `handles`: by UUID, of the GPUs that answer; `lost`: how many are counted and say that they are lost.
    """

    handles: dict[str, Any] = field(default_factory=dict)
    lost: int = 0
    answers: list[dict[tuple[str, str], _Answer]] = field(default_factory=list)
    fast: list[Collected] = field(default_factory=list)
    slow: list[Collected] = field(default_factory=list)

    def observations(self) -> Iterator[tuple[str, Observation]]:
        """The last observation of each collector for each whole GPU, with its UUID."""
        for collected in (self.fast[-1], self.slow[-1]):
            for observation in collected.observations:
                uuid = observation.entity.removeprefix("gpu:")
                if uuid in self.handles:
                    yield uuid, observation


@pytest.fixture(scope="module")
def run() -> Iterator[_Run]:
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        pytest.exit(
            f"NVML can't be initialised ({error}): these tests need a GPU's libnvidia-ml.so.1, or a simulated one in a "
            "folder that LD_LIBRARY_PATH names",
            returncode=1,
        )
    made = _Run()
    fast, slow = nvml_collectors(NvmlSettings(), lambda pid: {}, lambda uuid: {})
    for _ in range(2):
        made.fast.append(fast.collect(time.time_ns()))
        made.slow.append(slow.collect(time.time_ns()))
        time.sleep(_ROUND_SECONDS)
    made.handles = _answering_gpus()
    made.lost = pynvml.nvmlDeviceGetCount() - len(made.handles)
    assert made.handles, "NVML shows no GPU that answers"
    made.answers = [_ask_all(made.handles) for _ in range(_ASKED)]
    made.fast.append(fast.collect(time.time_ns()))
    made.slow.append(slow.collect(time.time_ns()))
    made.answers += [_ask_all(made.handles) for _ in range(_ASKED)]
    yield made
    slow.close()
    fast.close()
    pynvml.nvmlShutdown()


def _answering_gpus() -> dict[str, Any]:
    found = {}
    for index in range(pynvml.nvmlDeviceGetCount()):
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)
        except pynvml.NVMLError_GpuIsLost:
            continue
        except pynvml.NVMLError:
            pass
        found[_text(pynvml.nvmlDeviceGetUUID(handle))] = handle
    return found


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _ask_all(handles: Mapping[str, Any]) -> dict[tuple[str, str], _Answer]:
    return {
        (uuid, metric): _ask(ask, handle)
        for uuid, handle in handles.items()
        for metric, ask in {**FAST, **SLOW, **({} if has_gpm(handle) else PCIE_RATES)}.items()
    }


def _ask(ask: Ask, handle: Any) -> _Answer:
    try:
        return _Answer(float(ask(handle)))
    except pynvml.NVMLError as error:
        names = [
            name for name, value in vars(pynvml).items() if name.startswith("NVML_ERROR_") and value == error.value
        ]
        return _Answer(error=names[0].removeprefix("NVML_ERROR_").lower())


def test_every_gpu_that_answers_is_an_entity_of_its_uuid(run: _Run) -> None:
    for collected in (run.fast[-1], run.slow[-1]):
        entities = {observation.entity for observation in collected.observations}
        assert {f"gpu:{uuid}" for uuid in run.handles} <= entities


def test_each_gpu_that_is_lost_is_told_once(run: _Run) -> None:
    told = [notice for each in run.fast for notice in each.notices if notice.event is StatusEvent.GPU_LOST]

    assert len(told) == run.lost


def test_labels_say_what_the_driver_says_of_the_gpu(run: _Run) -> None:
    for uuid, observation in run.observations():
        assert observation.labels["hw.model"] == _text(pynvml.nvmlDeviceGetName(run.handles[uuid]))
        bus_id = _text(pynvml.nvmlDeviceGetPciInfo(run.handles[uuid]).busId).lower()
        assert observation.labels["hw.gpu.bus_id"] == bus_id


@pytest.mark.parametrize("metric", [*FAST, *SLOW, *PCIE_RATES])
def test_a_field_has_the_value_or_the_reason_of_a_direct_call(run: _Run, metric: str) -> None:
    checked = 0
    for uuid, observation in run.observations():
        answers = [each[uuid, metric] for each in run.answers if (uuid, metric) in each]
        if metric not in observation.metrics or not answers:
            continue
        checked += 1
        value, reason = observation.values[observation.metrics.index(metric)], observation.missing.get(metric)
        if all(answer.error for answer in answers):
            assert math.isnan(value)
            assert reason in {*(answer.error for answer in answers), "no_nvlink"}
        elif not any(answer.error for answer in answers):
            assert reason is None, reason
            if all(answer.value == answers[0].value for answer in answers):
                assert value == pytest.approx(answers[0].value, rel=1e-9)
    assert checked == len(run.handles) or (metric in PCIE_RATES and any(map(has_gpm, run.handles.values())))


def test_nothing_is_told_beside_what_is_checked_here(run: _Run) -> None:
    told = {metric for _, observation in run.observations() for metric in observation.metrics}

    assert told - {*FAST, *SLOW, *GPM, *PCIE_RATES} == _OF_EVENTS


def test_no_metric_is_told_twice_for_a_gpu(run: _Run) -> None:
    told = [(observation.entity, metric) for _, observation in run.observations() for metric in observation.metrics]

    assert len(told) == len(set(told))


def test_every_value_is_valid_in_the_catalogue(run: _Run) -> None:
    for _, observation in run.observations():
        for metric, value in zip(observation.metrics, observation.values, strict=True):
            entry = find(metric)
            assert entry is not None, metric
            assert math.isnan(value) or entry.valid_min <= value <= entry.valid_max, (metric, value)
            assert math.isnan(value) == (metric in observation.missing), metric


def test_performance_counters_are_told_where_the_gpu_has_them(run: _Run) -> None:
    for uuid, observation in run.observations():
        if "hw.gpu.sm.activity" not in observation.metrics:
            continue
        if not has_gpm(run.handles[uuid]):
            assert observation.missing["hw.gpu.sm.activity"] in {"not_supported", "function_not_found"}
            continue
        direct = _performance_counters(run.handles[uuid])
        for metric in GPM:
            value = observation.values[observation.metrics.index(metric)]
            assert math.isnan(value) == math.isnan(direct[metric]), metric


def _performance_counters(handle: Any) -> dict[str, float]:
    samples = [pynvml.nvmlGpmSampleAlloc() for _ in range(2)]
    try:
        for sample in samples:
            pynvml.nvmlGpmSampleGet(handle, sample)
            time.sleep(_ROUND_SECONDS)
        question = pynvml.c_nvmlGpmMetricsGet_t()
        question.version = pynvml.NVML_GPM_METRICS_GET_VERSION
        question.numMetrics = len(GPM)
        question.sample1, question.sample2 = samples
        for index, (identifier, _) in enumerate(GPM.values()):
            question.metrics[index].metricId = identifier
        answers = pynvml.nvmlGpmMetricsGet(question).metrics
        return {
            metric: math.nan if answers[index].nvmlReturn else answers[index].value * scale
            for index, (metric, (_, scale)) in enumerate(GPM.items())
        }
    finally:
        for sample in samples:
            pynvml.nvmlGpmSampleFree(sample)


def test_counters_do_not_fall_from_one_round_to_the_next(run: _Run) -> None:
    for rounds in (run.fast, run.slow):
        last: dict[tuple[str, str], float] = {}
        for collected in rounds:
            for observation in collected.observations:
                for metric, value in zip(observation.metrics, observation.values, strict=True):
                    entry = find(metric)
                    if entry is not None and entry.kind is MetricKind.COUNTER and not math.isnan(value):
                        assert value >= last.get((observation.entity, metric), 0.0), metric
                        last[observation.entity, metric] = value


def test_the_order_of_metrics_stays_the_same_from_one_round_to_the_next(run: _Run) -> None:
    for rounds in (run.fast, run.slow):
        shapes = [
            {o.entity: o.metrics for o in each.observations if o.entity.removeprefix("gpu:") in run.handles}
            for each in rounds
        ]
        assert shapes[0] == shapes[1] == shapes[2]
