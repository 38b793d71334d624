import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from pulsetrain.cli.brokers import leash

LEASHED = [sys.executable, leash.__file__]
SAY_PID_AND_STAY = ["sh", "-c", "echo $$; exec sleep 60"]
PARENT = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
child.wait()
"""


@pytest.fixture
def leashed() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*LEASHED, *SAY_PID_AND_STAY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def command_of(process: subprocess.Popen[str]) -> psutil.Process:
    assert process.stdout is not None
    return psutil.Process(int(process.stdout.readline()))


def assert_gone(command: psutil.Process) -> None:
    gone, alive = psutil.wait_procs([command], timeout=10)
    assert not alive, "the command still runs 10 s after its leash was let go"
    assert gone


def test_the_command_runs_and_its_exit_code_is_passed_on() -> None:
    # The pipe stays open until the command has ended: closing it would end the command first, now and then.
    with subprocess.Popen([*LEASHED, "sh", "-c", "exit 3"], stdin=subprocess.PIPE) as leash_process:
        assert leash_process.wait(timeout=30) == 3


def test_closing_the_pipe_ends_the_command(leashed: subprocess.Popen[str]) -> None:
    command = command_of(leashed)
    assert leashed.stdin is not None
    leashed.stdin.close()
    assert_gone(command)
    assert leashed.wait(timeout=10) != 0


def test_a_terminated_leash_ends_the_command(leashed: subprocess.Popen[str]) -> None:
    command = command_of(leashed)
    leashed.send_signal(signal.SIGTERM)
    assert_gone(command)
    assert leashed.wait(timeout=10) != 0


def test_a_parent_that_is_killed_takes_the_command_with_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, *LEASHED, *SAY_PID_AND_STAY], stdout=subprocess.PIPE, text=True
    ) as parent:
        command = command_of(parent)
        os.kill(parent.pid, signal.SIGKILL)
        assert_gone(command)
