"""The other files of /proc, against numbers read off the recorded text by eye."""

from pathlib import Path
from typing import Any

import pytest

from pulsetrain.agents.collector_list import scheduled_collectors
from pulsetrain.agents.collectors.base import Collector, Roots
from pulsetrain.agents.collectors.frequency import CpufreqCollector, frequency_collector, split_cpuinfo
from pulsetrain.agents.collectors.pressure import pressure_collectors
from pulsetrain.agents.errors import CollectError
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.schemas import catalogue
from pulsetrain.schemas.catalogue.host import AGENT_METRICS, HOST_METRICS
from pulsetrain.schemas.catalogue.power import CLOCK_METRICS

RECORDED = Path(__file__).parents[3] / "data/proc/epyc_vm"
ROOTS = Roots(RECORDED / "proc", RECORDED / "sys")
KIB = 1024
ABSENT = ("rapl", "pressure_irq", "thermal_throttle", "cpuidle", "clock")
"""What the recorded machine has not, and what a test's surroundings may forbid."""


def recorded(name: str) -> dict[str, float]:
    collectors = [one.collector for one in scheduled_collectors(ROOTS, RunStats(), 1000)]
    collector = next(one for one in collectors if one.name == name)
    return read(collector)


def read(collector: Collector[Any]) -> dict[str, float]:
    support = collector.is_supported()
    assert support.supported, support.reason
    return dict(zip(collector.metrics(), collector.decode([collector.read()])[0], strict=True))


def test_memory_is_in_bytes_and_used_is_what_is_left() -> None:
    memory = recorded("memory")
    assert memory["system.memory.limit"] == 24_684_084 * KIB
    assert memory["system.linux.memory.available"] == 23_734_476 * KIB
    # cached = Cached + SReclaimable, used = MemTotal - MemFree - Buffers - cached
    assert memory["system.memory.usage{system.memory.state=cached}"] == (873_864 + 118_096) * KIB
    used = 24_684_084 - 23_016_128 - 5_584 - 873_864 - 118_096
    assert memory["system.memory.usage{system.memory.state=used}"] == used * KIB
    assert memory["system.memory.utilization{system.memory.state=used}"] == pytest.approx(used / 24_684_084)
    assert memory["system.paging.usage{system.paging.state=used}"] == 0
    assert memory["system.linux.memory.hugepages.count{linux.memory.hugepages.state=total}"] == 0


def test_paging_counters_are_as_they_stand_and_zones_are_summed() -> None:
    paging = recorded("paging")
    assert paging["system.paging.faults"] == 16_153_378
    assert paging["system.paging.faults{system.paging.fault.type=major}"] == 4_722
    assert paging["system.linux.paging.io{disk.io.direction=read}"] == 3_849_405 * KIB
    assert paging["system.linux.memory.pages{linux.memory.event=allocated}"] == 17_841_896
    assert paging["system.linux.memory.allocation_stalls"] == 0
    assert paging["system.linux.memory.numa.allocations{linux.memory.numa.result=hit}"] == 16_402_317


def test_pressure_is_a_share_and_seconds() -> None:
    cpu, io = recorded("pressure_cpu"), recorded("pressure_io")
    some_cpu = "{linux.pressure.resource=cpu,linux.pressure.stall=some}"
    full_io = "{linux.pressure.resource=io,linux.pressure.stall=full}"
    assert cpu[f"system.linux.pressure.share{some_cpu}"] == pytest.approx(0.922)
    assert cpu[f"system.linux.pressure.stall_time{some_cpu}"] == pytest.approx(558.556342)
    assert io[f"system.linux.pressure.stall_time{full_io}"] == pytest.approx(5.845137)


def test_load_is_three_averages_and_the_number_of_threads() -> None:
    assert recorded("load") == {
        "system.cpu.load_average.1m": 4.90,
        "system.cpu.load_average.5m": 4.04,
        "system.cpu.load_average.15m": 2.57,
        "system.linux.thread.count": 146,
    }


