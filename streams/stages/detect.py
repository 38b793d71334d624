"""Stage `detect`: feature windows in, anomalies out.

The state of each entity lives in a table. Its change is sent after the window's verdict is confirmed, and the window is
acknowledged after the change is: no verdict is lost, and a window that comes again is recognised.
"""

import logging
from collections import Counter, defaultdict
from typing import Any, cast

import faust
from faust.types import TP, EventT, StreamT

from pulsetrain.models.registry import LoadedModel
from pulsetrain.models.training_windows import entity_kind
from pulsetrain.schemas.errors import DecodeError, DecodeFailure
from pulsetrain.schemas.feature_window import FeatureWindow, decode_feature_window
from pulsetrain.schemas.json_record import encode_json
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.status import Severity, StatusEvent
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams.confirmed_table import ConfirmedTable
from pulsetrain.streams.model_feed import ModelFeed
from pulsetrain.streams.ordered_acks import OrderedAcks
from pulsetrain.streams.outbox import Confirmation, Outbox
from pulsetrain.streams.recent_windows import RecentWindows
from pulsetrain.streams.scoring import WindowScorer
from pulsetrain.streams.settings import WorkerSettings
from pulsetrain.streams.shutdown import stop_after_failure
from pulsetrain.streams.verdicts import Judgement, is_repeated, judge

STAGE = "detect"

_CACHED_SCORERS = 32
_REMEMBERED_ENTITIES = 10_000

_log = logging.getLogger(__name__)


class DetectStage:
    """Scores every window with the version that is effective at its end."""

    def __init__(self, app: faust.App, kafka: KafkaSettings, topics: TopicNames, settings: WorkerSettings) -> None:
        self._app = app
        self._topics = topics
        self._settings = settings
        self._outbox = Outbox(app, topics, STAGE)
        self._recent = RecentWindows()
        self._models = ModelFeed(kafka, topics, self._outbox, self._recent.rows)
        self._entities = ConfirmedTable(app, name="entities", default=dict, beacon=app.tables.beacon)
        app.tables.add(self._entities)
        self._acks: defaultdict[TP, OrderedAcks] = defaultdict(lambda: OrderedAcks(self._stop_worker))
        self._scorers: dict[str, WindowScorer] = {}
        self._counts: Counter[str] = Counter()
        self._not_scored: dict[str, str] = {}

    async def consume(self, stream: StreamT[Any]) -> None:
        """Takes the features topic window by window, once all models that were published are known."""
        await self._models.caught_up()
        async for event in cast(faust.Stream[bytes], stream).noack().events():
            acks = self._acks[event.message.tp]
            acks.hold(event)
            try:
                confirmation = await self._take(event, acks)
            except Exception as error:  # the verdict may be lost: nothing after this may be acknowledged
                self._stop_worker(error)
                return
            if confirmation is not None:
                acks.settle(event.message.offset + 1, [confirmation])

    def on_revoked(self) -> None:
        """What was not acknowledged is delivered again, to this worker or to another."""
        for acks in self._acks.values():
            acks.close()
        self._acks.clear()

    async def read_models(self) -> None:
        """Follows the models topic for as long as the worker runs; a worker without models stops."""
        try:
            await self._models.run()
        except Exception as error:
            self._stop_worker(error)

    async def heartbeat(self) -> None:
        """Reports how many windows were scored and what came of them."""
        names = ("windows", "repeated", "scored", "not_scored", "flagged", "benign", "anomalies", "dead_lettered")
        await self._outbox.status(
            StatusEvent.HEARTBEAT,
            Severity.INFO,
            f"{self._counts['scored']} windows scored, {self._counts['flagged']} flagged",
            details={name: self._counts[name] for name in names},
        )

    async def _take(self, event: EventT[bytes], acks: OrderedAcks) -> Confirmation | None:
        """Publishes what the window leads to; once the result is confirmed, the window may be forgotten.

        None where the partition went to another worker meanwhile: the state is that worker's to change.
        """
        message = event.message
        try:
            window = decode_feature_window(message.value)
            state = self._entities[window.entity]
            if is_repeated(state, window):
                self._counts["repeated"] += 1
                return self._entities.change(window.entity, state)  # it may have been lost with whoever judged
            verdict = self._judge(window)
            state, anomaly = judge(state, window, None if isinstance(verdict, str) else verdict)
            revision = encode_json(anomaly) if anomaly is not None else None
        except Exception as error:
            if not isinstance(error, DecodeError):
                _log.exception("%s[%d] offset %d", message.topic, message.partition, message.offset)
                error = DecodeError(DecodeFailure.INVALID, f"it can't be judged: {error!r}")
            self._counts["dead_lettered"] += 1
            return await self._outbox.dead_letter(message, str(error))
        await self._count(window, verdict)
        if revision is not None:
            confirmation = await self._outbox.send(self._topics.anomalies, window.entity.encode(), revision)
            await confirmation
            self._counts["anomalies"] += 1
        return None if acks.is_closed else self._entities.change(window.entity, state)

    def _stop_worker(self, failure: BaseException) -> None:
        self.on_revoked()
        stop_after_failure(self._app, self._settings.shutdown_seconds, failure)

    def _judge(self, window: FeatureWindow) -> Judgement | str:
        """The verdict of the version that is effective at the window's end, or why there is none."""
        loaded = self._models.registry.scorer_at(entity_kind(window.entity), window.end_ns)
        if not isinstance(loaded, LoadedModel):
            return f"no_model: {loaded.reason}"
        return self._scorer(loaded).judge(window)

    async def _count(self, window: FeatureWindow, verdict: Judgement | str) -> None:
        self._recent.add(window)
        self._counts["windows"] += 1
        if isinstance(verdict, str):
            self._counts["not_scored"] += 1
            await self._report_not_scored(window, verdict)
            return
        self._counts["scored"] += 1
        self._counts["flagged"] += verdict.flagged
        self._counts["benign"] += verdict.benign
        self._not_scored.pop(window.entity, None)

    def _scorer(self, loaded: LoadedModel) -> WindowScorer:
        version = loaded.manifest.sha256
        if version not in self._scorers:
            if len(self._scorers) >= _CACHED_SCORERS:
                self._scorers.clear()
            self._scorers[version] = WindowScorer(loaded.manifest, loaded.scorer)
        return self._scorers[version]

    async def _report_not_scored(self, window: FeatureWindow, reason: str) -> None:
        """Says once an entity why its windows have no verdict, and again when the reason changes."""
        kind = reason.partition(":")[0]
        if self._not_scored.get(window.entity) != kind:
            if len(self._not_scored) >= _REMEMBERED_ENTITIES:
                self._not_scored.clear()
            self._not_scored[window.entity] = kind
            await self._outbox.status(
                StatusEvent.NOT_SCORED, Severity.WARNING, f"not scored: {reason}", entity=window.entity
            )


def attach(app: faust.App, kafka: KafkaSettings, topics: TopicNames, settings: WorkerSettings) -> None:
    """Adds the stage's agent, table, task and timer to the app."""
    stage = DetectStage(app, kafka, topics, settings)
    features = app.topic(
        topics.features, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw"
    )
    app.agent(features, name=STAGE)(stage.consume)
    app.task(stage.read_models)
    app.timer(interval=settings.heartbeat_seconds)(stage.heartbeat)

    @app.on_partitions_revoked.connect(weak=False)
    async def forget(_app: faust.App, _revoked: set[TP], **_: object) -> None:
        stage.on_revoked()
