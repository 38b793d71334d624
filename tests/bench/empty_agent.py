"""An empty Faust agent: what Faust itself costs for the events that the features worker reads.

`python -m tests.bench.empty_agent KIND BOOTSTRAP PREFIX PARTITIONS FOLDER EVERY` reads the samples topic with the
settings of the worker's app, decodes nothing, and sends the files of FOLDER in turn to the features topic, one after
each EVERY events. KIND `plain` is Faust as it is, save for the short fetch wait; `lean` has the worker's transport and
monitor.
"""

import asyncio
import logging
import sys
from itertools import count, cycle
from pathlib import Path
from typing import Any

import faust
from faust.sensors import Monitor

from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams.direct_events import direct_events
from pulsetrain.streams.faust_app import make_app
from pulsetrain.streams.faust_transport import ShortWaitTransport


def main(kind: str, bootstrap: str, prefix: str, partitions: str, folder: str, every: str) -> None:
    """Runs until it is killed."""
    logging.basicConfig(level=logging.WARNING)
    topics = TopicNames(prefix)
    app = make_app("empty", KafkaSettings(bootstrap=bootstrap), topics, int(partitions), declare_topics=False)
    if kind == "plain":
        app.monitor = Monitor()
        app.transport = ShortWaitTransport(app.conf.broker_consumer, app)
    raw: dict[str, Any] = {"key_type": bytes, "value_type": bytes, "key_serializer": "raw", "value_serializer": "raw"}
    samples, features = app.topic(topics.samples, **raw), app.topic(topics.features, **raw)
    values = cycle([path.read_bytes() for path in sorted(Path(folder).iterdir())])
    events_per_record = int(every)

    async def consume(stream: Any) -> None:
        numbers = count(1)
        async for event in stream.events() if kind == "plain" else direct_events(stream):
            if next(numbers) % events_per_record == 0:
                await features.send(key=event.key, value=next(values))
            if kind != "plain":
                event.ack()

    app.agent(samples, name="empty")(consume)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    worker = faust.Worker(app, loop=loop, quiet=True, override_logging=False, redirect_stdouts=False)
    worker.spinner = None
    worker.execute_from_commandline()


if __name__ == "__main__":
    main(*sys.argv[1:])
