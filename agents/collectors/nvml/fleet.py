"""Asks all GPUs at once and says for each what it said, or why it said nothing."""

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from pulsetrain.agents.collectors.base import Observation
from pulsetrain.agents.collectors.nvml.crew import Crew
from pulsetrain.agents.collectors.nvml.driver import Driver, Session
from pulsetrain.agents.collectors.nvml.gate import GateClosedError
from pulsetrain.agents.collectors.nvml.gpu_reader import EntityReading, GpuReader, PartsOf
from pulsetrain.agents.collectors.nvml.identity import Gpu, handle_address
from pulsetrain.agents.collectors.nvml.reading import GpuLostError

logger = logging.getLogger(__name__)

GPU_LOST, NOT_SHOWN, DRIVER_RESTARTING = "gpu_is_lost", "not_shown_by_driver", "driver_restarting"
"""Why a GPU says nothing; else NVML's word, or for how long there has been no answer."""

_MAX_REASON_CHARACTERS = 120


@dataclass(slots=True)
class RoundOfAnswers:
    """`readings`: of the GPUs that answered, by UUID, each with its MIG devices. `lost`: UUIDs of GPUs that said that
    they are gone. `silent`: why the others said nothing."""

    readings: dict[str, list[EntityReading]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    silent: dict[str, str] = field(default_factory=dict)

    @property
    def has_values(self) -> bool:
        """Whether any GPU had a value."""
        return any(readings[0].reading.has_values for readings in self.readings.values())

    def why_silent(self, uuid: str) -> str | None:
        """Why a GPU had no value, asked or not; None where it had one."""
        if uuid in self.readings:
            reading = self.readings[uuid][0].reading
            return None if reading.has_values else next(iter((*reading.failures.values(), *reading.missing.values())))
        return GPU_LOST if uuid in self.lost else self.silent.get(uuid, NOT_SHOWN)


@dataclass(frozen=True, slots=True)
class _Shape:
    """How an entity looked when it last answered."""

    metrics: tuple[str, ...]
    labels: Mapping[str, str]


class Fleet:
    """The GPUs of this node at one interval. Used by one thread, except `close`.

    Args:
        name: of the threads.
        driver: the library.
        parts_of: what to ask a GPU.
        metrics: ids of what a GPU may tell; of one that has never answered they are missing.
        owners: by entity, labels of whom it works for; written by the fleet that asks for them, read by the others.
        monotonic: seconds that only grow.
    """

    def __init__(
        self,
        name: str,
        driver: Driver,
        parts_of: PartsOf,
        metrics: tuple[str, ...],
        owners: dict[str, Mapping[str, str]],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._driver = driver
        self._parts_of = parts_of
        self._metrics = metrics
        self._owners = owners
        self._monotonic = monotonic
        self._crew: Crew[list[EntityReading]] = Crew(name, monotonic)
        self._readers: dict[str, tuple[int, GpuReader]] = {}
        self._shapes: dict[str, dict[str, _Shape]] = {}
        self._failures: dict[str, str] = {}

    def ask(self, session: Session, gpus: Iterable[Gpu], seconds: float) -> RoundOfAnswers:
        """Ask GPUs and wait at most `seconds`; who hangs since an earlier round is not waited for."""
        questions = {gpu.uuid: partial(self._question, session, self._reader(session, gpu)) for gpu in gpus}
        answers = self._crew.ask(questions, seconds)
        answered = RoundOfAnswers(readings=answers.given)
        for uuid, error in answers.failed.items():
            if isinstance(error, GpuLostError):
                answered.lost.add(uuid)
            elif isinstance(error, GateClosedError):
                answered.silent[uuid] = DRIVER_RESTARTING
            else:
                answered.silent[uuid] = self._failure(uuid, error)
        answered.silent.update((uuid, f"no answer for {silent:.0f} s") for uuid, silent in answers.silent.items())
        return answered

    def observations(self, uuid: str, readings: Iterable[EntityReading], time_ns: int) -> list[Observation]:
        """What a GPU and its MIG devices said."""
        shapes, found = {}, []
        before = self._shapes.get(uuid, {})
        for read in readings:
            reading = read.reading
            if reading.owners is not None:
                self._owners[read.entity] = reading.owners
            labels = {**read.labels, **self._owners.get(read.entity, {})}
            metrics = tuple(reading.values)
            if read.entity in before and before[read.entity].metrics == metrics:
                metrics = before[read.entity].metrics
            shapes[read.entity] = _Shape(metrics, labels)
            found.append(
                Observation(read.entity, time_ns, metrics, list(reading.values.values()), reading.missing, labels)
            )
        self._shapes[uuid] = shapes
        return found

    def missing(self, gpu: Gpu, reason: str, time_ns: int) -> list[Observation]:
        """What a GPU and its MIG devices would have said, all of it missing."""
        shapes = self._shapes.get(gpu.uuid) or {gpu.entity: _Shape(self._metrics, gpu.labels)}
        return [
            Observation(
                entity,
                time_ns,
                shape.metrics,
                [math.nan] * len(shape.metrics),
                dict.fromkeys(shape.metrics, reason),
                shape.labels,
            )
            for entity, shape in shapes.items()
        ]

    def close(self) -> None:
        """Let the threads end."""
        self._crew.close()

    def _failure(self, uuid: str, error: Exception) -> str:
        reason = f"{type(error).__name__}: {error}"[:_MAX_REASON_CHARACTERS]
        if self._failures.get(uuid) != reason:
            self._failures[uuid] = reason
            logger.error("GPU %s can't be read: %s", uuid, reason, exc_info=error)
        return reason

    def _question(self, session: Session, reader: GpuReader) -> list[EntityReading]:
        with self._driver.calls(session):
            return reader.read()

    def _reader(self, session: Session, gpu: Gpu) -> GpuReader:
        known = self._readers.get(gpu.uuid)
        if known is not None:
            number, reader = known
            if number == session.number and handle_address(reader.gpu.handle) == handle_address(gpu.handle):
                return reader
        reader = GpuReader(session.nvml, gpu, self._parts_of, self._monotonic)
        session.held.append(reader)
        self._readers[gpu.uuid] = (session.number, reader)
        return reader
