"""Ports of InfiniBand adapters; files in the form of Documentation/ABI/stable/sysfs-class-infiniband."""

import math
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.infiniband import InfinibandCollector
from pulsetrain.agents.collectors.infiniband_counters import COUNTERS
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas import catalogue

SECOND = 1_000_000_000


def port(tmp_path: Path, device: str, **files: str) -> Path:
    folder = tmp_path / f"class/infiniband/{device}/ports/1"
    (folder / "counters").mkdir(parents=True)
    (folder / "hw_counters").mkdir()
    for name, text in files.items():
        (folder / name.replace("__", "/")).write_text(f"{text}\n")
    return folder


def two_ports(tmp_path: Path) -> tuple[Path, Path]:
    first = port(
        tmp_path,
        "mlx5_0",
        state="4: ACTIVE",
        rate="400 Gb/sec (4X NDR)",
        counters__port_rcv_data="1000",
        counters__port_xmit_data="2000",
        counters__port_xmit_wait="77",
        counters__symbol_error="3",
        counters__link_downed="1",
        hw_counters__out_of_sequence="5",
        hw_counters__np_cnp_sent="6",
    )
    second = port(
        tmp_path,
        "mlx5_1",
        state="1: DOWN",
        rate="2.5 Gb/sec (1X SDR)",
        counters__port_rcv_data="10",
        counters__port_xmit_data="20",
    )
    return first, second


def values(collector: InfinibandCollector, time_ns: int = 0) -> dict[str, float]:
    (observation,) = collector.collect(time_ns).observations
    assert observation.entity == "host"
    return dict(zip(observation.metrics, observation.values, strict=True))


def open_files(folder: Path) -> int:
    """How many files below the folder this process has open."""
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            links.append(str(descriptor.readlink()))
    return sum(link.startswith(str(folder)) for link in links)


def test_ports_are_in_bytes_and_have_their_sums(tmp_path: Path) -> None:
    two_ports(tmp_path)
    collector = InfinibandCollector(Roots(tmp_path, tmp_path))
    assert collector.is_supported().supported
    found = values(collector)
    # Data is counted in units of four bytes; 400 Gb/s are 50 GB/s.
    assert found["hw.network.io{hw.id=mlx5_0:1,hw.type=network,network.io.direction=receive}"] == 4000
    assert found["hw.network.io{hw.type=network,network.io.direction=receive}"] == 4040
    assert found["hw.network.io{hw.type=network,network.io.direction=transmit}"] == 8080
    assert found["hw.network.up{hw.id=mlx5_0:1,hw.type=network}"] == 1
    assert found["hw.network.up{hw.id=mlx5_1:1,hw.type=network}"] == 0
    assert found["hw.network.up{hw.type=network}"] == 0.5
    assert found["hw.network.bandwidth.limit{hw.id=mlx5_0:1,hw.type=network}"] == 50e9
    assert found["hw.network.bandwidth.limit{hw.type=network}"] == 50e9 + 0.3125e9
    assert found["hw.network.transmit_wait{hw.type=network}"] == 77
    assert found["hw.errors{error.type=symbol,hw.id=mlx5_0:1,hw.type=network}"] == 3
    assert found["hw.network.link.events{hw.network.link.event=downed,hw.type=network}"] == 1
    assert found["hw.network.transport.events{hw.network.transport.event=out_of_sequence,hw.type=network}"] == 5
    assert found["hw.network.congestion.events{hw.network.congestion.event=notification_sent,hw.type=network}"] == 6
    assert not [metric for metric in found if "symbol" in metric and "mlx5_1" in metric]
    for metric, value in found.items():
        entry = catalogue.find(metric)
        assert entry is not None, metric
        assert entry.valid_min <= value <= entry.valid_max


def test_every_counter_is_in_the_catalogue_and_no_two_are_the_same() -> None:
    metrics = [counter.metric("mlx5_0:1") for counter in COUNTERS.values()]
    assert len(set(metrics)) == len(metrics)
    names = {counter.name for counter in COUNTERS.values()} | {"hw.network.up", "hw.network.bandwidth.limit"}
    assert names == set(InfinibandCollector.metric_names)
    for name in names:
        assert catalogue.find(name) is not None, name


