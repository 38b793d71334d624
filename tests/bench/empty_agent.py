"""An empty Faust agent: what Faust itself costs for the events that the features worker reads.

`python -m tests.bench.empty_agent BOOTSTRAP PREFIX PARTITIONS RECORD EVERY` reads the samples topic with the settings
of the worker's app, decodes nothing, and sends the content of the file RECORD to the features topic after each EVERY
events.
"""

import asyncio
import logging
import sys
from itertools import count
from pathlib import Path
from typing import Any

import faust

from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams.faust_app import make_app


def main(bootstrap: str, prefix: str, partitions: str, record: str, every: str) -> None:
    """Runs until it is killed."""
    logging.basicConfig(level=logging.WARNING)
    topics = TopicNames(prefix)
    app = make_app("empty", KafkaSettings(bootstrap=bootstrap), topics, int(partitions), declare_topics=False)
    raw: dict[str, Any] = {"key_type": bytes, "value_type": bytes, "key_serializer": "raw", "value_serializer": "raw"}
    samples, features = app.topic(topics.samples, **raw), app.topic(topics.features, **raw)
    value, events_per_record = Path(record).read_bytes(), int(every)

    async def consume(stream: Any) -> None:
        numbers = count(1)
        async for event in stream.events():
            if next(numbers) % events_per_record == 0:
                await features.send(key=event.key, value=value)

    app.agent(samples, name="empty")(consume)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    worker = faust.Worker(app, loop=loop, quiet=True, override_logging=False, redirect_stdouts=False)
    worker.spinner = None
    worker.execute_from_commandline()


if __name__ == "__main__":
    main(*sys.argv[1:])
