"""What a stage sends: records, dead letters and status messages, each with a confirmation to wait for."""

import asyncio
import logging
import os
import socket
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import faust
from faust.types import Message

from pulsetrain.schemas.dead_letter import Position, dead_letter_headers
from pulsetrain.schemas.json_record import encode_json
from pulsetrain.schemas.status import Severity, Status, StatusEvent
from pulsetrain.schemas.topics import TopicNames

_log = logging.getLogger(__name__)

Confirmation = asyncio.Future[Any]


class Outbox:
    """Sends through the app's producer, whose partitioner is murmur2 like that of every producer of the project."""

    def __init__(self, app: faust.App, topics: TopicNames, stage: str) -> None:
        self._app = app
        self._topics = topics
        self.source = f"{stage}@{socket.gethostname()}:{os.getpid()}"

    async def send(
        self,
        topic: str,
        key: bytes,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes]] = (),
        partition: int | None = None,
    ) -> Confirmation:
        """Queues one message, where its key belongs; the future is done when the broker has confirmed it."""
        confirmation = await self._app.producer.send(
            topic, key=key, value=value, partition=partition, timestamp=None, headers=list(headers)
        )
        return asyncio.ensure_future(confirmation)

    async def dead_letter(self, message: Message, reason: str) -> Confirmation:
        """Queues the message's own bytes for the dead-letter topic, with its position and the reason."""
        _log.warning("dead letter: %s[%d] offset %d: %s", message.topic, message.partition, message.offset, reason)
        position = Position(message.topic, message.partition, message.offset)
        return await self.send(
            self._topics.dead_letter,
            key=message.key or b"none",
            value=message.value,
            headers=dead_letter_headers(position, reason),
        )

    async def status(
        self,
        event: StatusEvent,
        severity: Severity,
        text: str,
        entity: str | None = None,
        details: Mapping[str, str | int | float | None] = MappingProxyType({}),
    ) -> Confirmation:
        """Queues a status message of this worker."""
        status = Status(
            source=self.source,
            event=event,
            severity=severity,
            at=datetime.now(UTC),
            message=text,
            entity=entity,
            details=dict(details),
        )
        return await self.send(self._topics.status, key=self.source.encode(), value=encode_json(status))
