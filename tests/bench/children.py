"""Child processes of a bench: Python modules with their output in build/bench, killed at the end."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

LOGS = Path("build/bench")


@contextmanager
def module_process(arguments: Sequence[str], log: str) -> Iterator[subprocess.Popen[bytes]]:
    """`python -m ARGUMENTS` as long as the context; it writes to build/bench/LOG."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with (
        (LOGS / log).open("wb") as output,
        subprocess.Popen([sys.executable, "-m", *arguments], stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        try:
            yield process
        finally:
            process.kill()