def test_protocol_counters_are_found_by_the_names_in_the_line_before() -> None:
    protocols = recorded("protocols")
    assert protocols["system.network.tcp.segments{network.io.direction=receive}"] == 130_872
    assert protocols["system.network.tcp.segments{network.io.direction=transmit}"] == 121_739
    assert protocols["system.network.tcp.retransmits"] == 133
    assert protocols["system.network.tcp.connections{network.connection.event=reset}"] == 169
    assert protocols["system.network.udp.datagrams{network.io.direction=transmit}"] == 1_858
    assert "system.network.tcp.events{network.tcp.event=timeout}" in recorded("tcp")


def test_without_cpufreq_the_clock_comes_from_cpuinfo() -> None:
    assert recorded("frequency") == {"system.cpu.frequency": pytest.approx(2_596_126_000.0)}


def test_with_cpufreq_a_few_cpus_spread_over_the_machine_are_asked(tmp_path: Path) -> None:
    for cpu in range(10):
        folder = tmp_path / f"devices/system/cpu/cpu{cpu}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(f"{1_000_000 + 100_000 * cpu}\n")
    collector = frequency_collector(Roots(tmp_path, tmp_path))
    assert isinstance(collector, CpufreqCollector)
    # Every third: CPUs 0, 3, 6 and 9 with 1.0, 1.3, 1.6 and 1.9 GHz.
    assert read(collector) == {"system.cpu.frequency": pytest.approx(1.45e9)}


def test_a_cpu_that_does_not_tell_its_clock_is_left_out_of_the_mean(tmp_path: Path) -> None:
    files = [tmp_path / f"devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq" for cpu in range(4)]
    for cpu, file in enumerate(files):
        file.parent.mkdir(parents=True)
        file.write_text(f"{1_000_000 + 100_000 * cpu}\n")
    collector = CpufreqCollector(Roots(tmp_path, tmp_path))
    files[0].unlink()
    files[1].write_text("<unknown>\n")
    # 1.2 and 1.3 GHz are left.
    assert read(collector) == {"system.cpu.frequency": pytest.approx(1.25e9)}
    collector.close()
    for file in files[1:]:
        file.unlink()
    with pytest.raises(CollectError, match="No such file"):
        collector.read()


def test_a_clock_line_cut_off_at_the_end_of_the_page_is_not_read() -> None:
    whole = b"processor\t: 0\ncpu MHz\t\t: 2000.000\ncache size\t: 1 KB\nprocessor\t: 1\ncpu MHz\t\t: 3"
    assert split_cpuinfo(whole) == ((b"mean MHz",), [b"2000.000000"])
    assert split_cpuinfo(b"processor\t: 0\nBogoMIPS\t: 100.00\n") == ((), [])


def test_a_kernel_without_pressure_information_does_not_support_it(tmp_path: Path) -> None:
    for collector in pressure_collectors(Roots(tmp_path, tmp_path)):
        support = collector.is_supported()
        assert not support.supported
        assert "No such file" in support.reason


def test_a_pressure_file_of_another_form_is_not_supported(tmp_path: Path) -> None:
    (tmp_path / "pressure").mkdir()
    (tmp_path / "pressure/cpu").write_text("some avg10=1.00\n")
    support = pressure_collectors(Roots(tmp_path, tmp_path))[0].is_supported()
    assert not support.supported


def read_all() -> list[tuple[str, float]]:
    """Every metric of the recorded machine; the clock is this machine's."""
    found: list[tuple[str, float]] = []
    for collector in [one.collector for one in scheduled_collectors(ROOTS, RunStats(), 1000)]:
        if collector.name in ABSENT and not collector.is_supported().supported:
            continue
        found += read(collector).items()
    return found


def test_every_metric_is_in_the_catalogue_and_its_recorded_value_in_the_valid_range() -> None:
    values = dict(read_all())
    assert len(values) >= 100
    for metric, value in values.items():
        entry = catalogue.find(metric)
        assert entry is not None, metric
        assert not value < entry.valid_min, metric
        assert not value > entry.valid_max, metric


def test_no_two_collectors_have_a_metric_in_common() -> None:
    names = [metric for metric, _ in read_all()]
    assert len(names) == len(set(names))


def test_every_host_metric_of_the_catalogue_has_a_collector() -> None:
    collected = {catalogue.metric_name(metric) for metric, _ in read_all()}
    assert collected >= {metric.name for metric in (*HOST_METRICS, *AGENT_METRICS)}
    assert collected <= {metric.name for metric in (*HOST_METRICS, *AGENT_METRICS, *CLOCK_METRICS)}
