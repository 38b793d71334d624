"""Idle states; the files of two CPUs of a virtual machine with Linux 6.18 were recorded, the others have their form."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.cpuidle import IdleStateCollector, evenly_spread, mean_growth
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas import catalogue

RECORDED = Path(__file__).parents[3] / "data/sys/cpuidle_vm"
C6_TIME = "system.linux.cpu.idle.residency{linux.cpu.idle.state=C6}"
C6_ENTRIES = "system.linux.cpu.idle.entries{linux.cpu.idle.state=C6}"


def write(root: Path, cpu: int, microseconds: int, entries: int) -> Path:
    folder = root / f"devices/system/cpu/cpu{cpu}/cpuidle/state3"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text("C6\n")
    (folder / "time").write_text(f"{microseconds}\n")
    (folder / "usage").write_text(f"{entries}\n")
    return folder


def values(collector: IdleStateCollector) -> dict[str, float]:
    return dict(zip(collector.metrics(), collector.decode([collector.read()])[0], strict=True))


def test_recorded_states_keep_their_names(tmp_path: Path) -> None:
    shutil.copytree(RECORDED, tmp_path, dirs_exist_ok=True)
    collector = IdleStateCollector(Roots(tmp_path, tmp_path))
    assert collector.is_supported().supported
    states = tmp_path / "devices/system/cpu"
    # CPU 0 idled 11 s more with 30 entries, CPU 1 9 s with 10: 10 s and 20 entries in the mean.
    (states / "cpu0/cpuidle/state1/time").write_text(f"{13_636_948_071 + 11_000_000}\n")
    (states / "cpu0/cpuidle/state1/usage").write_text(f"{3_954_043 + 30}\n")
    (states / "cpu1/cpuidle/state1/time").write_text(f"{11_475_474_286 + 9_000_000}\n")
    (states / "cpu1/cpuidle/state1/usage").write_text(f"{4_632_546 + 10}\n")
    found = values(collector)
    assert found == {
        "system.linux.cpu.idle.residency{linux.cpu.idle.state=POLL}": 0,
        "system.linux.cpu.idle.entries{linux.cpu.idle.state=POLL}": 0,
        "system.linux.cpu.idle.residency{linux.cpu.idle.state=haltpoll%20idle}": pytest.approx(10.0),
        "system.linux.cpu.idle.entries{linux.cpu.idle.state=haltpoll%20idle}": 20,
    }
    for metric in found:
        entry = catalogue.find(metric)
        assert entry is not None
        assert entry.kind == catalogue.MetricKind.COUNTER
    collector.close()


def test_a_cpu_that_goes_offline_does_not_make_the_mean_jump(tmp_path: Path) -> None:
    for cpu in range(2):
        write(tmp_path, cpu, 1_000_000 * (cpu + 1), 10)
    collector = IdleStateCollector(Roots(tmp_path, tmp_path))
    collector.is_supported()
    assert values(collector) == {C6_TIME: 0, C6_ENTRIES: 0}
    write(tmp_path, 0, 1_500_000, 12)
    (tmp_path / "devices/system/cpu/cpu1/cpuidle/state3/time").write_text("")
    assert values(collector) == {C6_TIME: pytest.approx(0.5), C6_ENTRIES: 2}
    write(tmp_path, 1, 9_000_000, 99)
    write(tmp_path, 0, 2_000_000, 13)
    assert values(collector) == {C6_TIME: pytest.approx(1.0), C6_ENTRIES: 3}
    for cpu in range(2):
        (tmp_path / f"devices/system/cpu/cpu{cpu}/cpuidle/state3/time").write_text("")
    with pytest.raises(CollectError, match="any more"):
        values(collector)


def test_a_few_cpus_of_a_large_machine_are_asked(tmp_path: Path) -> None:
    folders = [Path(f"cpu{cpu}") for cpu in range(256)]
    assert list(evenly_spread(folders, 16)) == folders[::16]
    assert list(evenly_spread(folders[:3], 16)) == folders[:3]
    assert list(evenly_spread([], 16)) == []


@given(st.lists(st.tuples(st.integers(0, 2**63), st.integers(0, 2**63), st.booleans()), max_size=8))
def test_growth_is_never_negative_whatever_the_counters_do(cpus: list[tuple[int, int, bool]]) -> None:
    before = [{"C6": (float(was), 0.0)} for was, _, _ in cpus]
    now = [{"C6": (float(is_now), 1.0)} if answers else {} for _, is_now, answers in cpus]
    for time, entries in mean_growth(before, now).values():
        assert time >= 0
        assert entries == 1


def test_a_machine_without_idle_states_does_not_support_the_collector(tmp_path: Path) -> None:
    support = IdleStateCollector(Roots(tmp_path, tmp_path)).is_supported()
    assert not support.supported
    assert "no idle states" in support.reason
