"""A window that was judged is acknowledged only once its entity's new state is safe in the table's changelog."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from faust.types import TP

from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams import shutdown
from pulsetrain.streams.confirmed_table import ConfirmedTable
from pulsetrain.streams.faust_app import make_app
from pulsetrain.streams.settings import WorkerSettings
from pulsetrain.streams.stages import detect
from pulsetrain.streams.stages.detect import DetectStage
from tests.feature_windows import encoded_window

KAFKA = KafkaSettings(bootstrap="127.0.0.1:1")
TOPICS = TopicNames("t.")
FEATURES = TP(TOPICS.features, 0)


class _Changelog:
    """Takes what Faust would send; the test confirms it."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send_soon(self, message: Any) -> None:
        self.sent.append(message)


class _Run:
    """A stage on an app whose broker the test plays."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.app = make_app("detect", KAFKA, TOPICS, 1, declare_topics=False)
        self.changelog = _Changelog()
        self.crashed: list[BaseException] = []
        self.acked: list[int] = []
        self.producer_refuses = False
        monkeypatch.setattr(shutdown, "arm_shutdown_deadline", lambda *_: None)
        monkeypatch.setattr(ConfirmedTable, "partition_for_key", lambda *_: 0)
        monkeypatch.setattr(
            type(self.app), "producer", SimpleNamespace(send=self._send, send_soon=self.changelog.send_soon)
        )
        monkeypatch.setattr(self.app, "add_future", self._add_future)
        self.stage = DetectStage(self.app, KAFKA, TOPICS, WorkerSettings())
        self.stage._models._reader.caught_up.set()

    async def _send(self, *_: Any, **__: Any) -> asyncio.Future[None]:
        if self.producer_refuses:
            raise ConnectionError("the producer is closed")
        confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        confirmed.set_result(None)
        return confirmed

    def _add_future(self, coroutine: Coroutine[Any, Any, None]) -> None:
        coroutine.close()
        self.crashed.append(RuntimeError())

    async def consume(self, *messages: bytes, first: int = 0) -> None:
        """Lets the stage read these messages, whose offsets count from `first`."""
        await self.stage.consume(_Stream(messages, first, self.acked))  # type: ignore[arg-type]
        await self.settled()

    async def settled(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


class _Stream:
    """A stream of messages without acks of its own."""

    def __init__(self, values: tuple[bytes, ...], first: int, acked: list[int]) -> None:
        self._values, self._first, self._acked = values, first, acked

    def noack(self) -> "_Stream":
        return self

    async def events(self) -> AsyncIterator[Any]:
        for offset, value in enumerate(self._values, self._first):
            yield SimpleNamespace(
                message=SimpleNamespace(
                    tp=FEATURES, topic=FEATURES.topic, partition=0, offset=offset, key=b"node", value=value
                ),
                ack=lambda offset=offset: self._acked.append(offset),
            )


def test_a_window_is_acknowledged_after_the_changelog_has_confirmed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        run = _Run(monkeypatch)
        await run.consume(encoded_window("node", 100), encoded_window("node", 105))
        first, second = run.changelog.sent
        assert run.acked == []
        second.set_result(None)
        await run.settled()
        assert run.acked == []
        first.set_result(None)
        await run.settled()
        assert run.acked == [0, 1]

    asyncio.run(scenario())


def test_a_window_that_comes_again_is_acknowledged_after_its_state_has_been_confirmed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        run = _Run(monkeypatch)
        await run.consume(encoded_window("node", 100))
        run.stage.on_revoked()  # the first change may have been lost on its way
        await run.consume(encoded_window("node", 100))
        assert run.acked == []
        lost, again = run.changelog.sent
        assert again.message.value == lost.message.value
        again.set_result(None)
        await run.settled()
        assert run.acked == [0]

    asyncio.run(scenario())


def test_nothing_is_acknowledged_after_a_change_that_the_broker_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        run = _Run(monkeypatch)
        await run.consume(encoded_window("node", 100), encoded_window("node", 105))
        first, second = run.changelog.sent
        first.set_exception(ConnectionError("refused"))
        second.set_result(None)
        await run.settled()
        assert run.acked == []
        assert len(run.crashed) == 1

    asyncio.run(scenario())


def test_a_dead_letter_that_can_not_be_sent_stops_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        run = _Run(monkeypatch)
        run.producer_refuses = True
        await run.consume(b"no window", encoded_window("node", 105))
        assert run.acked == []
        assert len(run.crashed) == 1

    asyncio.run(scenario())


def test_a_worker_that_lost_the_partition_while_its_verdict_was_on_the_way_leaves_the_state_to_its_successor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        run = _Run(monkeypatch)
        flagged = SimpleNamespace(id="a")
        monkeypatch.setattr(detect, "judge", lambda *_: ({}, flagged))
        monkeypatch.setattr(detect, "encode_json", lambda _: b"{}")
        confirmed = asyncio.get_running_loop().create_future()

        async def send(*_: Any, **__: Any) -> asyncio.Future[None]:
            return confirmed

        monkeypatch.setattr(run.stage._outbox, "send", send)
        monkeypatch.setattr(run.stage, "_count", lambda *_: asyncio.sleep(0))
        consuming = asyncio.ensure_future(run.consume(encoded_window("node", 100)))
        await run.settled()
        run.stage.on_revoked()
        confirmed.set_result(None)
        await consuming
        assert (run.changelog.sent, run.acked) == ([], [])

    asyncio.run(scenario())


def test_the_table_says_when_its_newest_change_is_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        run = _Run(monkeypatch)
        table = ConfirmedTable(run.app, name="another", default=dict, beacon=run.app.tables.beacon)
        change = table.change("key", {"a": 1})
        assert table["key"] == {"a": 1}
        assert run.changelog.sent == [change]
        assert not change.done()

    asyncio.run(scenario())
