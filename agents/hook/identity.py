"""Who a training process is: its job and its rank."""

import operator
import os
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

MAX_JOB_CHARACTERS = 200
MAX_RANK = 9_999_999

# The first that is present wins. RANK is the rank in the whole job also where torchrun was started by Slurm, whose own
# variable then counts launchers.
JOB_VARIABLES = ("PULSETRAIN_JOB", "SLURM_JOB_ID", "JOB_NAME", "TORCHELASTIC_RUN_ID")
RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
UNNAMED_JOB = "none"
"""What torchrun gives as the run's id when nobody chose one."""


@dataclass(frozen=True, slots=True)
class Identity:
    """One rank of one job."""

    job: str
    rank: int


def identify(
    job: str | None,
    rank: int | None,
    environment: Mapping[str, str],
    initialised_rank: Callable[[], int | None],
    default_job: Callable[[], str],
) -> Identity:
    """What was given, else what the launcher says in the environment; a process without a rank is rank 0.

    Args:
        initialised_rank: the rank in a process group that is there already, None without one. It comes before the
            environment, which one process can leave to several.
        default_job: the name of a job that has none.

    Raises:
        ValueError: the job has no name or a too long one, or the rank is no number from 0.
        TypeError: the job is no text, or the rank no integer.
    """
    if job is None:
        named = (environment.get(variable, "") for variable in JOB_VARIABLES)
        job = next((name for name in named if name and name != UNNAMED_JOB), None) or default_job()
    if rank is None:
        rank = initialised_rank()
    if rank is None:
        rank = _environment_rank(environment)
    rank = operator.index(rank)
    if not 0 < len(job) <= MAX_JOB_CHARACTERS:
        raise ValueError(f"the job's name must have 1 to {MAX_JOB_CHARACTERS} characters")
    if not 0 <= rank <= MAX_RANK:
        raise ValueError(f"rank {rank} must lie between 0 and {MAX_RANK}")
    return Identity(job, rank)


def _environment_rank(environment: Mapping[str, str]) -> int:
    for variable in RANK_VARIABLES:
        if text := environment.get(variable):
            if not text.isascii() or not text.isdecimal():
                raise ValueError(f"{variable} is {text[:20]!r}, which is no rank")
            return int(text)
    return 0


def torch_rank() -> int | None:
    """The rank in PyTorch's process group, if this process has one; asks no other rank."""
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is None or not distributed.is_available() or not distributed.is_initialized():
            return None
        return int(distributed.get_rank())
    except Exception:  # half imported, say; the environment tells the rank then
        return None


def host_and_parent() -> str:
    """A name that the ranks which one launcher started on this machine share."""
    return f"{socket.gethostname()}-{os.getppid()}"
