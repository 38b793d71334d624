"""Programs that are measured in turns."""

from pathlib import Path

import pytest

from tests.bench.peers.collectd import values_in
from tests.bench.peers.floor import floor
from tests.bench.peers.slices import Slice, measure_in_turns
from tests.processes import wait_until


def test_costs_of_a_slice_are_shares_of_a_core_and_milliseconds_a_thousand_samples() -> None:
    part = Slice(seconds=5.0, cpu_seconds=0.025, samples=10_000.0)
    assert part.cpu_percent == pytest.approx(0.5)
    assert part.cpu_ms_per_1000_samples == pytest.approx(2.5)
    assert Slice(5.0, 0.025, 0.0).cpu_ms_per_1000_samples == float("inf")


def test_of_two_programs_one_stands_still_while_the_other_is_measured(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with floor(20, tmp_path / "one") as one, floor(20, tmp_path / "two") as two:
        slices = measure_in_turns({"one": one, "two": two}, rounds=2, warm_up_seconds=0.2, seconds=1.0)
        ticks = (one.ticks(), two.ticks())
        wait_until("both loops to go on afterwards", lambda: one.ticks() > ticks[0] and two.ticks() > ticks[1])
        metrics = one.series()
    assert metrics > 20
    for parts in slices.values():
        assert len(parts) == 2
        assert all(0 < part.samples <= 55 * part.seconds * metrics for part in parts)
        assert all(part.cpu_seconds > 0 for part in parts)
    # Had both run all the time, each would have done 4.8 seconds' ticks and more.
    assert max(ticks) < 50 * 4.0


def part(kind: int, content: bytes) -> bytes:
    return kind.to_bytes(2, "big") + (len(content) + 4).to_bytes(2, "big") + content


def test_values_of_a_collectd_packet_are_counted_by_name() -> None:
    # Host, plugin, type, values of two, then another type instance with one; numbers follow the count and its types.
    packet = (
        part(0x0000, b"node\0")
        + part(0x0002, b"interface\0")
        + part(0x0003, b"eth0\0")
        + part(0x0004, b"if_octets\0")
        + part(0x0006, (2).to_bytes(2, "big") + bytes(2) + bytes(16))
        + part(0x0004, b"if_errors\0")
        + part(0x0005, b"rx\0")
        + part(0x0006, (1).to_bytes(2, "big") + bytes(1) + bytes(8))
    )
    assert list(values_in(packet)) == [
        ((b"interface", b"eth0", b"if_octets", b""), 2),
        ((b"interface", b"eth0", b"if_errors", b"rx"), 1),
    ]


@pytest.mark.parametrize("packet", [b"", b"\0", part(0x0006, b""), b"\0\6\0\0", b"\0\6\xff\xff\0"])
def test_a_packet_that_is_cut_has_no_values(packet: bytes) -> None:
    assert list(values_in(packet)) == []
