"""What came of the demo, as one document for machines."""

import io
from typing import Any

from rich.console import Console
from rich.text import Text

from pulsetrain.cli.demo.chapters import Chapter
from pulsetrain.cli.demo.demo import Demo
from pulsetrain.cli.demo.detection import Detection
from pulsetrain.cli.demo.screen import Moment, result_table, screen
from pulsetrain.cli.demo.wording import duration_text

PICTURE_COLUMNS = 112
PICTURE_LINES = 30


def print_result(demo: Demo, console: Console) -> None:
    """The table of what ran and what came of it, and whether the loop closed."""
    if not console.is_terminal:
        console.width = PICTURE_COLUMNS
    console.print(result_table(demo.story.chapters))
    took = duration_text(demo.seconds)
    if demo.not_closed is None:
        console.print(Text(f"The loop closed in {took}.", "bold green"))
    else:
        console.print(Text(f"The loop did not close: {demo.not_closed}.", "bold red"))


def picture(demo: Demo) -> str:
    """The last screen and the table, as SVG."""
    console = Console(record=True, width=PICTURE_COLUMNS, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(screen(demo, Moment(demo.story.began_at + demo.seconds), PICTURE_LINES))
    print_result(demo, console)
    return console.export_svg(title="pulsetrain demo")


def document(demo: Demo) -> dict[str, Any]:
    """The same for machines: plain JSON values; `not_closed` is null where the loop closed."""
    seen = demo.seen
    return {
        "closed": demo.not_closed is None,
        "not_closed": demo.not_closed,
        "seconds": round(demo.seconds, 1),
        "broker": demo.broker,
        "entity": seen.entity,
        "chapters": [_chapter(chapter) for chapter in demo.story.chapters],
        "models": [
            {"version": model.version, "windows": model.windows, "labels": model.labels} for model in seen.published
        ],
        "samples": seen.samples,
        "windows": seen.windows,
        "windows_scored": seen.scored,
        "windows_flagged": seen.flagged,
        "windows_excused": seen.excused,
        "anomalies": len({one.anomaly.id for one in seen.revisions}),
        "dead_letters": seen.dead_letters,
    }


def _chapter(chapter: Chapter) -> dict[str, Any]:
    return {
        "name": chapter.name,
        "state": chapter.state.value,
        "result": chapter.result,
        "detection": None if chapter.detection is None else _detection(chapter.detection),
    }


def _detection(found: Detection) -> dict[str, Any]:
    return {
        "anomaly_id": found.anomaly.id,
        "after_seconds": round(found.after_seconds, 2),
        "model_version": found.anomaly.model.version,
        "score": found.anomaly.score,
        "evidence": [
            {
                "metric": one.metric,
                "feature": one.feature,
                "value": one.value,
                "expected": one.expected,
                "deviation_sigma": one.deviation_sigma,
            }
            for one in found.anomaly.evidence
        ],
    }
