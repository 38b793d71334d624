"""Keeps a flood of the same log message to one line a while, with the number of those left out.

While a broker is away, aiokafka and Faust log some 90 lines a second.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable

REPEAT_SECONDS = 30.0
REMEMBERED_MESSAGES = 1000


class RepeatFilter(logging.Filter):
    """Passes a message (same logger and template) once every `repeat_seconds`; the next one says how many were not."""

    def __init__(self, repeat_seconds: float = REPEAT_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._repeat_seconds = repeat_seconds
        self._clock = clock
        self._seen: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        key = (record.name, str(record.msg))
        now = self._clock()
        since, left_out = self._seen.get(key, (-self._repeat_seconds, 0))
        if now - since < self._repeat_seconds:
            self._seen[key] = (since, left_out + 1)
            return False
        self._seen[key] = (now, 0)
        self._seen.move_to_end(key)
        if len(self._seen) > REMEMBERED_MESSAGES:
            self._seen.popitem(last=False)
        if left_out:
            record.msg = f"{record.getMessage()} ({left_out} more like it in the last {now - since:.0f} s)"
            record.args = ()
        return True
