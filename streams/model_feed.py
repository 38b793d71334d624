"""Follows the models topic: every worker reads all of it, without a group, and holds what may score."""

import asyncio

from aiokafka.structs import ConsumerRecord

from pulsetrain.models.registry import ModelRegistry, RegistryChange, RegistryEvent, TestRows
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.status import Severity, StatusEvent
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams.log_reader import LogReader
from pulsetrain.streams.outbox import Outbox

_STATUS = {
    RegistryChange.LOADED: (StatusEvent.MODEL_LOADED, Severity.INFO),
    RegistryChange.POINTER_MOVED: (StatusEvent.MODEL_ACTIVATED, Severity.INFO),
    RegistryChange.REJECTED: (StatusEvent.MODEL_REJECTED, Severity.ERROR),
    RegistryChange.TOMBSTONE_IGNORED: (StatusEvent.MODEL_REJECTED, Severity.WARNING),
    RegistryChange.UNREADABLE: (StatusEvent.MODEL_REJECTED, Severity.WARNING),
}


class ModelFeed:
    """Keeps a `ModelRegistry` current and reports each version that was loaded or rejected.

    Args:
        test_rows: recent rows of a model's columns, on which a new version is tried beside the live one.
    """

    def __init__(self, kafka: KafkaSettings, topics: TopicNames, outbox: Outbox, test_rows: TestRows) -> None:
        self.registry = ModelRegistry()
        self._outbox = outbox
        self._test_rows = test_rows
        self._events: asyncio.Queue[RegistryEvent] = asyncio.Queue()
        self._reader = LogReader(kafka, [topics.models], self._apply)

    async def caught_up(self) -> None:
        """Returns once everything that was in the topic at the start has been applied."""
        await self._reader.caught_up.wait()

    async def run(self) -> None:
        """Reads until cancelled; whatever ends the reader ends this too."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._reader.run())
            while True:
                event = await self._events.get()
                kind, severity = _STATUS[event.change]
                details = {"model": event.name, "version": event.version}
                await self._outbox.status(kind, severity, event.message, details=details)

    def _apply(self, record: ConsumerRecord) -> None:
        for event in self.registry.apply(record.key, record.value, self._test_rows):
            # What the topic's past holds of versions that are gone by now is nobody's trouble.
            if self._reader.caught_up.is_set() or event.change is RegistryChange.LOADED:
                self._events.put_nowait(event)
