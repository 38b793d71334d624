"""What happened, one sentence each, for whoever watches."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Tone(StrEnum):
    """What kind of sentence it is."""

    PLOT = "plot"
    EVENT = "event"
    VERDICT = "verdict"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Note:
    """One sentence, `at` Unix seconds."""

    at: float
    tone: Tone
    text: str


class Journal:
    """All notes in the order in which they were written."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.notes: list[Note] = []

    def write(self, tone: Tone, text: str) -> None:
        """Adds a sentence."""
        self.notes.append(Note(self._clock(), tone, text))
