"""`pulsetrain worker` with several stages as real processes: how they end together."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from tests.processes import PulsetrainProcess, wait_until

NO_BROKER = "127.0.0.1:1"
STAGES = ("worker", "features", "detect")


def started(worker: PulsetrainProcess) -> tuple[psutil.Process, list[psutil.Process]]:
    """The worker's process and those of its stages, once both wait for the broker."""
    wait_until(
        "both stages to look for a broker", lambda: worker.log().count(f"No Kafka broker answers at {NO_BROKER}") >= 2
    )
    (parent,) = [child for child in psutil.Process().children() if STAGES[-1] in child.cmdline()]
    return parent, [child for child in parent.children() if any("spawn_main" in part for part in child.cmdline())]


@pytest.mark.timeout(120)
def test_a_configuration_that_only_a_stage_finds_wrong_is_a_sentence_of_each_and_exit_code_2(tmp_path: Path) -> None:
    security = '{"security.protocol": "ssl", "ssl.ca.location": "/nonexistent.pem"}'
    with PulsetrainProcess(STAGES, tmp_path / "log", {"PULSETRAIN_KAFKA__SECURITY": security}) as worker:
        assert worker.wait(60) == 2
    assert "The Kafka settings can't work: " in worker.log()
    assert "Traceback" not in worker.log()


@pytest.mark.timeout(120)
def test_a_stage_that_is_killed_is_named_and_ends_the_others_with_exit_code_1(tmp_path: Path) -> None:
    with PulsetrainProcess([*STAGES, "--bootstrap", NO_BROKER], tmp_path / "log") as worker:
        _, (killed, _) = started(worker)
        killed.kill()
        assert worker.wait(60) == 1
    assert worker.log().count("ended by SIGKILL") == 1
    assert "Traceback" not in worker.log()


@pytest.mark.timeout(120)
def test_ctrl_c_at_every_process_before_kafka_answers_is_a_clean_stop(tmp_path: Path) -> None:
    with PulsetrainProcess([*STAGES, "--bootstrap", NO_BROKER], tmp_path / "log") as worker:
        parent, stages = started(worker)
        assert len(stages) == 2
        os.killpg(parent.pid, signal.SIGINT)
        assert worker.wait(60) == 0
    assert "Traceback" not in worker.log()
