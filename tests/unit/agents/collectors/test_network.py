"""Interface counters from /proc/net/dev."""

import math
from pathlib import Path

import pytest

from pulsetrain.agents.collectors.base import Notice, Roots
from pulsetrain.agents.collectors.network import NetworkReader, network_collector, parse_net_dev
from pulsetrain.agents.collectors.protocols import protocol_collectors

RECORDED = Path(__file__).parents[3] / "data/proc/epyc_vm"
HEADER = "Inter-| Receive | Transmit\n face |bytes packets | bytes packets\n"


def line(name: str, *columns: int) -> str:
    return f"  {name}: " + " ".join(map(str, columns)) + "\n"


ETH0 = line("eth0", 1000, 10, 1, 2, 0, 0, 0, 0, 2000, 20, 3, 4, 0, 0, 0, 0)
ETH1 = ETH0.replace("eth0", "eth1")
LOOPBACK = line("lo", *[7] * 16)


def values(interfaces: list[str], content: str) -> dict[str, float]:
    reader = NetworkReader(interfaces)
    return dict(zip(reader.layout(content.encode()), reader.values([content.encode()])[0], strict=True))


def test_the_recorded_adapter_gives_the_numbers_that_stand_in_the_file() -> None:
    collector = network_collector(Roots(RECORDED / "proc", RECORDED / "sys"))
    assert collector.is_supported().supported
    found = dict(zip(collector.metrics(), collector.decode([collector.read()])[0], strict=True))
    assert found["system.network.io{network.io.direction=receive}"] == 759_560_135
    assert found["system.network.packet.count{network.io.direction=transmit}"] == 24_169
    assert found["system.network.io{network.interface.name=eth0,network.io.direction=transmit}"] == 2_677_257
    assert not [metric for metric in found if "ifb0" in metric or "name=lo" in metric]


def test_adapters_are_summed_and_each_has_its_own_metrics() -> None:
    found = values(["eth0", "eth1"], HEADER + LOOPBACK + ETH0 + ETH1 + ETH0.replace("eth0", "br0"))
    assert found["system.network.io{network.io.direction=receive}"] == 2000
    assert found["system.network.errors{network.io.direction=transmit}"] == 6
    assert found["system.network.packet.dropped{network.interface.name=eth1,network.io.direction=receive}"] == 2
    assert found["system.network.packet.dropped{network.interface.name=eth1,network.io.direction=transmit}"] == 4
    assert len(found) == 3 * 8 + 1


def test_in_a_network_without_adapters_all_but_the_loopback_count() -> None:
    found = values([], HEADER + LOOPBACK + ETH0)
    assert found["system.network.io{network.io.direction=transmit}"] == 2000


def test_a_name_that_grows_into_its_first_number_is_still_read() -> None:
    interfaces, skipped = parse_net_dev((HEADER + ETH0.replace("eth0: ", "eth0:")).encode())
    assert interfaces[b"eth0"][0] == 1000
    assert skipped == 0


@pytest.mark.parametrize(
    "bad", ["eth9: 1 2 3\n", "eth9 1 2 3 4\n", line("eth9", *[1] * 15) + "x\n", "eth9: " + "x " * 16 + "\n"]
)
def test_a_line_of_another_form_is_skipped_and_counted(bad: str) -> None:
    interfaces, skipped = parse_net_dev((HEADER + bad + ETH0).encode())
    assert list(interfaces) == [b"eth0"]
    assert skipped == bad.count("\n")


def test_an_interface_that_goes_away_is_missing_and_so_are_the_sums_until_it_returns() -> None:
    reader = NetworkReader(["eth0", "eth1"])
    metrics = reader.layout((HEADER + ETH0 + ETH1).encode())
    found = dict(zip(metrics, reader.values([(HEADER + ETH0).encode()])[0], strict=True))
    assert math.isnan(found["system.network.io{network.io.direction=receive}"])
    assert math.isnan(found["system.network.io{network.interface.name=eth1,network.io.direction=receive}"])
    assert found["system.network.io{network.interface.name=eth0,network.io.direction=receive}"] == 1000
    assert reader.values([(HEADER + ETH0 + ETH1).encode()])[0][0] == 2000


def test_an_interface_that_comes_later_does_not_make_the_sums_jump() -> None:
    for adapters in ([], ["eth0", "eth1"]):
        reader = NetworkReader(adapters)
        reader.layout((HEADER + ETH0).encode())
        assert reader.values([(HEADER + ETH0 + ETH1).encode()])[0][0] == 1000


def test_a_file_of_another_network_than_that_of_the_adapters_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "sys/class/net/ib0/device").mkdir(parents=True)
    (tmp_path / "proc/1/net").mkdir(parents=True)
    (tmp_path / "proc/1/net/dev").write_text(HEADER + ETH0)
    support = network_collector(Roots(tmp_path / "proc", tmp_path / "sys")).is_supported()
    assert not support.supported
    assert support.reason.endswith("none of the adapters ib0 is in it")


def test_where_proc_is_elsewhere_the_network_is_that_of_its_first_process() -> None:
    elsewhere = Roots(Path("/host/proc"), Path("/host/sys"))
    sources = [collector.source for collector in (network_collector(elsewhere), *protocol_collectors(elsewhere))]
    assert sources == ["/host/proc/1/net/dev", "/host/proc/1/net/snmp", "/host/proc/1/net/netstat"]
    assert network_collector(Roots()).source == "/proc/net/dev"


def test_a_name_with_characters_of_the_metric_syntax_is_encoded() -> None:
    found = values(["a,b"], HEADER + ETH0.replace("eth0", "a,b"))
    assert found["system.network.io{network.interface.name=a%2Cb,network.io.direction=receive}"] == 1000


def test_of_very_many_interfaces_all_are_summed_and_that_some_have_no_metrics_of_their_own_is_told() -> None:
    names = [f"eth{number:02d}" for number in range(40)]
    told: list[Notice] = []
    reader = NetworkReader(names, told.append)
    content = "".join(["header\n", "header\n", *(line(name, *[1] * 16) for name in names)]).encode()
    found = dict(zip(reader.layout(content), reader.values([content])[0], strict=True))
    assert found["system.network.io{network.io.direction=receive}"] == 40
    assert sum("network.interface.name" in metric for metric in found) == 32 * 8
    assert [notice.message for notice in told] == [
        "This node has 40 network interfaces: only the first 32 have metrics of their own."
    ]
