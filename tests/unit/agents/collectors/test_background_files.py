"""When the files of a background collector are closed."""

import threading

from pulsetrain.agents.collectors.background_files import BackgroundFiles
from pulsetrain.agents.collectors.base import Collected

_SECONDS = 60.0


class Collector(BackgroundFiles):
    def __init__(self) -> None:
        super().__init__()
        self.reads = threading.Event()
        self.goes_on = threading.Event()
        self.closed_by: list[threading.Thread] = []

    def _collect(self, time_ns: int) -> Collected:
        self.reads.set()
        assert self.goes_on.wait(_SECONDS), "nobody let the reading go on"
        assert not self.closed_by
        return Collected()

    def _close_files(self) -> None:
        self.closed_by.append(threading.current_thread())


def test_files_are_closed_at_once_where_nobody_reads_them() -> None:
    collector = Collector()
    collector.close()
    assert collector.closed_by == [threading.current_thread()]


def test_files_that_are_being_read_are_closed_by_who_reads_them() -> None:
    collector = Collector()
    reader = threading.Thread(target=collector.collect, args=(0,))
    reader.start()
    assert collector.reads.wait(_SECONDS), "the reading did not begin"
    collector.close()
    assert collector.closed_by == []
    collector.goes_on.set()
    reader.join(_SECONDS)
    assert collector.closed_by == [reader]
