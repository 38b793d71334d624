"""What the thin stages do when Kafka, a rebalance or their own code gets in their way."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError
from faust.types import TP
from msgspec.structs import replace

from pulsetrain.models.labels import LabelOutcome
from pulsetrain.schemas.feature_window import encode_feature_window
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.sample_block import decode_sample_block, encode_sample_block
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams import shutdown
from pulsetrain.streams.extraction import feature_windows
from pulsetrain.streams.features import FeatureSets
from pulsetrain.streams.log_reader import LogReader
from pulsetrain.streams.model_feed import ModelFeed
from pulsetrain.streams.settings import WindowSettings, WorkerSettings
from pulsetrain.streams.stages import features, learn
from pulsetrain.streams.stages.features import FeaturesStage
from pulsetrain.streams.stages.learn import LearnStage
from pulsetrain.streams.windows import WindowEngine
from tests.simulation import SECOND_NS, SimulatedNode

KAFKA = KafkaSettings(bootstrap="127.0.0.1:1")
TOPICS = TopicNames("t.")
_NO_RECORDS: tuple[Any, ...] = ()
SAMPLES = TP("t.samples", 0)
SETTINGS = WorkerSettings(windows=WindowSettings(length_seconds=5.0, hop_seconds=1.0, idle_timeout_seconds=10.0))


class _App:
    """A Faust app as far as the stages use it; what is sent is confirmed at once."""

    def __init__(self, end_offset: int = 0) -> None:
        self.sent: list[str] = []
        self.values: list[bytes] = []
        self.crashed: list[BaseException] = []
        self.futures: list[asyncio.Future[None]] = []
        self.refuses = False
        self.end_offset = end_offset
        self.conf = SimpleNamespace(id="t.features")
        self.producer = SimpleNamespace(send=self._send)
        self.consumer = SimpleNamespace(highwaters=self._highwaters)

    async def _send(self, topic: str, value: bytes, **_: Any) -> asyncio.Future[None]:
        if self.refuses:
            raise KafkaConnectionError("the producer is closed")
        self.sent.append(topic)
        self.values.append(value)
        confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        confirmed.set_result(None)
        return confirmed

    async def _highwaters(self, tp: TP) -> dict[TP, int]:
        return {tp: self.end_offset}

    async def crash(self, failure: BaseException) -> None:
        self.crashed.append(failure)

    def add_future(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self.futures.append(asyncio.ensure_future(coroutine))


class _Event:
    """A message of the samples topic."""

    def __init__(self, offset: int, value: bytes, append_s: float, acked: list[int]) -> None:
        self.message = SimpleNamespace(
            tp=SAMPLES, topic=SAMPLES.topic, partition=0, offset=offset, value=value, key=b"node", timestamp=append_s
        )
        self._acked = acked

    def ack(self) -> bool:
        self._acked.append(self.message.offset)
        return True


async def _stream(events: Iterable[_Event]) -> AsyncIterator[Any]:
    for event in events:
        yield event


@pytest.fixture(autouse=True)
def no_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline would end the test run."""
    monkeypatch.setattr(shutdown, "arm_shutdown_deadline", lambda *_: None)


async def _nothing_before(*_: Any) -> AsyncIterator[Any]:
    for record in _NO_RECORDS:
        yield record


def _events(seconds: int, acked: list[int], append_s: float) -> list[_Event]:
    node = SimulatedNode("node", 1, int(append_s - 60) * SECOND_NS)
    return [
        _Event(offset, encode_sample_block(block), append_s, acked) for offset, block in enumerate(node.blocks(seconds))
    ]


def _stage(app: _App) -> FeaturesStage:
    return FeaturesStage(app, KAFKA, TOPICS, SETTINGS)  # type: ignore[arg-type]


async def _settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_window_for_which_something_comes_after_it_was_computed_is_computed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(features, "records_before", _nothing_before)
    append_s = time.time()
    blocks = list(SimulatedNode("node", 1, int(append_s - 60) * SECOND_NS).blocks(9))
    extra = replace(
        blocks[4],
        sequence=1000,
        sent_until_ns=int(blocks[4].ticks_ns[-1]),
        ticks_ns=blocks[4].ticks_ns[-1:] - SECOND_NS // 20,
        values=blocks[4].values[-1:] + 1000.0,
    )
    messages = [encode_sample_block(block) for block in (*blocks[:5], extra, *blocks[5:])]
    engine, sets = WindowEngine(SETTINGS.windows), FeatureSets.from_fc_parameters()
    steps = [
        engine.process(decode_sample_block(message), offset, round(append_s * 1000) * 1_000_000)
        for offset, message in enumerate(messages)
    ]
    prepared = {id(window) for step in steps for window in step.prepared}
    assert {id(window) in prepared for step in steps for window in step.windows} == {True, False}
    expected = [
        encode_feature_window(window)
        for step in steps
        for closed in step.windows
        for window in feature_windows(closed, sets, SETTINGS.windows)
    ]

    async def scenario() -> None:
        app, acked = _App(), list[int]()
        events = [_Event(offset, message, append_s, acked) for offset, message in enumerate(messages)]
        await _stage(app).consume(_stream(events))
        assert app.values == expected
        assert len(expected) == 2

    asyncio.run(scenario())


