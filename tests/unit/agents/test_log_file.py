"""The log's file stays below its size; older parts are compressed and go after their days."""

import gzip
import logging
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from pulsetrain.agents.errors import AgentError
from pulsetrain.agents.log_file import LogFile
from pulsetrain.agents.log_settings import LogSettings

DAY = 86_400.0
NOON = 1_767_268_800.0  # 2026-01-01T12:00:00Z


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """A logger that no other test has."""
    logger = logging.Logger("test")
    yield logger
    for handler in logger.handlers:
        handler.close()


def parts(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_full_file_is_put_aside_compressed_and_every_line_is_kept(tmp_path: Path, logger: logging.Logger) -> None:
    path = tmp_path / "agent.log"
    handler = LogFile(LogSettings(file=str(path), megabytes=0.1), clock=lambda: NOON)
    logger.addHandler(handler)
    lines = [f"{number:06} {'x' * 92}" for number in range(2500)]
    for line in lines:
        logger.info("%s", line)
    handler.close()
    assert parts(tmp_path) == ["agent.log", "agent.log.20260101T120000Z-1.gz", "agent.log.20260101T120000Z.gz"]
    kept = [gzip.decompress((tmp_path / f"agent.log.20260101T120000Z{end}.gz").read_bytes()) for end in ("", "-1")]
    assert b"".join([*kept, path.read_bytes()]).decode().splitlines() == lines
    assert all(len(part) <= 100_000 for part in [*kept, path.read_bytes()])


def test_parts_are_deleted_when_their_days_are_over_and_nothing_else_is(tmp_path: Path, logger: logging.Logger) -> None:
    now = [NOON]
    names = ["agent.log.20251201T000000Z.gz", "agent.log.20251231T000000Z-3.gz", "agent.log.old", "other.log.gz"]
    for name, age_days in zip(names, (8, 6, 30, 30), strict=True):
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (NOON - age_days * DAY,) * 2)
    handler = LogFile(LogSettings(file=str(tmp_path / "agent.log")), clock=lambda: now[0])
    logger.addHandler(handler)
    logger.info("one")
    assert parts(tmp_path) == ["agent.log", *names[1:]]
    now[0] += 0.5 * DAY
    logger.info("two")
    assert names[1] in parts(tmp_path)
    now[0] += DAY
    logger.info("three")
    assert parts(tmp_path) == ["agent.log", *names[2:]]


def test_a_part_that_a_crash_left_uncompressed_is_compressed_at_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "agent.log.20260101T120000Z").write_text("a line\n")
    (tmp_path / "agent.log.20260101T120000Z.gz.part").write_bytes(b"half")
    with closing(LogFile(LogSettings(file=str(tmp_path / "agent.log")), clock=lambda: NOON)):
        pass
    assert parts(tmp_path) == ["agent.log", "agent.log.20260101T120000Z.gz"]
    assert gzip.decompress((tmp_path / "agent.log.20260101T120000Z.gz").read_bytes()) == b"a line\n"


def test_a_part_that_cannot_be_compressed_now_stays_as_it_is_and_takes_no_more_room(tmp_path: Path) -> None:
    (tmp_path / "agent.log.20260101T120000Z").write_text("a line\n")
    (tmp_path / "agent.log.20260101T120000Z.gz").mkdir()
    with closing(LogFile(LogSettings(file=str(tmp_path / "agent.log")), clock=lambda: NOON)):
        pass
    assert parts(tmp_path) == ["agent.log", "agent.log.20260101T120000Z", "agent.log.20260101T120000Z.gz"]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"agent.log.file '.*/none/agent.log' can't be written: No such file"):
        LogFile(LogSettings(file=str(tmp_path / "none" / "agent.log")))


def test_the_defaults_are_100_megabytes_and_7_days_and_wrong_sizes_are_named() -> None:
    settings = LogSettings()
    assert (settings.file, settings.megabytes, settings.days) == ("", 100.0, 7.0)
    with pytest.raises(msgspec.ValidationError, match=r"agent.log.megabytes is 0; it must lie between 0.1 and 10000"):
        msgspec.convert({"megabytes": 0.0}, LogSettings)
    with pytest.raises(ValueError, match=r"agent\.log\.days is nan"):
        LogSettings(days=float("nan"))


def test_a_file_that_cannot_be_opened_for_a_while_is_written_again_afterwards(
    tmp_path: Path, logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    folder = tmp_path / "logs"
    folder.mkdir()
    with closing(LogFile(LogSettings(file=str(folder / "agent.log"), megabytes=0.1), clock=lambda: NOON)) as handler:
        logger.addHandler(handler)
        logger.info("%s", "x" * 99_990)
        folder.rename(tmp_path / "away")
        logger.info("the file is full and there is no folder for another one")
        folder.mkdir()
        logger.info("here again")
    assert (folder / "agent.log").read_text() == "here again\n"
