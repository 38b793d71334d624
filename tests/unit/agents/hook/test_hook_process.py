"""What the hook is to the process it lives in: light, silent in forked children, harmless at its end."""

import json
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FORK = """
import os, sys
from pulsetrain.agents.hook import TrainingProbe
with TrainingProbe("llm", 0) as probe:
    probe.step(loss=1.0)
    child = os.fork()
    if child == 0:
        with probe.data_wait():
            pass
        probe.step(loss=2.0)
        probe.close()
        sys.exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    probe.step(loss=3.0)
"""

CHILD_WITH_ITS_OWN = """
import os, sys
from pulsetrain.agents.hook import TrainingProbe
outer = TrainingProbe("outer", 0).open()
child = os.fork()
if child == 0:
    with TrainingProbe("inner", 1) as probe:
        probe.step(loss=2.0)
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""

SIGNALS = """
import signal, time
from pulsetrain.agents.hook import TrainingProbe
probe = TrainingProbe("llm", 0)
signals = 0
def on_signal(number, frame):
    global signals
    signals += 1
    probe.step(loss=1.0)
signal.signal(signal.SIGALRM, on_signal)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
end = time.monotonic() + 60
while signals < 300 and time.monotonic() < end:
    with probe.data_wait(), probe.all_reduce():
        pass
    probe.step(loss=1.0, grad_norm=1.0, scale=1.0)
signal.setitimer(signal.ITIMER_REAL, 0)
probe.close()
print(signals >= 300)
"""

EXIT = """
import atexit, sys
from pulsetrain.agents.hook import TrainingProbe
probe = TrainingProbe("llm", 0)
class Late:
    def __del__(self, probe=probe):
        with probe.data_wait(), probe.all_reduce():
            probe.step(loss="no number")
        probe.close()
        probe.open()
late = sys.late = Late()
late.itself = late
atexit.register(probe.step, loss=1.0)
probe.step(loss=1.0)
"""

MANY_STEPS = """
from pulsetrain.agents.hook import TrainingProbe
with TrainingProbe("llm", 0) as probe:
    for _ in range(64 * 1000):
        probe.step()
assert probe.dropped_steps > 0
"""

IMPORT = """
import sys
before = set(sys.modules)
import pulsetrain.agents.hook, pulsetrain.agents.hook.pytorch, pulsetrain.agents.hook.huggingface
import pulsetrain.agents.hook.lightning
roots = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(roots - set(sys.stdlib_module_names) - {"pulsetrain"}))
print(sorted(name for name in sys.modules if name.startswith("pulsetrain.") and ".hook" not in name))
"""


def run(script: str, **environment: str) -> str:
    """What a script prints that says nothing to its errors but what the hook logs."""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith("Pulsetrain's hook met")] == []
    return done.stdout


def run_with_agent(script: str) -> list[dict[str, Any]]:
    """What an agent hears of a script's probes."""
    with (
        tempfile.TemporaryDirectory(prefix="hook-") as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as agent,
    ):
        path = str(Path(folder) / "hook.sock")
        agent.bind(path)
        agent.setblocking(False)
        run(script, PULSETRAIN_HOOK_SOCKET=path)
        messages = []
        while True:
            try:
                messages.append(json.loads(agent.recv(65536)))
            except BlockingIOError:
                return messages


def test_a_forked_child_says_nothing_and_the_parent_goes_on() -> None:
    messages = run_with_agent(FORK)
    assert [[values[2] for values in message["values"]] for message in messages] == [[1.0, 3.0]]


def test_a_probe_made_in_a_forked_child_speaks() -> None:
    assert [message["job"] for message in run_with_agent(CHILD_WITH_ITS_OWN)] == ["inner"]


def test_signals_whose_handlers_use_the_probe_too_reach_no_training() -> None:
    assert run(SIGNALS, PULSETRAIN_HOOK_SOCKET="/nowhere/hook.sock") == "True\n"


def test_at_the_interpreters_end_the_probe_is_harmless_and_hangs_nothing_up() -> None:
    run(EXIT, PULSETRAIN_HOOK_SOCKET="/nowhere/hook.sock")


def test_an_agent_that_reads_nothing_holds_no_step_up() -> None:
    messages = run_with_agent(MANY_STEPS)
    assert 0 < len(messages) < 1000


def test_the_hook_imports_the_standard_library_and_itself_only() -> None:
    libraries, ours = run(IMPORT).splitlines()
    assert libraries == "[]"
    assert ours == "['pulsetrain.agents']"
