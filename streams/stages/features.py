"""Stage `features`: sample blocks in, feature windows out.

A block is acknowledged when every window that starts at or before its last tick has been sent and confirmed, so a
window survives the death of its worker without any state on disk (decision 0005).
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import faust
from aiokafka.errors import KafkaError
from faust.types import TP, EventT, Message, StreamT

from pulsetrain.schemas.errors import DecodeError, DecodeFailure
from pulsetrain.schemas.feature_window import encode_feature_window
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.sample_block import decode_sample_block
from pulsetrain.schemas.status import Severity, StatusEvent
from pulsetrain.schemas.times import utc_time
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams.direct_events import direct_events
from pulsetrain.streams.extraction import feature_windows
from pulsetrain.streams.features import FeatureSets
from pulsetrain.streams.ordered_acks import OrderedAcks
from pulsetrain.streams.outbox import Confirmation, Outbox
from pulsetrain.streams.recall import records_before
from pulsetrain.streams.settings import WorkerSettings
from pulsetrain.streams.shutdown import stop_after_failure
from pulsetrain.streams.windows import ClosedWindow, Step, WindowEngine

STAGE = "features"

_MILLISECOND_NS = 1_000_000
_COUNTS = ("received", "used", "late", "duplicate", "invalid", "quarantined", "dead_lettered")
_SHOWN_NAMES = 10
_END_OFFSET_SECONDS = 5.0
_RECALL_RETRY_SECONDS = 2.0

_log = logging.getLogger(__name__)


class _Ready(NamedTuple):
    """The messages of a window that is not closed yet."""

    window: ClosedWindow
    messages: list[bytes]


@dataclass
class _Partition:
    """What the worker holds of one partition during one assignment.

    `lock` keeps a step of the engine and the sending of its windows together: a later step says that what the
    earlier one emitted is safe once it is confirmed, so it must not be settled first.
    """

    engine: WindowEngine
    acks: OrderedAcks
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    next_offset: int = 0
    ready: dict[str, _Ready] = field(default_factory=dict)
    """By node, what its next window will be if nothing else comes for it."""

    @property
    def state_bytes(self) -> dict[str, int]:
        """Bytes of the samples that are held for each node's windows, and of the messages that are ready."""
        held = self.engine.state_bytes
        for node, ready in self.ready.items():
            held[node] = held.get(node, 0) + sum(map(len, ready.messages))
        return held


