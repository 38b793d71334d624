"""Times in JSON records: RFC 3339 with an offset, within what Unix nanoseconds in 64 bits can express."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec

AwareTime = Annotated[datetime, msgspec.Meta(tz=True)]

_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(2262, 1, 1, tzinfo=UTC)


def utc_time(time_ns: int) -> datetime:
    """Unix nanoseconds as UTC, rounded down to a microsecond."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)


def check_times(**times: datetime | None) -> None:
    """Refuse times that other clocks and time zones can't express.

    Raises:
        ValueError: a time has no offset, or is before 1970 or after 2261; the message names it.
    """
    for name, time in times.items():
        if time is None:
            continue
        if time.tzinfo is None:
            raise ValueError(f"{name} needs an offset from UTC")
        if not _EARLIEST <= time < _LATEST:
            raise ValueError(f"{name} must lie between 1970 and 2261")
