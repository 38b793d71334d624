"""The agent may have as many files open as the node's administrator allows, within reason."""

import resource
import subprocess
import sys

import pytest


def limits_after(soft: int, hard: int) -> list[int]:
    """Soft and hard limit of a process that began with these."""
    here = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if resource.RLIM_INFINITY != here < hard:
        pytest.skip(f"no process may have more than {here} files here")
    script = f"""
import resource
from pulsetrain.cli.open_files import allow_open_files
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
allow_open_files()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    return [int(limit) for limit in ran.stdout.split()]


@pytest.mark.parametrize(
    ("soft", "hard", "soft_after"), [(256, 300, 300), (256, 5000, 4096), (4500, 5000, 4500), (300, 300, 300)]
)
def test_the_soft_limit_is_raised_to_the_hard_one_or_4096_and_never_lowered(
    soft: int, hard: int, soft_after: int
) -> None:
    assert limits_after(soft, hard) == [soft_after, hard]
