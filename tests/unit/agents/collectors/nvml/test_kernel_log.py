"""Xids in the kernel's log, from recorded lines."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pulsetrain.agents.collectors.nvml.kernel_log import KernelLog, KernelXid, xid_in

_FALLEN = (
    b"3,1721,88012345678,-;NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, "
    b"GPU has fallen off the bus.\n"
    b" SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n"
)


@pytest.mark.parametrize(
    ("record", "xid"),
    [
        (
            _FALLEN,
            KernelXid((0, 0x3B, 0), 79, None, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
        ),
        (
            b"3,9,1,-;NVRM: Xid (PCI:0000:c1:00): 31, pid=20771, name=python3, Ch 00000008, intr 00000000. MMU Fault\n",
            KernelXid((0, 0xC1, 0), 31, 20771, "pid=20771, name=python3, Ch 00000008, intr 00000000. MMU Fault"),
        ),
        (
            b"4,99,1,-;NVRM: Xid (0000:03:00): 13, 0002 00000000 0000a0c0 00001b0c\n",
            KernelXid((0, 3, 0), 13, None, "0002 00000000 0000a0c0 00001b0c"),
        ),
        (
            b"4,99,1,-;NVRM: Xid (PCI:0000:01:00 GPU-I:05): 43, pid=4711, name=train, Ch 00000010\n",
            KernelXid((0, 1, 0), 43, 4711, "pid=4711, name=train, Ch 00000010"),
        ),
        (b"4,99,1,-;NVRM: Xid (PCI:0009:01:00): 48\n", KernelXid((9, 1, 0), 48, None, "")),
        (b"12,9,1,-;NVRM: Xid (PCI:0000:3b:00): 79, by root\n", KernelXid((0, 0x3B, 0), 79, None, "by root")),
    ],
)
def test_a_line_of_the_driver_is_understood(record: bytes, xid: KernelXid) -> None:
    assert xid_in(record) == xid


@pytest.mark.parametrize(
    "record",
    [
        b"6,1,2,-;usb 1-1: new device\n",
        b"3,1,2,-;NVRM: Xid (PCI:nowhere): 79\n",
        b"3,1,2,-;NVRM: Xid (PCI:0000:3b:00): what\n",
        b"NVRM: Xid (PCI:0000:3b:00): 79\n",
        b"",
        b"\xff\xfe;",
        b"3,1,2,-;" + b"x" * 100_000,
    ],
)
def test_anything_else_is_no_xid(record: bytes) -> None:
    assert xid_in(record) is None


class _Log:
    """A socket that brings one record a read, as /dev/kmsg does."""

    def __init__(self) -> None:
        self.writer, reader = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        reader.setblocking(False)
        self.descriptor = reader.detach()
        self.log = KernelLog(Path("/dev/kmsg"), lambda path: self.descriptor)


@pytest.fixture
def log() -> Iterator[_Log]:
    made = _Log()
    yield made
    made.log.close()
    made.writer.close()


def test_what_was_there_at_the_start_is_the_past_and_what_comes_is_new(log: _Log) -> None:
    log.writer.send(_FALLEN)
    at_start = log.log.read()
    log.writer.send(b"6,1,2,-;something else\n")
    log.writer.send(_FALLEN)

    later = log.log.read()

    assert [len(xids) for xids in at_start] == [1, 0]
    assert [len(xids) for xids in later] == [0, 1]
    assert log.log.read() == ([], [])


def test_a_log_that_may_not_be_read_says_why(tmp_path: Path) -> None:
    log = KernelLog(tmp_path / "kmsg")

    support = log.is_supported()

    assert not support.supported
    assert "No such file" in support.reason
    assert log.read() == ([], [])


def test_a_log_that_overtakes_its_reader_is_read_on_and_that_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    overwritten = BrokenPipeError(32, "overwritten")
    reads: list[bytes | OSError] = [BlockingIOError(), overwritten, overwritten, _FALLEN, BlockingIOError()]

    def read(descriptor: int, size: int) -> bytes:
        answer = reads.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    log = KernelLog(open_log=lambda path: 99)
    monkeypatch.setattr(os, "read", read)
    log.read()

    _, new = log.read()

    assert [xid.code for xid in new] == [79]
    assert [record.message for record in caplog.records] == [
        "/dev/kmsg grows faster than it is read: an Xid in it may be told by NVML only"
    ]


def _record(sequence: int, code: int) -> bytes:
    return b"3,%d,1,-;NVRM: Xid (PCI:0000:3b:00): %d, pid=1\n" % (sequence, code)


class _KernelBuffer:
    """What /dev/kmsg does: each opening begins with the oldest record that is still there."""

    def __init__(self, *records: bytes) -> None:
        self.records = list(records)
        self._places: dict[int, int] = {}

    def open(self, path: Path) -> int:
        descriptor = os.open(os.devnull, os.O_RDONLY)
        self._places[descriptor] = 0
        return descriptor

    def read(self, descriptor: int, size: int) -> bytes:
        place = self._places[descriptor]
        if place >= len(self.records):
            raise BlockingIOError
        self._places[descriptor] += 1
        return self.records[place]


def _codes(read: tuple[list[KernelXid], list[KernelXid]]) -> tuple[list[int], list[int]]:
    return [xid.code for xid in read[0]], [xid.code for xid in read[1]]


def test_a_log_that_was_closed_goes_on_behind_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = _KernelBuffer(_record(7, 13), b"6,8,1,-;something else\n")
    log = KernelLog(open_log=buffer.open)
    monkeypatch.setattr(os, "read", buffer.read)
    assert _codes(log.read()) == ([13], [])
    buffer.records.append(_record(9, 31))
    assert _codes(log.read()) == ([], [31])

    log.close()
    buffer.records += [_record(10, 79), _record(11, 79)]

    assert _codes(log.read()) == ([], [79, 79])
    log.close()
    assert _codes(log.read()) == ([], [])
    log.close()


def test_a_log_that_is_closed_in_the_middle_of_the_past_is_still_in_the_past(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = _KernelBuffer(*(_record(sequence, 13) for sequence in range(1, 5001)))
    log = KernelLog(open_log=buffer.open)
    monkeypatch.setattr(os, "read", buffer.read)
    assert [len(xids) for xids in log.read()] == [4096, 0]

    log.close()
    log.read()

    assert [len(xids) for xids in log.read()] == [5000 - 4096, 0]
    buffer.records.append(_record(5001, 79))
    assert _codes(log.read()) == ([], [79])
    log.close()
