"""Containers from control groups.

The files of version 1 were recorded on a machine with Linux 6.18 from a group under docker/ with a quota of 0.2 CPUs
and 64 MiB, in which a loop ran for 4 s after 40 MiB had been written to a file. Those of version 2 are written in the
form of Documentation/admin-guide/cgroup-v2.rst.
"""

import math
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from pulsetrain.agents.collectors import cgroup
from pulsetrain.agents.collectors.base import Observation, Roots
from pulsetrain.agents.collectors.cgroup import ControlGroupCollector, most_containers
from pulsetrain.agents.collectors.cgroup_files import split_blkio, split_io_stat
from pulsetrain.agents.collectors.cgroup_limits import GroupLimits, Limits, machine_limits
from pulsetrain.agents.collectors.cgroup_tree import Hierarchy, container_entity, find_containers, own_path
from pulsetrain.schemas import catalogue

VERSION_1 = Path(__file__).parents[3] / "data/sys/cgroup_v1"
GIB = 1024**3
SECOND = 1_000_000_000
MACHINE = Limits(64.0 * GIB, 16.0)
ID = "4f7ac0ffee11" + "0" * 52
POD = f"/kubepods.slice/kubepods-pod0e1c.slice/cri-containerd-{ID}.scope"
CPU_STAT = """\
usage_usec 12500000
user_usec 10000000
system_usec 2500000
nr_periods 600
nr_throttled 150
throttled_usec 7250000
nr_bursts 0
burst_usec 0
"""
MEMORY_STAT = """\
anon 2147483648
file 1879048192
inactive_file 1073741824
active_file 805306368
pgfault 8000
pgmajfault 12
"""
PRESSURE = (
    "some avg10=1.00 avg60=2.00 avg300=3.00 total=4000000\nfull avg10=0.50 avg60=1.00 avg300=1.50 total=1500000\n"
)
FILES = {
    "cpu.stat": CPU_STAT,
    "cpu.max": "200000 100000\n",
    "memory.current": "4294967296\n",
    "memory.max": "8589934592\n",
    "memory.stat": MEMORY_STAT,
    "memory.events": "low 0\nhigh 3\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n",
    "pids.current": "42\n",
    "pids.max": "max\n",
    "io.stat": "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n253:0 rbytes=9 wbytes=9 rios=9 wios=9\n",
    "cpu.pressure": PRESSURE,
    "memory.pressure": PRESSURE.replace("1500000", "900000"),
    "io.pressure": PRESSURE,
}

UNLIMITED = {"memory.max": "max\n", "cpu.max": "max 100000\n"}


