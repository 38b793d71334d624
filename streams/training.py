"""One trainer's time as the owner of the labels: it reads the topics, trains when due, and publishes."""

import asyncio
import logging
import time
from functools import partial

from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord

from pulsetrain.models.registry import ModelRegistry
from pulsetrain.models.release import ReleaseError, release_records
from pulsetrain.models.trainer import HISTORY_WARM_UPS, Trainer
from pulsetrain.models.training_task import Refused, Trained, TrainerSettings, execute
from pulsetrain.schemas.anomaly import Anomaly
from pulsetrain.schemas.errors import DecodeError
from pulsetrain.schemas.feature_selection import FeatureSelection
from pulsetrain.schemas.feature_window import decode_feature_window
from pulsetrain.schemas.json_record import decode_json
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.label import Label
from pulsetrain.schemas.model_release import ModelRecord, encode_model_record
from pulsetrain.schemas.status import Severity, StatusEvent
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams.log_reader import LogReader
from pulsetrain.streams.outbox import Outbox
from pulsetrain.streams.settings import NS, WorkerSettings

_LOOK_SECONDS = 0.5

_MODELS_PARTITION = 0
"""A pointer must not overtake its release. The topic has one partition, except on the embedded broker."""

_log = logging.getLogger(__name__)


class TrainingSession:
    """Feeds a `Trainer` from the topics and carries out what it decides."""

    def __init__(self, kafka: KafkaSettings, topics: TopicNames, settings: WorkerSettings, outbox: Outbox) -> None:
        windows, learn = settings.windows, settings.learn
        warm_up_ns = round(learn.warm_up_seconds * NS)
        self.trainer = Trainer(
            TrainerSettings(
                window_ns=round(windows.length_seconds * NS),
                hop_ns=round(windows.hop_seconds * NS),
                warm_up_ns=warm_up_ns,
                activation_delay_ns=round(learn.activation_delay_seconds * NS),
                false_alarms_per_day=learn.false_alarms_per_day,
                max_columns=learn.max_columns,
            ),
            time.time_ns,
        )
        self._topics = topics
        self._outbox = outbox
        self._registry = ModelRegistry()
        self._past_labels: list[Label] = []
        self._decided = asyncio.Event()
        self._is_current = False
        reader = partial(LogReader, kafka)
        self._first_readers = [
            reader([topics.models], self._take_model),
            reader([topics.anomalies], self._take_anomaly),
            reader([topics.labels], self._take_past_label),
        ]
        # Windows come last: those of anomalies are kept longer, so the anomalies have to be known.
        self._window_reader = reader(
            [topics.features], self._take_window, since_ns=time.time_ns() - HISTORY_WARM_UPS * warm_up_ns
        )

    async def run(self) -> None:
        """Reads and trains until cancelled; whatever ends one of the readers ends the session."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for reader in self._first_readers:
                    tasks.create_task(reader.run())
                for reader in self._first_readers:
                    await reader.caught_up.wait()
                for label in self._past_labels:
                    self.trainer.add_label(label)
                self._past_labels.clear()
                tasks.create_task(self._window_reader.run())
                await self._window_reader.caught_up.wait()
                self._is_current = True
                self._decided.set()
                while True:
                    await self._train_if_due()
                    await asyncio.sleep(_LOOK_SECONDS)
        finally:
            self._is_current = False
            self._decided.set()

    async def caught_up(self) -> bool:
        """True once everything that was on the topics at the start is known; false where the session has ended."""
        await self._decided.wait()
        return self._is_current

    def progress(self) -> str:
        """How far the warm-up of each model is, as a sentence."""
        if not self._is_current:
            return "training here: reading the topics"
        shares = [f"{kind} {self.trainer.warm_up_share(kind):.0%}" for kind in self.trainer.kinds]
        return f"training here; warm-up: {', '.join(shares) or 'no windows yet'}"

    async def _train_if_due(self) -> None:
        for kind in self.trainer.kinds:
            self.trainer.observe_version(kind, self._registry.highest_version(kind))
        task = self.trainer.due()
        if task is None:
            return
        result = await asyncio.to_thread(execute, task)
        if isinstance(result, Refused):
            self.trainer.refused(result)
            await self._outbox.status(
                StatusEvent.TRAINING_REFUSED, Severity.WARNING, result.message, details={"model": result.name}
            )
            return
        try:
            await self._publish(result)
        except ReleaseError as error:
            self.trainer.refused(Refused(task.name, task.reason, str(error)))
            await self._outbox.status(
                StatusEvent.TRAINING_REFUSED, Severity.WARNING, str(error), details={"model": task.name}
            )
        except (KafkaError, OSError) as error:
            self.trainer.abandoned()
            _log.warning("publishing a version of model %s: %r; it is trained again", task.name, error)

    async def _publish(self, trained: Trained) -> None:
        """Chunks and manifest, then the pointer once they are confirmed, then the tombstones."""
        release = trained.release
        confirmations = [await self._send(record) for record in release_records(release)]
        await asyncio.gather(*confirmations)
        activation = self.trainer.activation(release)
        await (await self._send(activation.pointer))
        self.trainer.published(release, activation.pointer)
        for key in activation.tombstone_keys:
            await self._outbox.send(self._topics.models, key=key.encode(), value=None, partition=_MODELS_PARTITION)
        manifest = release.manifest
        await self._outbox.status(
            StatusEvent.MODEL_PUBLISHED,
            Severity.INFO,
            trained.message,
            details={
                "model": manifest.name,
                "version": manifest.version,
                "columns": len(manifest.columns),
                "windows": manifest.training_windows,
                "labels": manifest.labels_used,
                **_dropped(manifest.selection),
                "effective_from_ns": activation.pointer.releases[-1].effective_from_ns,
            },
        )

    async def _send(self, record: ModelRecord) -> asyncio.Future[object]:
        key, value = record.key.encode(), encode_model_record(record)
        return await self._outbox.send(self._topics.models, key=key, value=value, partition=_MODELS_PARTITION)

    def _take_model(self, record: ConsumerRecord) -> None:
        for event in self._registry.apply(record.key, record.value):
            if event.name is not None and event.version is not None:
                self.trainer.observe_version(event.name, event.version)
            if event.release is not None:
                unusable = self.trainer.observe_release(event.release)
                if unusable is not None:
                    _log.warning("%s", unusable)
            if event.pointer is not None:
                self.trainer.observe_pointer(event.pointer)

    def _take_window(self, record: ConsumerRecord) -> None:
        try:
            window = decode_feature_window(record.value)
        except DecodeError:
            return  # the detect stage sends its dead letter
        self.trainer.add_window(window)

    def _take_anomaly(self, record: ConsumerRecord) -> None:
        try:
            anomaly = decode_json(record.value, Anomaly)
        except DecodeError:
            return  # written by the detect stage, or by nobody whom the trainer listens to
        self.trainer.observe_anomaly(anomaly)

    def _take_past_label(self, record: ConsumerRecord) -> None:
        if self._is_current or record.value is None:
            return
        try:
            self._past_labels.append(decode_json(record.value, Label))
        except DecodeError:
            return  # its dead letter was sent when it arrived


def _dropped(selection: FeatureSelection | None) -> dict[str, int]:
    """How many features were dropped, by the reason."""
    return {f"dropped_{group.reason}": group.count for group in selection.dropped} if selection else {}
