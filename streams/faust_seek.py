"""A consumer that seeks only while nothing is under way from the broker to a stream.

When an app has tables, Faust fetches while it restores them, and then seeks to the committed offsets without stopping
that. What was fetched before goes on into the streams' queues during the seek and after it: Faust empties the queues,
takes the offset of the last such message as read, drops what it fetches again before that offset, and takes the hole
for a gap in the log that needs no acknowledgement. The worker then stands still, or leaves messages out.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from faust.transport.drivers import aiokafka


class SettledSeekConsumer(aiokafka.Consumer):
    """Faust's consumer, whose `perform_seek` waits until the fetch and the message that are under way are done with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._settled = asyncio.Event()
        self._settled.set()
        self._fetching: asyncio.Task[Any] | None = None

    async def getmany(self, timeout: float) -> AsyncIterator[Any]:  # noqa: ASYNC109 (as in Faust)
        """Fetches messages and gives them one by one; unsettled from the fetch until the last one is taken."""
        if not self.flow_active:
            await self.wait(self.can_resume_flow.wait())
        self._fetching = asyncio.current_task()
        self._settled.clear()
        try:
            async for partition_and_message in super().getmany(timeout):
                yield partition_and_message
        finally:
            self._settled.set()

    async def perform_seek(self) -> None:
        """Stops the flow and seeks to the committed offsets; whoever calls it resumes the flow.

        A call out of `getmany` itself, for messages that came after the flow was stopped, does nothing: Faust seeks
        before it resumes the flow.
        """
        if asyncio.current_task() is self._fetching:
            return
        self.stop_flow()
        await self._settled.wait()
        await super().perform_seek()