def node(tmp_path: Path, groups: Mapping[str, Mapping[str, str]], own: str = "0::/\n") -> Roots:
    """A machine with version 2, one disk 8:0, and the given files by group."""
    top = tmp_path / "sys/fs/cgroup"
    top.mkdir(parents=True)
    (top / "cgroup.controllers").write_text("cpu io memory pids\n")
    for path, files in groups.items():
        folder = top / path.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
    (tmp_path / "sys/block/sda/device").mkdir(parents=True)
    (tmp_path / "sys/block/sda/dev").write_text("8:0\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(own)
    (tmp_path / "proc/meminfo").write_text("MemTotal:       67108864 kB\nMemFree:        33554432 kB\n")
    return Roots(tmp_path / "proc", tmp_path / "sys")


def observed(collector: ControlGroupCollector, time_ns: int = 0) -> dict[str, Observation]:
    return {observation.entity: observation for observation in collector.collect(time_ns).observations}


def supported(roots: Roots, machine: Limits = MACHINE) -> ControlGroupCollector:
    collector = ControlGroupCollector(roots, machine=machine)
    assert collector.is_supported().supported
    return collector


def values(observation: Observation) -> dict[str, float]:
    return dict(zip(observation.metrics, observation.values, strict=True))


def test_a_recorded_group_of_version_1_gives_the_numbers_that_stand_in_its_files() -> None:
    collector = supported(Roots(VERSION_1 / "proc", VERSION_1 / "sys"))
    found = values(observed(collector)["container:3f4e8a1b6c2d"])
    collector.close()
    assert found["container.cpu.time"] == pytest.approx(0.851126806)
    assert found["container.cpu.time{cpu.mode=user}"] == pytest.approx(0.81)
    assert found["container.cpu.limit"] == pytest.approx(0.2)
    assert found["container.cpu.throttled.periods"] == 42
    assert found["container.cpu.throttled.time"] == pytest.approx(3.33747484)
    assert found["container.memory.limit"] == 64 * 1024**2
    assert found["container.memory.usage"] == 43_532_288
    assert found["container.memory.working_set"] == 43_532_288 - 41_943_040
    assert found["container.memory.rss"] == 110_592
    assert found["container.task.count"] == 2
    assert found["container.task.limit"] == 64


def test_a_group_of_version_2_is_in_seconds_bytes_and_shares_of_its_limits(tmp_path: Path) -> None:
    found = values(observed(supported(node(tmp_path, {POD: FILES})))["container:4f7ac0ffee11"])
    assert found == {
        "container.cpu.time": 12.5,
        "container.cpu.time{cpu.mode=user}": 10.0,
        "container.cpu.time{cpu.mode=system}": 2.5,
        "container.cpu.periods": 600,
        "container.cpu.throttled.periods": 150,
        "container.cpu.throttled.time": pytest.approx(7.25),
        "container.cpu.limit": 2.0,
        "container.memory.limit": 8 * GIB,
        "container.memory.usage": 4 * GIB,
        "container.memory.utilization": 0.5,
        "container.memory.working_set": 3 * GIB,
        "container.memory.working_set.utilization": 0.375,
        "container.memory.rss": 2 * GIB,
        "container.memory.cache": 1.75 * GIB,
        "container.memory.cache{linux.memory.lru=inactive_file}": GIB,
        "container.memory.paging.faults": 8000,
        "container.memory.paging.faults{system.paging.fault.type=major}": 12,
        "container.memory.events{container.memory.event=high}": 3,
        "container.memory.events{container.memory.event=max}": 7,
        "container.memory.events{container.memory.event=oom}": 2,
        "container.memory.events{container.memory.event=oom_kill}": 1,
        "container.disk.io{disk.io.direction=read}": 4096,
        "container.disk.io{disk.io.direction=write}": 8192,
        "container.disk.operations{disk.io.direction=read}": 1,
        "container.disk.operations{disk.io.direction=write}": 2,
        "container.task.count": 42,
        "container.pressure.stall_time{linux.pressure.resource=cpu,linux.pressure.stall=some}": 4.0,
        "container.pressure.stall_time{linux.pressure.resource=cpu,linux.pressure.stall=full}": 1.5,
        "container.pressure.stall_time{linux.pressure.resource=memory,linux.pressure.stall=some}": 4.0,
        "container.pressure.stall_time{linux.pressure.resource=memory,linux.pressure.stall=full}": pytest.approx(0.9),
        "container.pressure.stall_time{linux.pressure.resource=io,linux.pressure.stall=some}": 4.0,
        "container.pressure.stall_time{linux.pressure.resource=io,linux.pressure.stall=full}": 1.5,
    }
    for metric, value in found.items():
        entry = catalogue.find(metric)
        assert entry is not None, metric
        assert entry.valid_min <= value <= entry.valid_max, metric


def test_a_collector_announces_what_it_brings_and_nothing_else(tmp_path: Path) -> None:
    version_1 = supported(Roots(VERSION_1 / "proc", VERSION_1 / "sys"))
    version_2 = supported(node(tmp_path, {POD: FILES}))
    brought = [metric for each in (version_1, version_2) for one in observed(each).values() for metric in one.metrics]
    assert {catalogue.metric_name(metric) for metric in brought} == set(ControlGroupCollector.metric_names)


@pytest.mark.parametrize(
    ("limit", "in_bytes", "share"),
    [("8589934592", 8 * GIB, 0.5), ("max", 64 * GIB, 0.0625), ("9223372036854771712", 64 * GIB, 0.0625)],
)
def test_memory_is_a_share_of_the_containers_limit_and_without_one_of_the_machine(
    tmp_path: Path, limit: str, in_bytes: float, share: float
) -> None:
    files = {"memory.current": "4294967296\n", "memory.max": f"{limit}\n"}
    collector = ControlGroupCollector(node(tmp_path, {POD: files}), machine=None)
    assert collector.is_supported().supported
    found = values(observed(collector)["container:4f7ac0ffee11"])
    assert found["container.memory.limit"] == in_bytes
    assert found["container.memory.utilization"] == share
    assert math.isnan(found["container.memory.working_set"])


def test_the_least_of_a_groups_limits_and_those_above_it_holds(tmp_path: Path) -> None:
    pod = POD.rpartition("/")[0]
    roots = node(tmp_path, {POD: FILES, pod: {"memory.max": "1073741824\n", "cpu.max": "50000 100000\n"}})
    hierarchy = Hierarchy(2, dict.fromkeys(("cpu", "memory", "pids"), roots.sys / "fs/cgroup"))
    assert GroupLimits(hierarchy).of(POD) == Limits(GIB, 0.5, math.inf)


@pytest.mark.parametrize("text", ["max 100000\n", "", "200000\n", "200000 0\n", "0 100000\n", "-1 100000\n", "x y\n"])
def test_a_quota_that_says_nothing_limits_nothing(tmp_path: Path, text: str) -> None:
    roots = node(tmp_path, {"a": {"cpu.max": text}})
    assert GroupLimits(Hierarchy(2, {"cpu": roots.sys / "fs/cgroup"})).of("/a").cpus == math.inf


def test_the_machine_has_all_of_its_memory_and_processors(tmp_path: Path) -> None:
    assert machine_limits(node(tmp_path, {}), lambda: 8) == Limits(64 * GIB, 8)
    assert machine_limits(Roots(tmp_path / "none", tmp_path), lambda: None) == Limits()


@pytest.mark.parametrize(
    ("path", "entity"),
    [
        (f"/docker/{ID}", "container:4f7ac0ffee11"),
        (f"/system.slice/docker-{ID}.scope", "container:4f7ac0ffee11"),
        (f"/kubepods/burstable/pod0e1c/{ID}", "container:4f7ac0ffee11"),
        (f"/kubepods.slice/crio-{ID}.scope", "container:4f7ac0ffee11"),
        (f"/machine.slice/libpod-{ID}.scope", "container:4f7ac0ffee11"),
        ("/slurm/uid_1000/job_8231", "container:job_8231"),
        ("/system.slice/slurmstepd.scope/job_8231", "container:job_8231"),
        (f"/kubepods.slice/crio-conmon-{ID}.scope", None),
        (f"/system.slice/var-lib-docker-overlay2-{ID}-merged.mount", None),
        ("/kubepods.slice", None),
        ("/system.slice/sshd.service", None),
    ],
)
def test_containers_and_jobs_are_told_from_other_groups_by_their_names(path: str, entity: str | None) -> None:
    assert container_entity(path) == entity


def test_containers_are_found_wherever_they_are_but_not_inside_one_another(tmp_path: Path) -> None:
    inner = ID.replace("4", "5")
    groups = [POD, f"{POD}/docker/{inner}", f"/system.slice/docker-{'ab' * 32}.scope", "/user.slice/user-0.slice"]
    roots = node(tmp_path, {group: {} for group in groups})
    containers, others = find_containers(roots.sys / "fs/cgroup", 100)
    assert containers == {
        f"/system.slice/docker-{'ab' * 32}.scope": "container:abababababab",
        POD: "container:4f7ac0ffee11",
    }
    # The top, system.slice, user.slice and user-0.slice, and those above the pod's container.
    assert others == 4 + POD.count("/") - 1


def test_of_two_groups_with_the_name_of_one_container_the_first_counts(tmp_path: Path) -> None:
    below = f"/user.slice/user-1000.slice/user@1000.service/docker-{ID}.scope"
    roots = node(tmp_path, {f"/system.slice/docker-{ID}.scope": FILES, below: {"memory.current": "1\n"}})
    (observation,) = supported(roots).collect(0).observations
    assert values(observation)["container.memory.usage"] == 4 * GIB


def test_no_more_containers_are_read_than_their_files_may_be_open_and_that_is_told_once(tmp_path: Path) -> None:
    roots = node(tmp_path, {f"/docker/{number:x}{0:063x}": {"pids.current": "1\n"} for number in range(9)})
    collector = ControlGroupCollector(roots, machine=MACHINE, open_files=768 + 30)
    assert collector.is_supported().supported
    first, later = collector.collect(0), collector.collect(20 * SECOND)
    assert len(first.observations) == len(later.observations) == 3
    assert [notice.message for notice in first.notices] == [
        "This node has 9 containers: only the first 3 are read; more need a higher limit of open files."
    ]
    assert later.notices == []


def test_the_limit_of_open_files_bounds_the_containers() -> None:
    assert [most_containers(files) for files in (4096, 1024, 1_048_576, -1, 256)] == [128, 25, 128, 128, 1]


def test_the_walk_ends_at_its_bound_and_that_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "_MAX_GROUPS", 5)
    roots = node(tmp_path, {f"/a{number}/b": {} for number in range(20)} | {f"/z/z/{ID}": {}})
    collector = supported(roots)
    first, later = collector.collect(0), collector.collect(20 * SECOND)
    assert (first.observations, later.observations, later.notices) == ([], [], [])
    # The top, a0 to a19 and z, and a0/b, a1/b, a10/b and a11/b inside those that were looked into.
    assert [notice.message for notice in first.notices] == [
        "This node has 26 control groups: only the first 5 are searched for containers."
    ]


