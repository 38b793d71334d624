"""Real processes: a stand-in that prints recorded rows, and perf itself where it is installed."""

import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pulsetrain.agents.collectors.base import Observation, Roots
from pulsetrain.agents.collectors.perf.child import PerfChild, find_program, own_processes, perf_environment, run_once
from pulsetrain.agents.collectors.perf.collector import PerfCollector
from pulsetrain.agents.collectors.perf.settings import PerfSettings
from tests.debian_programs import debian_program

LIMIT_SECONDS = 60.0
"""Generous: it is only reached by what is broken."""

RECORDED = Path("tests/data/perf/perf-6.1-virtual-machine.csv").resolve()
MIGRATIONS = "system.linux.cpu_migration.rate"


def until(what: str, condition: Callable[[], bool]) -> None:
    """Wait for a condition; fails with what was waited for."""
    end = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < end, f"waited {LIMIT_SECONDS:.0f} s for {what}"
        select.select([], [], [], 0.02)


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def all_lines(child: PerfChild, count: int) -> list[bytes]:
    found: list[bytes] = []

    def has_come() -> bool:
        child.wait(0.1)
        found.extend(child.lines())
        return len(found) >= count

    until(f"{count} lines", has_come)
    return found


def test_what_a_child_prints_is_read_without_waiting(tmp_path: Path) -> None:
    child = PerfChild([script(tmp_path / "perf", f"cat {RECORDED}; exec sleep 600")], perf_environment(os.environ))
    try:
        assert all_lines(child, 27) == RECORDED.read_bytes().splitlines()
        assert child.lines() == []
        assert child.exit_code() is None
    finally:
        child.close()
    assert not is_running(child.pid)


def test_a_child_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    text = "trap '' TERM; echo ready; while :; do sleep 600 & wait; done"
    child = PerfChild([script(tmp_path / "perf", text)], perf_environment(os.environ))
    all_lines(child, 1)
    child.close()
    assert child.exit_code() == -signal.SIGKILL


def test_how_a_child_ended_and_what_it_complained_of_is_known(tmp_path: Path) -> None:
    text = "echo 'event syntax error' >&2; echo \"near 'x'\" >&2; exit 129"
    child = PerfChild([script(tmp_path / "perf", text)], perf_environment(os.environ))
    until("its end", lambda: child.exit_code() is not None)
    child.lines()
    assert (child.exit_code(), child.error_text()) == (129, "event syntax error near 'x'")
    child.close()


def test_endless_complaints_neither_stop_a_child_nor_pile_up(tmp_path: Path) -> None:
    text = "yes complaint | head -c 1000000 >&2; echo done; exec sleep 600"
    child = PerfChild([script(tmp_path / "perf", text)], perf_environment(os.environ))
    try:
        assert all_lines(child, 1) == [b"done"]
        assert len(child.error_text()) <= 400
    finally:
        child.close()


def test_a_wait_ends_when_the_child_is_ended_from_another_thread(tmp_path: Path) -> None:
    child = PerfChild([script(tmp_path / "perf", "exec sleep 600")], perf_environment(os.environ))
    waiting = threading.Thread(target=child.wait, args=(LIMIT_SECONDS,))
    waiting.start()
    child.end()
    waiting.join(LIMIT_SECONDS / 2)
    assert not waiting.is_alive()
    child.close()
    child.wait(LIMIT_SECONDS)


def test_neither_locale_nor_a_users_settings_nor_secrets_reach_perf() -> None:
    environment = perf_environment(
        {
            "PATH": "/usr/bin:/bin",
            "LANG": "fr_FR.UTF-8",
            "LC_NUMERIC": "fr_FR.UTF-8",
            "PERF_PAGER": "less",
            "HOME": "/x",
            "PULSETRAIN_KAFKA__PASSWORD": "secret",
        }
    )
    child = PerfChild(["/usr/bin/env"], environment)
    until("its end", lambda: child.exit_code() is not None)
    found = set(child.lines())
    child.close()
    assert found == {b"PATH=/usr/bin:/bin", b"LC_ALL=C", b"PERF_CONFIG=/dev/null"}


