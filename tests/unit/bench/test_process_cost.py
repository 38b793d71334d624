"""What processes cost, on children whose cost is known."""

import os
import subprocess
import sys
import time

import pytest

from tests.bench.process_cost import cpu_seconds, proportional_mib, resident_mib, tree, tree_cpu_seconds

# The parent starts a child; both say when they are ready, and wait to be killed with their standard input.
_CHILD = "import sys; b = bytearray(64 << 20); print(flush=True); sys.stdin.read()"
_PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {_CHILD!r}])"
# The parent's child uses the processor for a third of a second and ends.
_BURN = "import time\nwhile time.process_time() < 0.35: pass"
_PARENT_OF_ENDED = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {_BURN!r}]); {_CHILD}"


def _started(code: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline(), "the process has begun"
    return process


def test_cpu_time_of_a_process_is_what_it_says_itself() -> None:
    before = time.process_time()
    measured = cpu_seconds(os.getpid())
    assert before <= measured <= time.process_time()


def test_a_tree_has_the_children_and_their_memory() -> None:
    with _started(_PARENT) as parent:
        pids = tree(parent.pid)
        assert len(pids) == 2
        assert pids[0] == parent.pid
        assert 64 < resident_mib(pids) < 200
        assert 64 < proportional_mib(pids) <= resident_mib(pids)
        parent.communicate()


def test_children_that_have_ended_count() -> None:
    with _started(_PARENT_OF_ENDED) as parent:
        assert tree(parent.pid) == [parent.pid]
        assert tree_cpu_seconds(parent.pid) > 0.33
        parent.communicate()


def test_a_process_that_is_gone_is_an_error_of_its_own() -> None:
    process = _started(_CHILD)
    process.communicate()
    with pytest.raises(OSError, match=str(process.pid)):
        tree(process.pid)
