"""Child processes of a bench, with their output in build/bench, killed at the end."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from pulsetrain.schemas.kafka import KafkaSettings

LOGS = Path("build/bench")


@contextmanager
def child_process(command: Sequence[str], log: str) -> Iterator[subprocess.Popen[bytes]]:
    """`COMMAND` as long as the context; it writes to build/bench/LOG."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with (
        (LOGS / log).open("wb") as output,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def module_process(arguments: Sequence[str], log: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """`python -m ARGUMENTS` as long as the context; it writes to build/bench/LOG."""
    return child_process([sys.executable, "-m", *arguments], log)


def features_worker(
    kafka: KafkaSettings, prefix: str, partitions: int, log: str
) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """`pulsetrain worker features`, as an operator starts it."""
    flags = ["--bootstrap", kafka.bootstrap, "--prefix", prefix, "--partitions", str(partitions)]
    return module_process(["pulsetrain.cli.main", "worker", "features", *flags], log)