class FeaturesStage:
    """Runs one window engine per assigned partition."""

    def __init__(self, app: faust.App, kafka: KafkaSettings, topics: TopicNames, settings: WorkerSettings) -> None:
        self._app = app
        self._kafka = kafka
        self._topics = topics
        self._settings = settings
        self._feature_sets = FeatureSets.from_fc_parameters(settings.features, settings.metric_features)
        self._outbox = Outbox(app, topics, STAGE)
        self._partitions: dict[TP, _Partition] = {}
        self._assignments = 0
        self._past_counts = dict.fromkeys(_COUNTS, 0)
        self._dead_lettered = 0
        self._windows_sent = 0
        self._unknown_metrics: frozenset[str] = frozenset()

    async def consume(self, events: AsyncIterable[EventT[bytes]]) -> None:
        """Takes the samples topic message by message; never acknowledges out of order."""
        async for event in events:
            try:
                await self._take(event)
            except Exception as error:  # the engine has moved on: nothing after this may be acknowledged
                self._stop_worker(error)
                return

    async def on_revoked(self) -> None:
        """Forgets everything: whatever was held is delivered again, to this worker or to another."""
        for partition in self._partitions.values():
            partition.acks.close()
            self._count(self._past_counts, partition.engine)
        self._partitions.clear()
        self._assignments += 1

    async def close_idle_windows(self) -> None:
        """Closes the windows of silent nodes in the partitions that have been read to their end."""
        for tp, partition in list(self._partitions.items()):
            async with partition.lock:
                now_ns = time.time_ns()
                if self._partitions.get(tp) is not partition or not partition.engine.is_idle_due(now_ns):
                    continue
                if await self._end_offset(tp) != partition.next_offset or self._partitions.get(tp) is not partition:
                    continue
                try:
                    await self._emit(partition, partition.engine.advance(now_ns), [])
                except Exception as error:
                    self._stop_worker(error)

    async def _end_offset(self, tp: TP) -> int | None:
        """The end of a partition as the broker has it now; None while it does not answer.

        The high-water mark of the last fetch would not do: during an outage blocks are waiting beyond it.
        """
        try:
            ends = await asyncio.wait_for(self._app.consumer.highwaters(tp), _END_OFFSET_SECONDS)
        except (KafkaError, OSError, TimeoutError, AssertionError) as error:
            _log.warning("the end of %s[%d] is not known: %r", tp.topic, tp.partition, error)
            return None
        return next(iter(ends.values()), None)

    async def heartbeat(self) -> None:
        """Reports what came in and what became of it, per sample."""
        await self._report_unknown_metrics()
        counts = self._past_counts.copy()
        for partition in self._partitions.values():
            self._count(counts, partition.engine)
        engines = [partition.engine for partition in self._partitions.values()]
        nodes = sum(engine.nodes for engine in engines)
        state_bytes = [size for partition in self._partitions.values() for size in partition.state_bytes.values()]
        await self._outbox.status(
            StatusEvent.HEARTBEAT,
            Severity.INFO,
            f"{self._windows_sent} windows of {nodes} nodes sent",
            details={
                **counts,
                "dead_lettered_messages": self._dead_lettered,
                "windows": self._windows_sent,
                "windows_open": sum(engine.windows_open for engine in engines),
                "nodes": nodes,
                "remembered_nodes": sum(engine.remembered_nodes for engine in engines),
                "state_bytes": sum(state_bytes),
                "state_bytes_of_largest_node": max(state_bytes, default=0),
                "held_blocks": sum(partition.acks.held for partition in self._partitions.values()),
                "unknown_metrics": len(self._unknown_metrics),
            },
        )

    @staticmethod
    def _count(totals: dict[str, int], engine: WindowEngine) -> None:
        for name in totals:
            totals[name] += getattr(engine.counts, name)

    async def _report_unknown_metrics(self) -> None:
        """Names each metric that is not in the catalogue once; it passes through under its own name."""
        found = frozenset().union(*(partition.engine.unknown_metrics for partition in self._partitions.values()))
        new = sorted(found - self._unknown_metrics)
        if new:
            self._unknown_metrics |= found
            shown = ", ".join(new[:_SHOWN_NAMES]) + (" ..." if len(new) > _SHOWN_NAMES else "")
            text = f"{len(new)} metrics are not in the catalogue and pass as gauges without a valid range: {shown}"
            await self._outbox.status(StatusEvent.UNKNOWN_METRICS, Severity.WARNING, text)

    async def _take(self, event: EventT[bytes]) -> None:
        message = event.message
        partition = self._partitions.get(message.tp) or await self._begin(message)
        if partition is None:
            return
        async with partition.lock:
            partition.acks.hold(event)
            confirmations: list[Confirmation] = []
            try:
                block = decode_sample_block(message.value)
                step = partition.engine.process(block, message.offset, _milliseconds(message) * _MILLISECOND_NS)
            except Exception as error:
                if not isinstance(error, DecodeError):
                    _log.exception("%s[%d] offset %d", message.topic, message.partition, message.offset)
                    error = DecodeError(DecodeFailure.INVALID, f"the window engine failed on it: {error!r}")
                confirmations.append(await self._outbox.dead_letter(message, str(error)))
                self._dead_lettered += 1
                step = partition.engine.skip(message.offset)
            event.value = message.value = None  # what is held until it is safe must not hold its bytes, too
            partition.next_offset = message.offset + 1
            await self._emit(partition, step, confirmations)

    async def _emit(self, partition: _Partition, step: Step, confirmations: list[Confirmation]) -> None:
        for closed in step.windows:
            ready = partition.ready.pop(closed.node, None)
            try:
                messages = ready.messages if ready is not None and ready.window is closed else self._messages(closed)
            except Exception as error:
                _log.exception("window of %s that ends at %d ns", closed.node, closed.end_ns)
                text = f"the window of {closed.node} that ends at {utc_time(closed.end_ns)} has no features: {error!r}"
                confirmations.append(await self._outbox.status(StatusEvent.WINDOW_FAILED, Severity.ERROR, text))
                continue
            for message in messages:
                key = closed.node.encode()
                confirmations.append(await self._outbox.send(self._topics.features, key=key, value=message))
                self._windows_sent += 1
        confirmations += [
            await self._outbox.status(
                report.event, report.severity, report.message, details={"node": report.node, **report.details}
            )
            for report in step.events
        ]
        partition.acks.settle(step.safe_offset, confirmations)
        self._make_ready(partition, step.prepared)

    def _make_ready(self, partition: _Partition, prepared: Iterable[ClosedWindow]) -> None:
        """Compute windows before they close: those of all nodes close at once, and would wait for each other."""
        for window in prepared:
            with suppress(Exception):  # it fails again, and is told, when it closes
                partition.ready[window.node] = _Ready(window, self._messages(window))

    def _messages(self, closed: ClosedWindow) -> list[bytes]:
        windows = feature_windows(closed, self._feature_sets, self._settings.windows)
        return [encode_feature_window(window) for window in windows]

    async def _begin(self, message: Message) -> _Partition | None:
        """Starts with the first message of an assignment: recalls what other workers read shortly before it.

        None where the assignment ended meanwhile: the message is delivered again to whoever has the partition.
        """
        assignment = self._assignments
        while assignment == self._assignments:
            try:
                engine = await self._recalled_engine(message)
            except (KafkaError, OSError) as error:
                _log.warning("recalling %s[%d]: %r; trying again", message.topic, message.partition, error)
                await asyncio.sleep(_RECALL_RETRY_SECONDS)
                continue
            if assignment == self._assignments:
                partition = self._partitions[message.tp] = _Partition(engine, OrderedAcks(self._stop_worker))
                return partition
        return None

    async def _recalled_engine(self, message: Message) -> WindowEngine:
        engine = WindowEngine(self._settings.windows)
        since_ms = _milliseconds(message) - engine.recall_ns // _MILLISECOND_NS
        async for record in records_before(self._kafka, message.topic, message.partition, message.offset, since_ms):
            with suppress(Exception):  # whoever read it first has sent its dead letter
                engine.recall(decode_sample_block(record.value), record.timestamp * _MILLISECOND_NS)
        return engine

    def _stop_worker(self, failure: BaseException) -> None:
        for partition in self._partitions.values():
            partition.acks.close()
        stop_after_failure(self._app, self._settings.shutdown_seconds, failure)


def _milliseconds(message: Message) -> int:
    """Append time: Faust gives it in seconds."""
    return round(message.timestamp * 1000)


def attach(app: faust.App, kafka: KafkaSettings, topics: TopicNames, settings: WorkerSettings) -> None:
    """Adds the stage's agent, timers and signal handlers to the app."""
    stage = FeaturesStage(app, kafka, topics, settings)
    samples = app.topic(topics.samples, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")

    @app.agent(samples, name=STAGE)
    async def consume(stream: StreamT[Any]) -> None:
        await stage.consume(direct_events(stream))

    app.timer(interval=1.0)(stage.close_idle_windows)
    app.timer(interval=settings.heartbeat_seconds)(stage.heartbeat)

    @app.on_partitions_revoked.connect(weak=False)
    async def forget(_app: faust.App, revoked: set[TP], **_: object) -> None:
        await stage.on_revoked()
