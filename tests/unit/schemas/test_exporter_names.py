"""Names of other exporters: each has a metric of the catalogue behind it, and no two quietly become one."""

from collections import Counter

import pytest

from pulsetrain.agents.collectors.nvml.gpm import GPM_METRICS
from pulsetrain.schemas.catalogue import canonical_name, find
from pulsetrain.schemas.catalogue.exporters import SOURCE_NAMES

DEFAULT_COUNTERS = (
    "SM_CLOCK MEM_CLOCK MEMORY_TEMP GPU_TEMP POWER_USAGE TOTAL_ENERGY_CONSUMPTION PCIE_REPLAY_COUNTER GPU_UTIL "
    "MEM_COPY_UTIL ENC_UTIL DEC_UTIL FB_FREE FB_USED UNCORRECTABLE_REMAPPED_ROWS CORRECTABLE_REMAPPED_ROWS "
    "ROW_REMAP_FAILURE"
)
"""What dcgm-exporter asks for by default, but for codes, counts without a unit and the state of a licence."""

LABELS = {
    "device": "sda",
    "cpu": "0",
    "mode": "user",
    "failure_type": "pgfault",
    "scope": "container",
    "index": "0",
    "chip": "c",
    "sensor": "s",
}


def test_every_name_stands_for_a_metric_of_the_catalogue() -> None:
    unknown = {name.name for names in SOURCE_NAMES.values() for name in names if find(name.name) is None}
    assert unknown == set()


@pytest.mark.parametrize("field", DEFAULT_COUNTERS.split())
def test_dcgm_exporters_default_fields_have_a_name(field: str) -> None:
    assert canonical_name(f"DCGM_FI_DEV_{field}") is not None


@pytest.mark.parametrize(
    ("field", "metric"),
    [
        ("TENSOR", "hw.gpu.tensor.activity"),
        ("FP64", "hw.gpu.pipe.activity{hw.gpu.pipe=fp64}"),
        ("FP32", "hw.gpu.pipe.activity{hw.gpu.pipe=fp32}"),
        ("FP16", "hw.gpu.pipe.activity{hw.gpu.pipe=fp16}"),
        ("INT", "hw.gpu.pipe.activity{hw.gpu.pipe=integer}"),
        ("TENSOR_DFMA", "hw.gpu.pipe.activity{hw.gpu.pipe=tensor_fp64}"),
        ("TENSOR_HMMA", "hw.gpu.pipe.activity{hw.gpu.pipe=tensor_fp16}"),
        ("TENSOR_IMMA", "hw.gpu.pipe.activity{hw.gpu.pipe=tensor_integer}"),
    ],
)
def test_every_arithmetic_pipe_of_dcgm_is_called_as_from_nvml(field: str, metric: str) -> None:
    """Fields 1004, 1006 to 1008 and 1013 to 1016 of dcgm_fields.h, all of them ratios."""
    name = canonical_name(f"DCGM_FI_PROF_PIPE_{field}_ACTIVE")
    assert name is not None
    assert (name.metric, name.scale) == (metric, 1.0)
    assert metric in GPM_METRICS


def test_two_names_of_one_exporter_become_one_metric_only_as_parts_of_a_sum() -> None:
    exporters = ("DCGM_", "container_", "node_", "nv_inference", "nv_")
    for exporter in exporters:
        found = [
            (name.metric_of(LABELS), name.is_sum)
            for source, names in SOURCE_NAMES.items()
            if source.startswith(exporter) and not (exporter == "nv_" and "per_model" in source)
            for name in names
        ]
        counts = Counter(metric for metric, _ in found)
        assert [metric for metric, is_sum in found if counts[metric] > 1 and not is_sum] == []


def test_labels_become_attributes_and_their_values_are_spelled_as_here() -> None:
    name = canonical_name("node_cpu_seconds_total", {"cpu": "3", "mode": "irq"})
    assert name is not None
    assert name.is_sum
    assert name.metric_of({"cpu": "3", "mode": "irq"}) == "system.cpu.time{cpu.mode=interrupt}"
    assert name.metric_of({"cpu": "3", "mode": "user"}) == "system.cpu.time{cpu.mode=user}"


def test_a_series_without_the_label_that_names_it_has_no_name() -> None:
    assert canonical_name("node_cpu_seconds_total", {"cpu": "3"}) is None
    assert canonical_name("node_disk_read_bytes_total") is None


@pytest.mark.parametrize(
    ("device", "is_meant"),
    [
        ("sda", True), ("sda1", False), ("nvme0n1", True), ("nvme0n1p2", False), ("mmcblk0", True),
        ("mmcblk0p1", False), ("vda", True), ("xvda1", False), ("dm-0", False), ("md0", False), ("loop3", False),
    ],
)  # fmt: skip
def test_parts_of_a_disk_and_what_stands_on_top_are_not_counted_again(device: str, is_meant: bool) -> None:
    assert (canonical_name("node_disk_read_bytes_total", {"device": device}) is not None) == is_meant


@pytest.mark.parametrize(
    ("device", "is_meant"),
    [
        ("eth0", True), ("enp5s0f0", True), ("ib0", True), ("bond0", True), ("lo", False), ("veth12ab", False),
        ("cali0123", False), ("docker0", False), ("br-1234", False), ("cilium_host", False),
    ],
)  # fmt: skip
def test_bridges_tunnels_and_containers_are_no_adapters(device: str, is_meant: bool) -> None:
    assert (canonical_name("node_network_receive_bytes_total", {"device": device}) is not None) == is_meant


def test_a_fault_is_told_by_two_labels() -> None:
    def metric(**labels: str) -> str | None:
        name = canonical_name("container_memory_failures_total", labels)
        return None if name is None else name.metric_of(labels)

    assert metric(failure_type="pgfault", scope="container") == "container.memory.paging.faults"
    assert (
        metric(failure_type="pgmajfault", scope="container")
        == "container.memory.paging.faults{system.paging.fault.type=major}"
    )
    assert metric(failure_type="pgfault", scope="hierarchy") is None


def test_a_limit_whose_zero_says_that_there_is_none_is_no_metric() -> None:
    assert canonical_name("container_threads_max") is None


def test_the_code_of_an_xid_is_no_metric() -> None:
    assert canonical_name("DCGM_FI_DEV_XID_ERRORS") is None
