"""A Faust table each change of which can be waited for.

Faust hands changes to a buffer that another task sends. Before it commits an offset, it waits for that buffer 0.1 s at
most, and not at all for the message that just left it (`flush_atmost` in faust/transport/producer.py), so a worker that
dies can leave an offset committed whose change is lost. Whoever acknowledges a message only after its change is
confirmed is safe from that.
"""

from typing import Any

import faust
from faust.types import FutureMessage

from pulsetrain.streams.outbox import Confirmation


class ConfirmedTable(faust.Table[str, Any]):
    """Made like `faust.Table`; its changelog has one record a change, in order."""

    _newest_change: FutureMessage

    def change(self, key: str, value: Any) -> Confirmation:
        """Sets a value; the future is done when the broker has confirmed the changelog's record."""
        self[key] = value
        return self._newest_change

    def send_changelog(self, *args: Any, **kwargs: Any) -> FutureMessage:
        """Sends a change, as Faust does for each key that is set, and remembers its confirmation."""
        self._newest_change = super().send_changelog(*args, **kwargs)
        return self._newest_change
