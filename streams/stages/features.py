"""Stage `features`: sample blocks in, feature windows out.

A block is acknowledged when every window that starts at or before its last tick has been sent and confirmed, so a
window survives the death of its worker without any state on disk (decision 0005).
"""

import logging
import time
from dataclasses import dataclass

import faust
from faust.types import TP, EventT, StreamT
from pulsetrain.streams.extraction import feature_windows
from pulsetrain.streams.windows import Step, WindowEngine

from pulsetrain.schemas.errors import DecodeError
from pulsetrain.schemas.feature_window import encode_feature_window
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.sample_block import decode_sample_block
from pulsetrain.schemas.status import Severity, StatusEvent
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams.features import DEFAULT_FEATURE_SET, FeatureSet
from pulsetrain.streams.ordered_acks import OrderedAcks
from pulsetrain.streams.outbox import Confirmation, Outbox
from pulsetrain.streams.settings import WorkerSettings

STAGE = "features"

_log = logging.getLogger(__name__)


@dataclass
class _Partition:
    """What the worker holds of one partition during one assignment."""

    engine: WindowEngine
    acks: OrderedAcks
    next_offset: int = 0


class FeaturesStage:
    """Runs one window engine per assigned partition."""

    def __init__(self, app: faust.App, topics: TopicNames, settings: WorkerSettings) -> None:
        self._app = app
        self._topics = topics
        self._settings = settings
        self._feature_set = (
            DEFAULT_FEATURE_SET if settings.features is None else FeatureSet.from_fc_parameters(settings.features)
        )
        self._outbox = Outbox(app, topics, STAGE)
        self._partitions: dict[TP, _Partition] = {}
        self._dead_lettered = 0
        self._windows_sent = 0

    async def consume(self, stream: StreamT) -> None:
        """Takes the samples topic message by message; never acknowledges out of order."""
        async for event in stream.noack().events():
            await self._take(event)

    async def on_revoked(self) -> None:
        """Forgets everything: whatever was held is delivered again, to this worker or to another."""
        for partition in self._partitions.values():
            partition.acks.close()
        self._partitions.clear()

    async def close_idle_windows(self) -> None:
        """Closes the windows of silent nodes in the partitions that have been read to their end."""
        for tp, partition in list(self._partitions.items()):
            if partition.next_offset >= (self._app.consumer.highwater(tp) or 0):
                await self._emit(partition, partition.engine.advance(time.time_ns()), [])

    async def heartbeat(self) -> None:
        """Reports what came in and what became of it, per sample."""
        counts = dict.fromkeys(("received", "used", "late", "duplicate", "invalid", "quarantined"), 0)
        nodes = windows_open = 0
        for partition in self._partitions.values():
            for name in counts:
                counts[name] += getattr(partition.engine.counts, name)
            nodes += partition.engine.nodes
            windows_open += partition.engine.windows_open
        await self._outbox.status(
            StatusEvent.HEARTBEAT,
            Severity.INFO,
            f"{self._windows_sent} windows of {nodes} nodes sent",
            **counts,
            dead_lettered_messages=self._dead_lettered,
            windows=self._windows_sent,
            windows_open=windows_open,
            nodes=nodes,
            held_blocks=sum(partition.acks.held for partition in self._partitions.values()),
        )

    async def _take(self, event: EventT) -> None:
        message = event.message
        partition = self._partition(message.tp)
        partition.acks.hold(event)
        confirmations: list[Confirmation] = []
        try:
            block = decode_sample_block(message.value)
            step = partition.engine.process(block, message.offset, round(message.timestamp * 1000) * 1_000_000)
        except DecodeError as error:
            confirmations.append(await self._outbox.dead_letter(message, str(error)))
            self._dead_lettered += 1
            _log.warning("dead letter: %s[%d] offset %d: %s", message.topic, message.partition, message.offset, error)
            step = partition.engine.skip(message.offset)
        partition.next_offset = message.offset + 1
        await self._emit(partition, step, confirmations)

    async def _emit(self, partition: _Partition, step: Step, confirmations: list[Confirmation]) -> None:
        for closed in step.windows:
            for window in feature_windows(closed, self._feature_set):
                confirmations.append(
                    await self._outbox.send(
                        self._topics.features, key=window.node.encode(), value=encode_feature_window(window)
                    )
                )
                self._windows_sent += 1
        confirmations += [
            await self._outbox.status(report.event, report.severity, report.message, node=report.node)
            for report in step.events
        ]
        partition.acks.settle(step.safe_offset, confirmations)

    def _partition(self, tp: TP) -> _Partition:
        partition = self._partitions.get(tp)
        if partition is None:
            partition = _Partition(WindowEngine(self._settings.windows), OrderedAcks(self._stop_worker))
            self._partitions[tp] = partition
        return partition

    def _stop_worker(self, failure: BaseException) -> None:
        _log.critical(
            "a feature window could not be delivered (%s: %s): this worker stops, and the samples since the last "
            "commit are read again",
            type(failure).__name__,
            failure,
        )
        self._app.add_future(self._app.crash(failure))


def attach(app: faust.App, _kafka: KafkaSettings, topics: TopicNames, settings: WorkerSettings) -> None:
    """Adds the stage's agent, timers and signal handlers to the app."""
    stage = FeaturesStage(app, topics, settings)
    samples = app.topic(topics.samples, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")
    app.agent(samples, name=STAGE)(stage.consume)
    app.timer(interval=1.0)(stage.close_idle_windows)
    app.timer(interval=settings.heartbeat_seconds)(stage.heartbeat)

    @app.on_partitions_revoked.connect(weak=False)
    async def forget(_app: faust.App, revoked: set[TP], **_: object) -> None:
        await stage.on_revoked()
