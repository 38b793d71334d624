"""Stage `learn`: labels and windows in, models out.

The worker that owns the labels partition is the only trainer. All that a trainer knows is on the topics, so a new
owner reads them and goes on: models, anomalies and labels wholly, windows of the recent past.
"""

import asyncio
import time
from typing import Any

import faust
from faust.types import TP, EventT, StreamT

from pulsetrain.models.labels import LabelOutcome
from pulsetrain.schemas.errors import DecodeError, DecodeFailure
from pulsetrain.schemas.json_record import decode_json
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.label import Label
from pulsetrain.schemas.status import Severity, StatusEvent
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams.outbox import Outbox
from pulsetrain.streams.settings import WorkerSettings
from pulsetrain.streams.shutdown import stop_after_failure
from pulsetrain.streams.training import TrainingSession

STAGE = "learn"

UNKNOWN_ANOMALY_SECONDS = 10.0
"""How long a label waits for its anomaly: the two travel on different topics."""

_RETRY_SECONDS = 0.5


class LearnStage:
    """Trains while it owns a partition of the labels topic."""

    def __init__(self, app: faust.App, kafka: KafkaSettings, topics: TopicNames, settings: WorkerSettings) -> None:
        self._app = app
        self._kafka = kafka
        self._topics = topics
        self._settings = settings
        self._outbox = Outbox(app, topics, STAGE)
        self._session: TrainingSession | None = None
        self._training: asyncio.Task[None] | None = None
        self._owns_labels = asyncio.Event()

    async def on_assigned(self, assigned: set[TP]) -> None:
        """Begins to train when the labels are this worker's."""
        if self._training is None and any(tp.topic == self._topics.labels for tp in assigned):
            self._session = TrainingSession(self._kafka, self._topics, self._settings, self._outbox)
            self._training = asyncio.create_task(self._session.run())
            self._training.add_done_callback(self._stop_if_failed)
            self._owns_labels.set()

    async def on_revoked(self) -> None:
        """Stops training: another worker may own the labels from now on."""
        self._owns_labels.clear()
        if self._training is not None:
            self._training.cancel()
        self._training = self._session = None

    async def consume(self, stream: StreamT[Any]) -> None:
        """Takes label by label; a label that says nothing about a known anomaly goes to the dead letters."""
        async for event in stream.events():
            await self._take(event)

    async def heartbeat(self) -> None:
        """Reports whether this worker trains, and how far it is."""
        session = self._session
        text = session.progress() if session else "standing by: the labels are not assigned to this worker"
        await self._outbox.status(StatusEvent.HEARTBEAT, Severity.INFO, text)

    async def _take(self, event: EventT[bytes]) -> None:
        try:
            if event.message.value is None:
                return  # a tombstone: the label was withdrawn from the compacted topic
            label = decode_json(event.message.value, Label)
            await self._learn(label)
        except DecodeError as error:
            await (await self._outbox.dead_letter(event.message, str(error)))
            await self._outbox.status(
                StatusEvent.LABEL_REJECTED,
                Severity.WARNING,
                f"label at {event.message.topic}[{event.message.partition}] offset {event.message.offset}: {error}",
            )

    async def _learn(self, label: Label) -> None:
        """Gives the label to the trainer of the moment, which may be another one after a rebalance.

        Raises:
            DecodeError: no anomaly of that id has come for a while.
        """
        give_up = time.monotonic() + UNKNOWN_ANOMALY_SECONDS
        while True:
            await self._owns_labels.wait()
            session = self._session
            if session is None or not await session.caught_up():
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            outcome = session.trainer.add_label(label)
            if outcome is not LabelOutcome.UNKNOWN_ANOMALY:
                break
            if time.monotonic() > give_up:
                raise DecodeError(DecodeFailure.INVALID, f"{outcome.value} {label.anomaly_id}")
            await asyncio.sleep(_RETRY_SECONDS)
        said = f"{label.by} says {label.verdict.value} of {label.anomaly_id}"
        if outcome is LabelOutcome.ACCEPTED:
            await self._outbox.status(StatusEvent.LABEL_ACCEPTED, Severity.INFO, said)
        elif outcome is LabelOutcome.OUTDATED:
            text = (
                f"{said}, but a label with a newer time than {label.at.isoformat()} holds; check the labeller's clock"
            )
            await self._outbox.status(StatusEvent.LABEL_REJECTED, Severity.WARNING, text)

    def _stop_if_failed(self, training: asyncio.Task[None]) -> None:
        failure = None if training.cancelled() else training.exception()
        if failure is not None:
            stop_after_failure(self._app, self._settings.shutdown_seconds, failure)


def attach(app: faust.App, kafka: KafkaSettings, topics: TopicNames, settings: WorkerSettings) -> None:
    """Adds the stage's agent, timer and signal handlers to the app."""
    stage = LearnStage(app, kafka, topics, settings)
    labels = app.topic(topics.labels, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")
    app.agent(labels, name=STAGE)(stage.consume)
    app.timer(interval=settings.heartbeat_seconds)(stage.heartbeat)

    @app.on_partitions_assigned.connect(weak=False)
    async def begin(_app: faust.App, assigned: set[TP], **_: object) -> None:
        await stage.on_assigned(assigned)

    @app.on_partitions_revoked.connect(weak=False)
    async def stop(_app: faust.App, revoked: set[TP], **_: object) -> None:
        await stage.on_revoked()