def test_a_process_with_more_than_a_thousand_open_files_waits_without_turning_round(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2048:
        pytest.skip(f"only {hard} files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    opened = [os.open(tmp_path, os.O_RDONLY) for _ in range(1100)]
    try:
        child = PerfChild([script(tmp_path / "perf", "exec sleep 600")], perf_environment(os.environ))
        begin = time.monotonic()
        child.wait(0.2)
        waited_seconds = time.monotonic() - begin
        child.close()
    finally:
        for descriptor in opened:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert waited_seconds >= 0.19


def test_a_trial_that_takes_too_long_has_no_answer(tmp_path: Path) -> None:
    slow = script(tmp_path / "perf", "exec sleep 600")
    assert run_once([slow], 0.2, perf_environment(os.environ)) is None


def test_a_program_is_found_only_if_it_may_be_executed(tmp_path: Path) -> None:
    (tmp_path / "perf").write_text("")
    assert find_program("perf", str(tmp_path)) is None
    (tmp_path / "perf").chmod(0o755)
    assert find_program("perf", f"relative:{tmp_path / 'absent'}:{tmp_path}") == str(tmp_path / "perf")
    # A folder that can't be looked into raises no error (one that may not be gives another errno).
    assert find_program("perf", f"/{'x' * 300}:{tmp_path}") == str(tmp_path / "perf")


def collector(search_path: str, roots: Roots, interval_ms: int = 125) -> PerfCollector:
    processes = own_processes({**os.environ, "PATH": search_path})
    return PerfCollector(PerfSettings(interval_ms=interval_ms), roots, processes, logical_cores=2)


def observations(perf: PerfCollector, count: int) -> list[Observation]:
    found: list[Observation] = []

    def has_come() -> bool:
        found.extend(perf.collect(time.time_ns()).observations)
        return len(found) >= count

    until(f"{count} observations", has_come)
    return found


def test_the_collector_runs_on_a_program_that_prints_what_perf_printed(tmp_path: Path) -> None:
    script(tmp_path / "perf", f'cat {RECORDED}; case "$*" in *interval-count*) ;; *) exec sleep 600;; esac')
    perf = collector(f"{tmp_path}:{os.environ['PATH']}", Roots(tmp_path, tmp_path))
    try:
        support = perf.is_supported()
        assert support.supported
        assert support.reason == "no hardware counters here, as in most virtual machines"
        (observation,) = observations(perf, 1)
        rate = observation.values[observation.metrics.index(MIGRATIONS)]
        recorded = [line for line in RECORDED.read_bytes().splitlines() if b"cpu-migrations" in line]
        counts = [float(line.split(b";")[1]) for line in recorded]
        end_seconds = float(recorded[-1].split(b";")[0])
        assert rate == pytest.approx(sum(counts) / end_seconds)
    finally:
        perf.close()


def test_closing_ends_a_collect_that_waits_for_an_interval_of_minutes(tmp_path: Path) -> None:
    script(tmp_path / "perf", f'touch {tmp_path}/started; case "$*" in *interval-count*) ;; *) exec sleep 600;; esac')
    perf = collector(f"{tmp_path}:{os.environ['PATH']}", Roots(tmp_path, tmp_path), interval_ms=600_000)
    assert perf.is_supported().supported
    (tmp_path / "started").unlink()
    brought: list[int] = []
    waiting = threading.Thread(target=lambda: brought.append(len(perf.collect(time.time_ns()).observations)))
    waiting.start()
    until("the start of the child", (tmp_path / "started").exists)
    perf.close()
    waiting.join(LIMIT_SECONDS)
    assert brought == [0]


def test_a_child_that_closed_its_output_is_ended(tmp_path: Path) -> None:
    child = PerfChild([script(tmp_path / "perf", "exec >&- 2>&-; exec sleep 600")], perf_environment(os.environ))
    until("its end", lambda: child.lines() == [] and child.exit_code() is not None)
    assert child.exit_code() == -signal.SIGTERM
    child.wait(LIMIT_SECONDS)
    child.close()


def test_perf_itself_counts_interval_after_interval_and_ends_with_its_collector() -> None:
    debian_program("perf", package="linux-perf")
    perf = collector(os.environ["PATH"], Roots())
    begin_ns = time.time_ns()
    try:
        support = perf.is_supported()
        if not support.supported and "perf_event_paranoid" in support.reason:
            pytest.skip(f"perf may not count here: {support.reason}")
        assert support.supported, support.reason
        found = observations(perf, 4)
    finally:
        perf.close()
    times = [observation.time_ns for observation in found]
    assert begin_ns < times[0]
    assert times[-1] <= time.time_ns()
    assert times == sorted(set(times))
    for observation in found:
        assert observation.values[observation.metrics.index(MIGRATIONS)] >= 0.0


AGENT = """
import os, sys, time
from pulsetrain.agents.collectors.perf.child import PerfChild, perf_environment
child = PerfChild(sys.argv[1:], perf_environment(os.environ))
print(child.pid, flush=True)
time.sleep(600)
"""


def test_perf_ends_when_its_parent_is_killed() -> None:
    command = [
        debian_program("perf", package="linux-perf"),
        "stat",
        "-a",
        "-x",
        ";",
        "-I",
        "100",
        "--log-fd",
        "1",
        "-e",
        "cpu-migrations",
    ]
    with subprocess.Popen([sys.executable, "-c", AGENT, *command], stdout=subprocess.PIPE, text=True) as agent:
        assert agent.stdout is not None
        pid = int(agent.stdout.readline())
        if not is_running(pid):
            pytest.skip("perf may not count here")
        agent.kill()
    until("the end of perf", lambda: not is_running(pid))
