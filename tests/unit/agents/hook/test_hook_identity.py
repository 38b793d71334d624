"""Job and rank from what launchers leave in the environment."""

import os
import sys
import types
from typing import Any

import pytest

from pulsetrain.agents.hook.identity import Identity, host_and_parent, identify, torch_rank
from pulsetrain.agents.hook.socket_paths import paths_to_try

TORCHRUN = {"RANK": "5", "LOCAL_RANK": "1", "WORLD_SIZE": "8", "TORCHELASTIC_RUN_ID": "b1946ac9"}
SRUN = {"SLURM_PROCID": "12", "SLURM_JOB_ID": "4711", "SLURM_NTASKS": "16"}
MPIRUN = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}


def identified(
    environment: dict[str, str], job: Any = None, rank: Any = None, initialised: int | None = None
) -> Identity:
    return identify(job, rank, environment, lambda: initialised, lambda: "node7-99")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (TORCHRUN, Identity("b1946ac9", 5)),
        (SRUN, Identity("4711", 12)),
        (MPIRUN, Identity("node7-99", 2)),
        (SRUN | TORCHRUN, Identity("4711", 5)),
        ({"TORCHELASTIC_RUN_ID": "none", "RANK": "0"}, Identity("node7-99", 0)),
        ({"JOB_NAME": "llm", "TORCHELASTIC_RUN_ID": "b1946ac9"}, Identity("llm", 0)),
        (SRUN | {"PULSETRAIN_JOB": "llm"}, Identity("llm", 12)),
        ({}, Identity("node7-99", 0)),
    ],
)
def test_launchers_name_job_and_rank(environment: dict[str, str], expected: Identity) -> None:
    assert identified(environment) == expected


def test_what_is_given_comes_first_then_the_process_group_then_the_environment() -> None:
    assert identified(TORCHRUN, job="llm", rank=1, initialised=2) == Identity("llm", 1)
    assert identified(TORCHRUN, initialised=2).rank == 2


@pytest.mark.parametrize("text", ["-1", "1.5", "one", "٣", "99999999"])
def test_a_rank_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="rank"):
        identified({"RANK": text})


def test_the_rank_of_an_initialised_process_group_is_read_from_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    assert torch_rank() is None
    group = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 4)
    monkeypatch.setitem(sys.modules, "torch.distributed", group)
    assert torch_rank() == 4
    group.is_initialized = lambda: False
    assert torch_rank() is None


def test_ranks_of_one_launcher_share_the_default_name() -> None:
    assert host_and_parent().endswith(f"-{os.getppid()}")


def test_the_agent_is_looked_for_at_the_named_path_only_else_at_the_systems_and_the_users() -> None:
    user = {"XDG_RUNTIME_DIR": "/run/user/1000"}
    assert paths_to_try({}) == ("/run/pulsetrain/hook.sock",)
    assert paths_to_try(user) == ("/run/pulsetrain/hook.sock", "/run/user/1000/pulsetrain/hook.sock")
    assert paths_to_try(user | {"PULSETRAIN_HOOK_SOCKET": "/sockets/a"}) == ("/sockets/a",)
