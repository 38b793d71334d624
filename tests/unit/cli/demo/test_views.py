"""What people and programs see of a demo."""

import io
import json
import xml.etree.ElementTree as ET

import msgspec
import pytest
from rich.console import Console

from pulsetrain.cli.demo.chapters import first_problem
from pulsetrain.cli.demo.demo import Demo
from pulsetrain.cli.demo.report import document, picture, print_result
from pulsetrain.cli.demo.screen import Moment, screen, sparkline
from pulsetrain.cli.demo.views import LiveScreen, ProgressLines, choose_view
from pulsetrain.cli.demo.wording import duration_text, metric_text, sigma_text
from tests.unit.cli.demo.world import BEGIN, World


def played(world: World) -> Demo:
    """A demo whose story has been told."""
    not_closed = world.run() or first_problem(world.story.chapters)
    return Demo("embedded broker 127.0.0.1:1", world.journal, world.seen, world.story, not_closed, world.now - BEGIN)


def drawn(demo: Demo, moment: Moment, columns: int = 100, lines: int = 30) -> str:
    console = Console(file=io.StringIO(), width=columns, height=lines)
    with console.capture() as capture:
        console.print(screen(demo, moment, lines))
    return capture.get()


@pytest.fixture(scope="module")
def closed() -> Demo:
    return played(World())


def test_the_screen_fits_a_terminal_of_100_columns_and_24_lines(closed: Demo) -> None:
    text = drawn(closed, Moment(BEGIN + 200, "quiet", 0.4), 100, 24)
    assert len(text.splitlines()) <= 24
    assert max(len(line) for line in text.splitlines()) <= 100


def test_the_screen_shows_chapters_figures_verdicts_and_events(closed: Demo) -> None:
    text = drawn(closed, Moment(BEGIN + 187, "quiet", 0.4), 120, 40)
    for part in (
        "pulsetrain demo on the embedded broker 127.0.0.1:1",
        "3:07 of at most 4:00",
        "✓ detect a CPU hog",
        "waiting for quiet",
        "node-00/host",
        "version 2",
        "anomaly, score 2.0: ",
        "starts: CPU hog",
    ):
        assert part in text


def test_a_screen_before_anything_came_has_no_figures() -> None:
    world = World()
    demo = Demo("embedded broker", world.journal, world.seen, world.story)
    text = drawn(demo, Moment(BEGIN, "the first feature window", 0.0))
    assert "no window yet" in text
    assert "none yet" in text


def test_the_table_names_each_load_its_verdict_the_time_and_the_evidence(closed: Demo) -> None:
    output = io.StringIO()
    print_result(closed, Console(file=output))
    rows = [line.split("  ") for line in output.getvalue().splitlines() if "✓" in line]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert [row[1] for row in cells] == [
        "CPU hog",
        "memory leak",
        "disk hammer",
        "network copy",
        "network copy, again",
        "disk hammer during the copy",
        "CPU hog, again",
    ]
    assert cells[0][2] == "detected"
    assert cells[0][3].endswith(" s")
    assert cells[0][4] == "cpu.utilization +12 σ"
    assert cells[3][2] == "flagged"
    assert cells[4][2].startswith("excused ")
    assert "The loop closed in " in output.getvalue()


def test_a_loop_that_did_not_close_says_why() -> None:
    output = io.StringIO()
    print_result(played(World(unseen={"memory_leak"})), Console(file=output))
    assert "✗   memory leak" in output.getvalue()
    assert "The loop did not close: the memory leak was not detected in 12 s." in output.getvalue()


def test_the_document_is_plain_json_with_every_chapter(closed: Demo) -> None:
    read = json.loads(msgspec.json.encode(document(closed)))
    assert read["closed"] is True
    assert read["not_closed"] is None
    assert [chapter["name"] for chapter in read["chapters"]] == [
        *("start", "learn", "detect_cpu_hog", "detect_memory_leak", "detect_disk_hammer"),
        *("flag_benign", "retrain", "excuse", "detect_meanwhile_disk_hammer", "detect_again_cpu_hog"),
    ]
    found = read["chapters"][2]["detection"]
    assert found["evidence"][0]["metric"] == "system.cpu.utilization"
    assert found["after_seconds"] > 0
    assert [model["labels"] for model in read["models"]] == [0, 1]


def test_the_picture_is_an_svg_of_the_screen_and_the_table(closed: Demo) -> None:
    drawing = ET.fromstring(picture(closed))  # noqa: S314  # written by the line itself
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    text = "".join(drawing.itertext()).replace("\xa0", " ")
    assert "pulsetrain demo" in text
    assert "detect a CPU hog" in text
    assert "The loop closed in" in text


def test_lines_tell_each_note_once_and_each_new_wait() -> None:
    world = World()
    lines: list[str] = []
    view = ProgressLines(world.journal, BEGIN, lines.append)
    with view:
        view.show(Moment(BEGIN + 1, "the first feature window"))
        view.show(Moment(BEGIN + 2, "the first feature window"))
        world.run()
        view.show(Moment(BEGIN + 200, "quiet"))
    assert lines[0] == " 0:01  waiting for the first feature window"
    assert len([line for line in lines if line.endswith("ends: CPU hog")]) == 2
    assert lines[-1] == " 3:20  waiting for quiet"


def test_notes_that_come_last_are_told_when_the_view_ends() -> None:
    world = World()
    lines: list[str] = []
    with ProgressLines(world.journal, BEGIN, lines.append):
        world.run()
    assert any(line.endswith("ends: CPU hog") for line in lines)


def test_the_live_screen_is_for_terminals_and_never_beside_a_document(closed: Demo) -> None:
    assert isinstance(choose_view(closed, Console(force_terminal=True, file=io.StringIO())), LiveScreen)
    assert isinstance(choose_view(closed, Console(force_terminal=False, file=io.StringIO())), ProgressLines)
    assert isinstance(choose_view(closed, Console(force_terminal=True, stderr=True)), ProgressLines)


def test_the_live_screen_draws_four_times_a_second_and_restores_the_terminal() -> None:
    world = World()
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=100, height=30)
    drawings: list[float] = []

    def draw(moment: Moment, lines: int) -> str:
        drawings.append(moment.now)
        return f"at {moment.now}"

    with LiveScreen(console, draw) as view:
        for tick in range(20):
            view.show(Moment(world.now + tick * 0.1, "quiet"))
    assert len(drawings) == 7
    assert output.getvalue().count("\x1b[?1049h") == output.getvalue().count("\x1b[?1049l") == 1


@pytest.mark.parametrize(
    ("values", "lowest", "highest", "text"),
    [
        ([], None, None, ""),
        ([3.0, 3.0], None, None, "▁▁"),
        ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], None, None, "▁▂▃▄▅▆▇██"),
        ([4.0, 8.0], 0.0, None, "▅█"),
        ([0.0, 0.5, 2.0], 0.0, 1.0, "▁▅█"),
    ],
)
def test_a_sparkline_has_eight_heights(
    values: list[float], lowest: float | None, highest: float | None, text: str
) -> None:
    assert sparkline(values, lowest, highest) == text


def test_wording() -> None:
    assert metric_text("system.disk.io{disk.io.direction=write,system.device=vda}") == "disk.io{write,vda}"
    assert metric_text("hw.gpu\x1b.power") == "hw.gpu\\x1b.power"
    assert [sigma_text(sigma) for sigma in (4.25, -12.3, 12345.6, None)] == ["+4.2 σ", "-12 σ", "+12,346 σ", "missing"]
    assert [duration_text(seconds) for seconds in (0.4, 59.9, 187.0)] == ["0:00", "0:59", "3:07"]