def test_a_recall_that_fails_is_tried_again_and_the_message_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    async def away_at_first(*_: Any) -> AsyncIterator[Any]:
        tries.append(1)
        if len(tries) == 1:
            raise KafkaConnectionError("away")
        for record in _NO_RECORDS:
            yield record

    monkeypatch.setattr(features, "records_before", away_at_first)
    monkeypatch.setattr(features, "_RECALL_RETRY_SECONDS", 0.0)

    async def scenario() -> None:
        app, acked = _App(), list[int]()
        stage = _stage(app)
        await stage.consume(_stream(_events(10, acked, time.time())))
        await _settled()
        assert len(tries) == 2
        # 10 s of samples, 2 s of lateness, windows of 5 s each 1 s: ends at 5, 6 and 7 s
        assert app.sent.count(TOPICS.features) == 3
        # windows that start at 3 s and later are open: blocks 0, 1 and 2 are done with
        assert acked == [0, 1, 2]

    asyncio.run(scenario())


def test_silence_is_judged_by_the_end_of_the_log_not_by_what_was_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "records_before", _nothing_before)

    async def scenario() -> None:
        app = _App(end_offset=12)
        stage = _stage(app)
        await stage.consume(_stream(_events(10, [], time.time() - 100)))
        before = list(app.sent)
        await stage.close_idle_windows()  # two blocks are on the log that this worker has not fetched
        assert app.sent == before
        app.end_offset = 10
        await stage.close_idle_windows()
        assert app.sent.count(TOPICS.features) > before.count(TOPICS.features)

    asyncio.run(scenario())


def test_a_worker_whose_windows_can_not_be_sent_stops_and_acknowledges_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(features, "records_before", _nothing_before)

    async def scenario() -> None:
        app, acked = _App(), list[int]()
        app.refuses = True
        await _stage(app).consume(_stream(_events(20, acked, time.time())))
        await _settled()
        assert acked == []
        assert [str(failure) for failure in app.crashed] == ["KafkaConnectionError: the producer is closed"]

    asyncio.run(scenario())


def test_a_label_that_waits_for_a_session_which_ends_goes_to_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[tuple[int, object]] = []
    sessions: list[Any] = []

    class _Session:
        """A training session that is caught up when told so."""

        def __init__(self, *_: Any) -> None:
            self.number = len(sessions)
            self.decided = asyncio.Event()
            self.is_current = False
            self.trainer = SimpleNamespace(add_label=self._add)
            sessions.append(self)

        def _add(self, label: object) -> LabelOutcome:
            learned.append((self.number, label))
            return LabelOutcome.ACCEPTED

        async def run(self) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                self.is_current = False
                self.decided.set()

        async def caught_up(self) -> bool:
            await self.decided.wait()
            return self.is_current

    monkeypatch.setattr(learn, "TrainingSession", _Session)
    monkeypatch.setattr(learn, "_RETRY_SECONDS", 0.0)
    label = SimpleNamespace(by="op", anomaly_id="a", verdict=SimpleNamespace(value="false_positive"))

    async def scenario() -> None:
        stage = LearnStage(_App(), KAFKA, TOPICS, SETTINGS)  # type: ignore[arg-type]
        await stage.on_assigned({TP(TOPICS.labels, 0)})
        waiting = asyncio.create_task(stage._learn(label))  # type: ignore[arg-type]
        await _settled()
        await stage.on_revoked()
        await stage.on_assigned({TP(TOPICS.labels, 0)})
        sessions[1].is_current = True
        sessions[1].decided.set()
        await asyncio.wait_for(waiting, 5)
        assert learned == [(1, label)]
        await stage.on_revoked()

    asyncio.run(scenario())


def test_a_reader_that_breaks_ends_the_feed_instead_of_leaving_it_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_: LogReader) -> None:
        raise AssertionError("partition is not assigned")

    monkeypatch.setattr(LogReader, "_read", broken)

    async def scenario() -> None:
        feed = ModelFeed(KAFKA, TOPICS, SimpleNamespace(), lambda *_: None)  # type: ignore[arg-type]
        with pytest.raises(ExceptionGroup) as raised:
            await asyncio.wait_for(feed.run(), 5)
        assert raised.group_contains(AssertionError, match="partition is not assigned")

    asyncio.run(scenario())
