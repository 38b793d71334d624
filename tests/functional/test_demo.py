"""The demo as a process: whatever ends it, nothing of it is left; and the loads that it puts on the machine."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from pulsetrain.cli.demo.children import Children, Loads
from pulsetrain.cli.errors import CliError
from tests.processes import wait_until

DEMO = [sys.executable, "-m", "pulsetrain.cli.main", "demo"]
LOADS = [sys.executable, "-m", "pulsetrain.cli.demo.loads"]
MEBIBYTE = 1024 * 1024


def descendants(pid: int) -> list[psutil.Process]:
    found: list[psutil.Process] = psutil.Process(pid).children(recursive=True)
    return found


def alive(processes: Sequence[psutil.Process]) -> list[str]:
    return [str(one) for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


@dataclass(frozen=True)
class RunningDemo:
    """A demo that learns what is normal, and all processes that it has started so far."""

    process: subprocess.Popen[bytes]
    started: list[psutil.Process]
    log: Path
    temporary: Path


@contextmanager
def warming_up(folder: Path) -> Iterator[RunningDemo]:
    log, temporary = folder / "demo.log", folder / "tmp"
    temporary.mkdir()
    with log.open("wb") as output:
        process = subprocess.Popen(
            DEMO, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": str(temporary)}
        )
    try:
        wait_until("the demo's first window", lambda: "waiting for the first model" in log.read_text())
        started = descendants(process.pid)
        assert [one for one in started if one.cmdline()[-1].endswith("agent")]
        assert [one for one in started if "features" in one.cmdline()]
        assert list(temporary.iterdir())
        yield RunningDemo(process, started, log, temporary)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_demo_and_all_that_it_started(tmp_path: Path, number: signal.Signals, code: int) -> None:
    with warming_up(tmp_path) as demo:
        demo.process.send_signal(number)
        assert demo.process.wait(20) == code
        assert alive(demo.started) == []
        assert list(demo.temporary.iterdir()) == []
        assert "Traceback" not in demo.log.read_text()


def test_the_demos_processes_end_even_where_it_is_killed(tmp_path: Path) -> None:
    with warming_up(tmp_path) as demo:
        demo.process.kill()
        wait_until("the agent and the workers to end", lambda: not alive(demo.started), 30)


def test_a_process_of_the_demo_that_ends_by_itself_is_told_with_the_end_of_its_log(tmp_path: Path) -> None:
    with Children(tmp_path, os.environ) as children:
        children.start("agent", ["agent", "--bootstrap", "nonsense:nonsense"])

        def told() -> str:
            try:
                children.check()
            except CliError as error:
                return str(error)
            return ""

        text = wait_until("the agent to end", told)
    assert text.startswith("The agent ended with code 2. Its last lines:\n")
    assert "nonsense" in text


@contextmanager
def load(*arguments: str, seconds: float = 60.0) -> Iterator[tuple[subprocess.Popen[bytes], psutil.Process]]:
    """One load as the demo starts it, and what can be seen of it."""
    process = subprocess.Popen([*LOADS, "--seconds", str(seconds), *arguments], stdin=subprocess.PIPE)
    try:
        yield process, psutil.Process(process.pid)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    "arguments",
    [
        ("cpu_hog", "--processes", "2"),
        ("memory_leak", "--mebibytes", "512"),
        ("disk_hammer", "--folder", "."),
        ("network_copy",),
        ("training_job", "--folder", "."),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_load_ends_with_whoever_started_it(arguments: tuple[str, ...], tmp_path: Path) -> None:
    with load(*(str(tmp_path) if one == "." else one for one in arguments)) as (process, seen):
        wait_until("the load to work", lambda: sum(seen.cpu_times()[:2]) > 0.05)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(10) == 0


def test_a_load_ends_when_its_time_is_over() -> None:
    with load("cpu_hog", "--processes", "1", seconds=0.5) as (process, _):
        assert process.wait(10) == -signal.SIGALRM


def test_the_leak_grows_to_its_limit_and_no_further() -> None:
    with load("memory_leak", "--mebibytes", "160") as (_, seen):
        wait_until("160 MiB", lambda: seen.memory_info().rss > 160 * MEBIBYTE)
        wait_until("the leak to pause", lambda: seen.status() == psutil.STATUS_SLEEPING)
        assert seen.memory_info().rss < 200 * MEBIBYTE


def test_the_disk_hammer_writes_to_the_disk_and_its_file_has_no_name(tmp_path: Path) -> None:
    with load("disk_hammer", "--folder", str(tmp_path)) as (_, seen):
        wait_until("8 MiB on the disk", lambda: seen.io_counters().write_bytes > 8 * MEBIBYTE)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "most_percent"), [("network_copy", 50), ("training_job", 60)])
def test_what_is_no_fault_takes_little_of_a_cpu(name: str, most_percent: float, tmp_path: Path) -> None:
    with load(name, *(["--folder", str(tmp_path)] if name == "training_job" else [])) as (_, seen):
        wait_until("the load to begin", lambda: seen.net_connections())
        assert seen.cpu_percent(interval=2.0) < most_percent


def test_the_processes_of_a_load_end_with_their_context() -> None:
    with Loads() as loads:
        loads.start("cpu_hog", ["--processes", "3"], longest_seconds=60.0)
        started = wait_until("three processes", lambda: found if len(found := descendants(os.getpid())) == 3 else None)
    wait_until("the end of all", lambda: not alive(started), 10)


def test_a_load_that_can_not_do_its_work_is_told_with_the_reason() -> None:
    with Loads() as loads:
        loads.start("disk_hammer", ["--folder", "/no/such/folder"], longest_seconds=60.0)

        def told() -> str:
            try:
                loads.check()
            except CliError as error:
                return str(error)
            return ""

        text = wait_until("the load to end", told)
    assert text.startswith("The load disk_hammer ended with code 1: FileNotFoundError: ")