def test_a_container_that_ends_is_left_out_and_one_that_comes_is_seen_within_ten_seconds(tmp_path: Path) -> None:
    roots = node(tmp_path, {POD: {"pids.current": "1\n"}})
    collector = supported(roots)
    assert list(observed(collector, 0)) == ["container:4f7ac0ffee11"]
    shutil.rmtree(roots.sys / "fs/cgroup/kubepods.slice")
    later = roots.sys / f"fs/cgroup/docker/{'cd' * 32}"
    later.mkdir(parents=True)
    (later / "pids.current").write_text("5\n")
    assert list(observed(collector, 10 * SECOND)) == ["container:cdcdcdcdcdcd"]


def test_a_group_whose_files_can_no_longer_be_read_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = supported(node(tmp_path, {POD: {"pids.current": "1\n"}}))
    assert observed(collector, 0)
    # What the kernel answers on a file of a removed group that is still open.
    with monkeypatch.context() as patch:
        patch.setattr("os.pread", lambda *_: (_ for _ in ()).throw(OSError(19, "No such device")))
        assert not observed(collector, SECOND)
    assert not observed(collector, 2 * SECOND)


def test_a_file_that_fails_alone_leaves_its_own_metrics_missing_and_says_why(tmp_path: Path) -> None:
    roots = node(tmp_path, {POD: {"pids.current": "1\n", "memory.current": "77\n"}})
    collector = supported(roots)
    observed(collector, 0)
    (roots.sys / f"fs/cgroup{POD}/pids.current").write_text("garbage\n")
    observation = observed(collector, SECOND)["container:4f7ac0ffee11"]
    assert values(observation)["container.memory.usage"] == 77
    assert math.isnan(values(observation)["container.task.count"])
    assert "something unexpected" in observation.missing["container.task.count"]


