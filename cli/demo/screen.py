"""The screen of the demo: the loop's chapters, this machine, the last verdicts and events; and the table at the end."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from pulsetrain.cli.demo.chapters import Chapter, ChapterState
from pulsetrain.cli.demo.demo import Demo
from pulsetrain.cli.demo.journal import Note, Tone
from pulsetrain.cli.demo.observations import Observations, Shown
from pulsetrain.cli.demo.wording import detection_text, duration_text

_BLOCKS = "▁▂▃▄▅▆▇█"
_MARKS = {
    ChapterState.AHEAD: ("○", "dim"),
    ChapterState.RUNNING: ("●", "bold yellow"),
    ChapterState.DONE: ("✓", "bold green"),
    ChapterState.FAILED: ("✗", "bold red"),
}
_TONES = {Tone.PLOT: "bold", Tone.EVENT: "cyan", Tone.VERDICT: "red", Tone.PROBLEM: "yellow"}
_SPARK_CELLS = 20
_OTHER_LINES = 19
"""Lines of the screen that are not of verdicts and events."""
_FEWEST_NOTES, _MOST_NOTES = 4, 12


@dataclass(frozen=True, slots=True)
class Moment:
    """What the demo waits for, and what share (0 to 1) of the time or of the way is over; `now` in Unix seconds."""

    now: float
    waiting: str = ""
    share: float = 0.0


def screen(demo: Demo, moment: Moment, lines: int) -> RenderableType:
    """Everything at a glance, for a terminal of at least 100 columns and so many lines."""
    began_at, chapters, notes = demo.story.began_at, demo.story.chapters, demo.journal.notes
    header = Table.grid(Column(ratio=1), Column(justify="right", no_wrap=True), expand=True)
    clock = f"{duration_text(moment.now - began_at)} of at most 4:00"
    header.add_row(
        Text(f"pulsetrain demo on the {demo.broker}", "bold"),
        Text(clock, "dim"),
    )
    middle = Table.grid(Column(ratio=1), Column(ratio=1), expand=True)
    middle.add_row(
        _panel("the loop", _loop(chapters, moment)),
        _panel("this machine", _machine(demo.seen, demo.story.running, moment.now)),
    )
    room = min(max(lines - _OTHER_LINES, _FEWEST_NOTES), _MOST_NOTES)
    verdicts = [note for note in notes if note.tone is Tone.VERDICT]
    events = [note for note in notes if note.tone is not Tone.VERDICT]
    return Group(
        header,
        middle,
        _panel("verdicts", _newest(verdicts, began_at, room // 2)),
        _panel("events", _newest(events, began_at, room - room // 2)),
    )


def result_table(chapters: Sequence[Chapter]) -> Table:
    """What was done to this machine, what came of it, after how many seconds, and by which evidence."""
    table = Table(
        Column(""),
        Column("what ran", no_wrap=True),
        Column("verdict", no_wrap=True),
        Column("after", justify="right", no_wrap=True),
        Column("evidence", ratio=1),
        box=SIMPLE_HEAD,
        expand=True,
    )
    for chapter in chapters:
        if chapter.load:
            found = chapter.detection
            after, evidence = (f"{found.after_seconds:.1f} s", detection_text(found)) if found else ("", "")
            table.add_row(Text(*_MARKS[chapter.state]), chapter.load, chapter.result or "not tried", after, evidence)
    return table


def sparkline(values: Sequence[float], lowest: float | None = None, highest: float | None = None) -> str:
    """Values as blocks of eight heights, from `lowest` to `highest`, by default the least and the greatest of them."""
    if not values:
        return ""
    least = min(values) if lowest is None else lowest
    step = ((max(values) if highest is None else highest) - least) / len(_BLOCKS) or 1.0
    return "".join(_BLOCKS[min(max(int((value - least) / step), 0), len(_BLOCKS) - 1)] for value in values)


def _panel(title: str, content: RenderableType) -> Panel:
    return Panel(content, title=title, title_align="left", border_style="dim")


def _loop(chapters: Sequence[Chapter], moment: Moment) -> RenderableType:
    result = Column(ratio=1, justify="right", no_wrap=True)
    table = Table.grid(Column(width=2), Column(no_wrap=True), result, expand=True)
    for chapter in chapters:
        after = f"after {chapter.detection.after_seconds:.1f} s" if chapter.detection else chapter.result
        style = "dim" if chapter.state is ChapterState.AHEAD else ""
        table.add_row(Text(*_MARKS[chapter.state]), Text(chapter.title, style), Text(after, "green"))
    if not moment.waiting:
        return Group(table, "", "")
    return Group(
        table,
        Text(f"waiting for {moment.waiting}", "yellow"),
        ProgressBar(total=1.0, completed=moment.share, complete_style="yellow"),
    )


def _machine(seen: Observations, loads: Sequence[str], now: float) -> RenderableType:
    scoring = [one.version for one in seen.published if seen.is_scoring(one)]
    figures = Table.grid(Column(style="dim", width=13), Column(ratio=1, no_wrap=True), expand=True)
    figures.add_row("node", seen.entity or "no window yet")
    figures.add_row("runs on it", Text("a training job").append("".join(f", {load}" for load in loads), "bold red"))
    figures.add_row("samples", f"{seen.sample_rate.per_second(now):,.0f}/s")
    figures.add_row("windows", f"{seen.window_rate.per_second(now):.1f}/s, {seen.scored} scored")
    figures.add_row("verdicts", f"{seen.flagged} flagged, {seen.excused} excused")
    figures.add_row("model", f"version {scoring[-1]}" if scoring else "none yet")
    figures.add_row("dead letters", str(seen.dead_letters))
    value = Column(ratio=1, justify="right", no_wrap=True)
    courses = Table.grid(Column(style="dim", width=13), Column(width=_SPARK_CELLS + 1), value, expand=True)
    for shown, values in seen.history.items():
        newest = list(values)[-_SPARK_CELLS:]
        courses.add_row(shown.value, Text(_course(shown, newest), "blue"), _value(shown, newest[-1]) if newest else "")
    return Group(figures, "", courses)


def _course(shown: Shown, values: Sequence[float]) -> str:
    match shown:
        case Shown.CPU_BUSY:
            return sparkline(values, 0.0, 1.0)
        case Shown.MEMORY_USED:
            return sparkline(values)
        case _:
            return sparkline(values, 0.0)


def _value(shown: Shown, value: float) -> str:
    match shown:
        case Shown.CPU_BUSY:
            return f"{value:.0%}"
        case Shown.MEMORY_USED:
            return f"{value / 1e9:.2f} GB"
        case Shown.DISK_WRITTEN:
            return f"{value / 1e6:,.1f} MB/s"
        case Shown.IP_PACKETS:
            return f"{value:,.0f}/s"


def _newest(notes: Sequence[Note], began_at: float, lines: int) -> RenderableType:
    table = Table.grid(Column(style="dim", width=6), Column(ratio=1, no_wrap=True, overflow="ellipsis"), expand=True)
    shown = list(notes)[-lines:]
    for note in shown:
        table.add_row(duration_text(note.at - began_at), Text(note.text, _TONES[note.tone]))
    for _ in range(lines - len(shown)):
        table.add_row("", "")
    return table
