"""How the demo is followed: on a live screen, or line by line where there is no terminal."""

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, RenderableType
from rich.live import Live

from pulsetrain.cli.demo.demo import Demo
from pulsetrain.cli.demo.journal import Journal
from pulsetrain.cli.demo.screen import Moment, screen
from pulsetrain.cli.demo.wording import duration_text

_REFRESH_SECONDS = 0.25


class View(Protocol):
    """Shows how the demo goes, as long as the context."""

    def show(self, moment: Moment) -> None:
        """Called several times a second."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class LiveScreen:
    """The screen, drawn anew four times a second; it leaves the terminal as it was.

    Args:
        console: the terminal.
        draw: the screen of a moment, for a terminal of so many lines.
    """

    def __init__(self, console: Console, draw: Callable[[Moment, int], RenderableType]) -> None:
        self._console = console
        self._draw = draw
        self._live = Live(console=console, screen=True, auto_refresh=False)
        self._shown_at = 0.0

    def show(self, moment: Moment) -> None:
        """Draws the screen if a quarter of a second has passed."""
        if moment.now - self._shown_at >= _REFRESH_SECONDS:
            self._shown_at = moment.now
            self._live.update(self._draw(moment, self._console.height), refresh=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)


class ProgressLines:
    """Every note as a line.

    Args:
        journal: of the demo that began at `began_at`, Unix seconds.
        write: takes a line.
    """

    def __init__(self, journal: Journal, began_at: float, write: Callable[[str], None]) -> None:
        self._journal = journal
        self._began_at = began_at
        self._write = write
        self._written = 0
        self._waiting = ""

    def show(self, moment: Moment) -> None:
        """Writes the notes that are new, and what is waited for where that has changed."""
        self._write_new_notes()
        if moment.waiting not in ("", self._waiting):
            self._write(f"{duration_text(moment.now - self._began_at):>5}  waiting for {moment.waiting}")
        self._waiting = moment.waiting

    def _write_new_notes(self) -> None:
        for note in self._journal.notes[self._written :]:
            self._write(f"{duration_text(note.at - self._began_at):>5}  {note.text}")
        self._written = len(self._journal.notes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write_new_notes()


def choose_view(demo: Demo, console: Console) -> View:
    """The live screen on a terminal; lines where there is none, and on stderr, beside a document on stdout."""
    if console.is_terminal and not console.stderr:
        return LiveScreen(console, lambda moment, lines: screen(demo, moment, lines))
    stream = sys.stderr if console.stderr else sys.stdout
    return ProgressLines(demo.journal, demo.story.began_at, lambda line: print(line, file=stream, flush=True))
