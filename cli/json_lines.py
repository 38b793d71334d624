"""Messages as JSON, one object a line, for other programs."""

from typing import Any

import msgspec
import numpy as np

from pulsetrain.cli.decoding import Record, Tombstone
from pulsetrain.cli.topic_reader import Received


def json_line(received: Received, record: Record | None, error: str | None = None) -> str:
    """Position, broker's time and key of a message with its record, or with what was wrong with it.

    Arrays become lists, missing numbers null, bytes base64; a tombstone's record is null.
    """
    line = {
        "topic": received.position.topic,
        "partition": received.position.partition,
        "offset": received.position.offset,
        "at": received.at,
        "key": received.key,
    }
    if error is None:
        line["record"] = None if isinstance(record, Tombstone) else record
    else:
        line["error"] = error
    return msgspec.json.encode(line, enc_hook=_plain).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")
