"""Files that stay open from reading to reading."""

import os
from pathlib import Path

import pytest

from pulsetrain.agents.collectors import kernel_file
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.errors import CollectError

DIGITS = b"0123456789abcdef"


def test_every_reading_shows_the_present_content(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    path.write_text("1\n")
    file = KernelFile(path)
    assert file.read() == b"1\n"
    path.write_text("22\n")
    assert file.read() == b"22\n"
    file.close()


def test_a_file_stays_open_between_readings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "counter"
    path.write_text("1\n")
    file = KernelFile(path)
    file.read()
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("opened again"))
    assert file.read() == b"1\n"
    file.close()


def test_a_file_that_is_handed_out_in_parts_is_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vmstat"
    content = bytes(range(250)) * 40
    path.write_bytes(content)
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda descriptor, size, offset: pread(descriptor, min(size, 2100), offset))
    file = KernelFile(path)
    assert file.read() == content
    file.close()


@pytest.mark.parametrize("path", ["/proc/stat", "/proc/vmstat", "/proc/cpuinfo"])
def test_the_kernels_own_files_are_read_whole(path: str) -> None:
    file = KernelFile(Path(path))
    content = file.read()
    file.close()
    # Python's reader goes on until there is nothing more. What changes between two readings are digits.
    assert content.translate(None, DIGITS).split() == Path(path).read_bytes().translate(None, DIGITS).split()


def test_only_the_head_is_read_where_only_the_head_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_bytes(b"x" * 10_000)
    file = KernelFile(path, head_bytes=4096)
    assert len(file.read()) == 4096
    file.close()


def test_a_file_that_is_absent_is_named_and_found_again_when_it_appears(tmp_path: Path) -> None:
    path = tmp_path / "late"
    file = KernelFile(path)
    with pytest.raises(CollectError, match=r"late: No such file"):
        file.read()
    path.write_text("here")
    assert file.read() == b"here"
    file.close()


def test_a_reading_that_fails_closes_the_file_and_the_next_opens_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "disk"
    path.write_text("1")
    file = KernelFile(path)
    file.read()
    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", lambda *_: (_ for _ in ()).throw(OSError(19, "No such device")))
        with pytest.raises(CollectError, match="No such device"):
            file.read()
    path.unlink()
    path.write_text("2")
    assert file.read() == b"2"
    file.close()


def test_a_file_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_file, "MAX_FILE_BYTES", 100_000)
    path = tmp_path / "huge"
    path.write_bytes(b"x" * 100_001)
    with pytest.raises(CollectError, match="more than 100000 bytes"):
        KernelFile(path).read()