def test_a_counter_that_cannot_be_read_is_missing_and_so_is_its_sum(tmp_path: Path) -> None:
    first, _ = two_ports(tmp_path)
    collector = InfinibandCollector(Roots(tmp_path, tmp_path))
    values(collector)
    (first / "counters/port_rcv_data").write_text("N/A (no PMA)\n")
    (first / "rate").write_text("unknown\n")
    (observation,) = collector.collect(SECOND).observations
    found = dict(zip(observation.metrics, observation.values, strict=True))
    own = "hw.network.io{hw.id=mlx5_0:1,hw.type=network,network.io.direction=receive}"
    assert math.isnan(found[own])
    assert math.isnan(found["hw.network.io{hw.type=network,network.io.direction=receive}"])
    assert math.isnan(found["hw.network.bandwidth.limit{hw.id=mlx5_0:1,hw.type=network}"])
    assert "no PMA" in observation.missing[own]
    assert found["hw.network.io{hw.type=network,network.io.direction=transmit}"] == 8080


def test_a_counter_that_a_port_has_in_name_only_is_absent_and_does_not_take_the_sum_away(tmp_path: Path) -> None:
    _, second = two_ports(tmp_path)
    (second / "counters/port_rcv_data").write_text("N/A (no PMA)\n")
    found = values(InfinibandCollector(Roots(tmp_path, tmp_path)))
    assert found["hw.network.io{hw.type=network,network.io.direction=receive}"] == 4000
    assert "hw.network.io{hw.id=mlx5_1:1,hw.type=network,network.io.direction=receive}" not in found


def test_a_port_that_comes_later_is_seen_within_half_a_minute(tmp_path: Path) -> None:
    two_ports(tmp_path)
    collector = InfinibandCollector(Roots(tmp_path, tmp_path))
    values(collector)
    port(tmp_path, "mlx5_2", state="4: ACTIVE")
    assert "hw.network.up{hw.id=mlx5_2:1,hw.type=network}" not in values(collector, SECOND)
    assert values(collector, 30 * SECOND)["hw.network.up{hw.id=mlx5_2:1,hw.type=network}"] == 1


def test_without_adapters_the_collector_is_not_supported(tmp_path: Path) -> None:
    assert "no InfiniBand" in InfinibandCollector(Roots(tmp_path, tmp_path)).is_supported().reason


def test_when_all_adapters_go_the_collector_fails_and_their_files_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_ports(tmp_path)
    collector = InfinibandCollector(Roots(tmp_path, tmp_path))
    values(collector)
    assert open_files(tmp_path) == 13
    shutil.rmtree(tmp_path / "class")
    # What the kernel answers on an open file of a device that was removed.
    with monkeypatch.context() as patch:
        patch.setattr("os.pread", lambda *_: (_ for _ in ()).throw(OSError(19, "No such device")))
        with pytest.raises(CollectError, match="No such device"):
            collector.collect(SECOND)
    with pytest.raises(CollectError, match="no port left"):
        collector.collect(60 * SECOND)
    assert open_files(tmp_path) == 0
    collector.close()


def test_of_more_ports_than_are_read_the_first_by_number_are_and_that_is_told_once(tmp_path: Path) -> None:
    for number in range(40):
        port(tmp_path, f"mlx5_{number}", state="4: ACTIVE")
    collector = InfinibandCollector(Roots(tmp_path, tmp_path))
    first, *later = (collector.collect(minute * 60 * SECOND) for minute in range(3))
    (observation,) = first.observations
    assert set(observation.metrics) == {
        "hw.network.up{hw.type=network}",
        *(f"hw.network.up{{hw.id=mlx5_{number}:1,hw.type=network}}" for number in range(32)),
    }
    assert [(notice.message, notice.details["collector"]) for notice in first.notices] == [
        ("This node has 40 InfiniBand and RoCE ports: only the first 32 are read.", "infiniband")
    ]
    assert [collected.notices for collected in later] == [[], []]
    collector.close()