@pytest.mark.parametrize("file", ["memory.current", "memory.stat"])
def test_a_working_set_of_which_a_part_is_missing_is_missing_and_never_0(tmp_path: Path, file: str) -> None:
    roots = node(tmp_path, {POD: FILES})
    collector = supported(roots)
    observed(collector, 0)
    (roots.sys / f"fs/cgroup{POD}/{file}").write_text("garbage\n")
    found = values(observed(collector, SECOND)["container:4f7ac0ffee11"])
    assert math.isnan(found["container.memory.working_set"])
    assert math.isnan(found["container.memory.working_set.utilization"])


def test_a_working_set_is_never_below_0(tmp_path: Path) -> None:
    files = {"memory.current": "4096\n", "memory.stat": MEMORY_STAT, "memory.max": "8192\n"}
    found = values(observed(supported(node(tmp_path, {POD: files})))["container:4f7ac0ffee11"])
    assert found["container.memory.working_set"] == 0.0


def test_a_limit_that_is_raised_is_seen_at_the_next_look(tmp_path: Path) -> None:
    roots = node(tmp_path, {POD: FILES})
    collector = supported(roots)
    observed(collector, 0)
    (roots.sys / f"fs/cgroup{POD}/memory.max").write_text("17179869184\n")
    assert values(observed(collector, SECOND)["container:4f7ac0ffee11"])["container.memory.limit"] == 8 * GIB
    assert values(observed(collector, 10 * SECOND)["container:4f7ac0ffee11"])["container.memory.limit"] == 16 * GIB


