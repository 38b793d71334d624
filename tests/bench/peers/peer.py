"""Programs that watch this machine: what a bench must know of one to compare it with others."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager


class Peer(ABC):
    """A program that runs. All that it starts descends from `pid`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Whatever a program that waits to be asked needs while it is measured: somebody who asks."""
        yield

    @abstractmethod
    def begin(self) -> None:
        """Samples count from now on."""

    @abstractmethod
    def end(self) -> float:
        """How many samples the program produced since `begin`; may wait for the last of them."""

    @abstractmethod
    def series(self) -> int:
        """How many different series its samples belong to."""
