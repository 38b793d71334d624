"""Acknowledges the messages of one partition as an ordered prefix, once what they led to is confirmed.

Faust commits past an unfinished message when acks arrive out of order (faust-streaming/faust #606), so a message is
acknowledged only together with all before it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from faust.types import EventT

from pulsetrain.streams.outbox import Confirmation


class OrderedAcks:
    """Holds the unacknowledged messages of one partition during one assignment.

    `on_failure` is called when the broker refused what a message led to: the worker has to stop, because nothing may
    be acknowledged from there on.
    """

    def __init__(self, on_failure: Callable[[BaseException], None]) -> None:
        self._held: deque[EventT[bytes]] = deque()
        self._pending: deque[tuple[int | None, Confirmation]] = deque()
        self._on_failure = on_failure
        self._closed = False

    def hold(self, event: EventT[bytes]) -> None:
        """Takes the next message, in order of offsets."""
        self._held.append(event)

    def settle(self, safe_offset: int | None, confirmations: Sequence[Confirmation]) -> None:
        """Once all confirmations so far are done, acknowledges every held message before `safe_offset`.

        Safe offsets never go back.
        """
        if self._closed:
            return
        if confirmations:
            confirmation = confirmations[0] if len(confirmations) == 1 else asyncio.gather(*confirmations)
            self._pending.append((safe_offset, confirmation))
            confirmation.add_done_callback(self._advance)
        elif self._pending:
            self._pending[-1] = (safe_offset, self._pending[-1][1])
        else:
            self._acknowledge(safe_offset)

    def close(self) -> None:
        """The partition was revoked: nothing of this assignment is acknowledged any more."""
        self._closed = True
        self._held.clear()
        self._pending.clear()

    @property
    def is_closed(self) -> bool:
        """Whether the partition was revoked, or something that was sent has failed."""
        return self._closed

    @property
    def held(self) -> int:
        """How many messages are not acknowledged yet."""
        return len(self._held)

    def _advance(self, done: Confirmation) -> None:
        if not done.cancelled():
            done.exception()  # marked as retrieved: after `close` nobody else looks at it
        while self._pending and self._pending[0][1].done():
            safe_offset, confirmation = self._pending.popleft()
            failure = asyncio.CancelledError() if confirmation.cancelled() else confirmation.exception()
            if failure is not None:
                self.close()
                self._on_failure(failure)
                return
            self._acknowledge(safe_offset)

    def _acknowledge(self, safe_offset: int | None) -> None:
        while safe_offset is not None and self._held and self._held[0].message.offset < safe_offset:
            self._held.popleft().ack()