def test_labels_of_a_group_come_from_whoever_knows_them(tmp_path: Path) -> None:
    roots = node(tmp_path, {POD: FILES})
    collector = ControlGroupCollector(roots, lambda path: {"pod": "train-0"} if path == POD else {}, machine=MACHINE)
    collector.is_supported()
    assert observed(collector)["container:4f7ac0ffee11"].labels == {"pod": "train-0"}


def test_a_pods_sandbox_is_left_out_where_its_containers_are_known_by_name(tmp_path: Path) -> None:
    pod, other = "/kubepods.slice/kubepods-pod1.slice", "/kubepods.slice/kubepods-pod2.slice"
    labels = {
        f"{pod}/cri-containerd-{'a1' * 32}.scope": {"pod_uid": "1", "container": "worker"},
        f"{pod}/cri-containerd-{'b2' * 32}.scope": {"pod_uid": "1"},
        f"{other}/cri-containerd-{'c3' * 32}.scope": {"pod_uid": "2"},
        f"/docker/{'d4' * 32}": {},
    }
    roots = node(tmp_path, {path: {"pids.current": "1\n"} for path in labels})
    collector = ControlGroupCollector(roots, labels.__getitem__, machine=MACHINE)
    collector.is_supported()
    assert set(observed(collector)) == {"container:a1a1a1a1a1a1", "container:c3c3c3c3c3c3", "container:d4d4d4d4d4d4"}


def test_an_agent_under_a_limit_describes_its_own_group_as_the_host(tmp_path: Path) -> None:
    roots = node(tmp_path, {"": {"memory.max": "8589934592\n", "memory.current": "4294967296\n"}})
    assert values(observed(supported(roots))["host"])["container.memory.utilization"] == 0.5


def test_an_agent_without_a_limit_does_not(tmp_path: Path) -> None:
    roots = node(
        tmp_path, {"/system.slice/pulsetrain.service": FILES | {"memory.max": "max\n", "cpu.max": "max 100000\n"}}
    )
    (roots.proc / "self/cgroup").write_text("0::/system.slice/pulsetrain.service\n")
    assert not observed(supported(roots))


def test_the_agents_own_group_is_the_top_where_its_path_is_that_of_another_tree(tmp_path: Path) -> None:
    roots = node(tmp_path, {"/here": {}})
    top = roots.sys / "fs/cgroup"
    version_2, version_1 = Hierarchy(2, {"memory": top}), Hierarchy(1, {"memory": top})
    assert own_path("0::/here\n", version_2) == "/here"
    assert own_path(f"0::/docker/{ID}\n", version_2) == ""
    assert own_path("0::/../../x\n", version_2) is None
    assert own_path("4:memory:/here\n3:cpu,cpuacct:/there\n0::/\n", version_1) == "/here"
    assert own_path("", version_1) is None


def test_without_control_groups_the_collector_is_not_supported(tmp_path: Path) -> None:
    support = ControlGroupCollector(Roots(tmp_path, tmp_path)).is_supported()
    assert not support.supported
    assert "no control groups" in support.reason


def test_only_the_disks_that_are_hardware_are_summed() -> None:
    stat = b"8:0 rbytes=1 wbytes=2 rios=3 wios=4\n8:16 rbytes=10 wbytes=20 rios=30 wios=40 x=1\n253:0 rbytes=7\n"
    assert split_io_stat({b"8:0", b"8:16"})(stat)[1] == [b"11", b"22", b"33", b"44"]
    assert split_io_stat(set())(stat)[1][0] == b"18"
    blkio = b"8:0 Read 5\n8:0 Write 6\n8:0 Sync 11\n253:0 Read 5\n8:0 Total 11\nTotal 16\n"
    assert split_blkio({b"8:0"})(blkio) == ((b"Read", b"Write"), [b"5", b"6"])
    assert split_blkio({b"8:0"})(b"Total 0\n")[1] == [b"0", b"0"]
