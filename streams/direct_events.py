"""The events of an agent's stream, without a turn of the event loop before each.

Faust's iterator lets the loop's other tasks go first before every event, however many wait in its queue. Each time the
loop asks the kernel for news, and hands the interpreter to the thread that reads from Kafka meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

from faust.types import ChannelT, EventT, StreamT

EVENTS_A_TURN = 16
"""After so many events the loop's other tasks have their turn: a few milliseconds of work."""


async def direct_events(stream: StreamT[Any]) -> AsyncIterator[EventT[bytes]]:
    """Gives each event of the stream; whoever takes it acknowledges it.

    An event of an earlier assignment is left out: it is delivered again to whoever has its partition now.
    Left out, too, is what Faust's iterator does for processors, joins, sends at commit (`stream_publish_on_commit`) and
    a wait for all acknowledgements (`stream_wait_empty`): the app of a stage has none of them.

    Raises:
        Exception: what was thrown at the readers of the topic.
    """
    app = stream.app
    queue = cast(ChannelT[Any], stream.channel).queue
    taken = 0
    while not stream.should_stop:
        if taken == EVENTS_A_TURN:
            taken = 0
            await asyncio.sleep(0)
        if queue.empty():
            taken = 0
            event = await queue.get()
        else:
            event = queue.get_nowait()
        taken += 1
        message = event.message
        if app.flow_control.is_active() and message.generation_id == app.consumer_generation_id:
            app.monitor.on_stream_event_in(message.tp, message.offset, stream, event)
            yield event
