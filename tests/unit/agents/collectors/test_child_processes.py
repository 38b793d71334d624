"""What the agent's child processes cost."""

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pulsetrain.agents.collectors.child_processes import OWN_CHILDREN, ChildProcesses, ended_ns, running_ns
from pulsetrain.agents.collectors.own_process import OwnProcess
from pulsetrain.agents.collectors.perf.child import PerfChild
from pulsetrain.agents.usage import UsageMeter

RECORDED = Path("tests/data/proc/epyc_vm/proc")
BUSY = "import time\nwhile time.process_time() < 0.3: pass\nprint('done', flush=True)\ntime.sleep(600)"
LIMIT_SECONDS = 60.0
PAGE = os.sysconf("SC_PAGE_SIZE")


def gone(pid: int) -> int:
    raise OSError(22, "Invalid argument")


def busy_child() -> PerfChild:
    """A child that has used 0.3 s of processor time and sleeps now."""
    child = PerfChild([sys.executable, "-c", BUSY], {})
    end = time.monotonic() + LIMIT_SECONDS
    while child.lines() != [b"done"]:
        assert time.monotonic() < end, f"waited {LIMIT_SECONDS:.0f} s for a busy child"
        child.wait(0.1)
    return child


def test_what_a_running_child_has_used_is_what_the_scheduler_says_and_stays_when_it_has_ended() -> None:
    before_ns, ended_before_ns = OWN_CHILDREN.cpu_time_ns(), ended_ns()
    child = busy_child()
    try:
        scheduled_ns = int(Path(f"/proc/{child.pid}/schedstat").read_text().split()[0])
        assert running_ns(child.pid) == pytest.approx(scheduled_ns, rel=0.2)
        running = OWN_CHILDREN.cpu_time_ns() - before_ns
        assert running >= 300_000_000
        assert OWN_CHILDREN.resident_bytes() > 0
    finally:
        child.close()
    # The kernel's counts of the ended are in microseconds.
    assert ended_ns() - ended_before_ns >= 300_000_000
    assert OWN_CHILDREN.cpu_time_ns() - before_ns >= running - 1_000_000
    with pytest.raises(OSError, match="Invalid argument"):
        running_ns(child.pid)


def test_the_budget_and_the_agents_own_figures_hold_its_children() -> None:
    clock = iter([0, 1_000_000_000])
    meter = UsageMeter(Path("/proc"), 2, lambda: 0, lambda: next(clock))
    child = busy_child()
    try:
        usage = meter.usage()
        resident = int(Path(f"/proc/{os.getpid()}/statm").read_text().split()[1]) * PAGE
    finally:
        child.close()
        meter.close()
    # 0.3 s in a second, beside nothing of this process itself; a Python program has more than a MiB of its own.
    assert usage.cpu_percent >= 30.0
    assert usage.memory_mebibytes * 2**20 >= resident + 2**20


def test_a_child_whose_end_nobody_has_asked_for_yet_still_counts() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        children = ChildProcesses(ended_ns=lambda: 0)
        children.add(process.pid)
        process.send_signal(signal.SIGKILL)
        process.stdout.read()
        assert children.cpu_time_ns() >= 300_000_000
        assert children.resident_bytes() >= 0.0
    children.remove(process.pid)
    assert children.resident_bytes() == 0.0


def test_a_share_is_of_this_process_and_its_children_together() -> None:
    ended, running = iter([0, 0, 70, 70]), iter([10, 60])
    own, clock = iter([0, 100, 100, 200]), iter([0, 1000, 2000, 3000])
    children = ChildProcesses(lambda: next(ended), lambda pid: next(running))
    process = OwnProcess(RECORDED, lambda: next(own), lambda: next(clock), children)
    children.add(7)
    process.cpu_share()
    # 100 of its own and 50 of a child, of 1000; then 10 between the last look at the child and its end.
    assert process.cpu_share() == pytest.approx(0.15)
    children.remove(7)
    assert process.cpu_share() == pytest.approx(0.01)
    assert process.cpu_share() == pytest.approx(0.1)
    process.close()


def test_a_child_that_is_waited_for_between_the_two_counts_takes_no_time_back() -> None:
    ended = iter([0, 0, 500])
    times = {7: 500}
    children = ChildProcesses(lambda: next(ended), lambda pid: times[pid] if pid in times else gone(pid))
    children.add(7)
    assert children.cpu_time_ns() == 500
    times.clear()
    assert children.cpu_time_ns() == 500
    # Its number may be another process's from here on.
    times[7] = 9_000
    assert children.cpu_time_ns() == 500


@pytest.mark.parametrize("content", ["", "1 x 2 0 0 0 0", "12"])
def test_memory_that_cannot_be_understood_is_missing(tmp_path: Path, content: str) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7/statm").write_text(content)
    children = ChildProcesses(own_proc=tmp_path)
    children.add(7)
    assert math.isnan(children.resident_bytes())


def test_of_a_child_the_pages_of_files_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    # As perf 6.1 has it: 13 MiB resident, of which 10.5 are its program and its libraries.
    (tmp_path / "7/statm").write_text("9110 3344 2697 600 0 1220 0\n")
    children = ChildProcesses(own_proc=tmp_path)
    children.add(7)
    assert children.resident_bytes() == (3344 - 2697) * PAGE
