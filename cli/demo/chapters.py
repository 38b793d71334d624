"""The chapters of the demo and what became of each: what the screen, the table and the JSON document show."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pulsetrain.cli.demo.detection import Detection


class ChapterState(StrEnum):
    """How far a chapter is."""

    AHEAD = "ahead"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(slots=True)
class Chapter:
    """One step of the loop.

    `load` says in the table what was put on this machine, nothing where it was nothing. `result` is what came of the
    chapter in a few words, `detection` the verdict behind it, `problem` the sentence that says why it failed.
    """

    name: str
    title: str
    load: str = ""
    state: ChapterState = ChapterState.AHEAD
    result: str = ""
    detection: Detection | None = None
    problem: str = ""

    def succeed(self, result: str, detection: Detection | None = None) -> None:
        """What the chapter is about came true."""
        self.state, self.result, self.detection, self.problem = ChapterState.DONE, result, detection, ""

    def fail(self, result: str, problem: str) -> None:
        """It did not come true, so far."""
        self.state, self.result, self.problem = ChapterState.FAILED, result, problem


def first_problem(chapters: Sequence[Chapter]) -> str | None:
    """Why the loop did not close, in one sentence; None where every chapter came true."""
    for chapter in chapters:
        if chapter.state is not ChapterState.DONE:
            return chapter.problem or f"the demo ended before it could {chapter.title}"
    return None
