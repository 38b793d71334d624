"""Faults of Faust that the workers are built around: shown in Faust's own code, and that they do not reach us."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import faust
import pytest
from faust.stores.memory import Store
from faust.transport.consumer import Consumer
from faust.types import TP

from pulsetrain.streams.ordered_acks import OrderedAcks

SAMPLES = TP("samples", 0)


class _Commits:
    """What Faust would commit, by its own code, after the messages that were acknowledged."""

    def __init__(self, committed: int | None) -> None:
        self.acked: list[int] = []
        self._committed = committed

    def next_offset(self) -> int | None:
        state = SimpleNamespace(
            _acked={SAMPLES: list(self.acked)},
            _gap=defaultdict(list),
            _committed_offset={SAMPLES: self._committed},
            _acked_index=defaultdict(set),
        )
        return Consumer._new_offset(state, SAMPLES)  # type: ignore[arg-type]


class _Event:
    """A delivered message that notes its acknowledgement."""

    def __init__(self, offset: int, commits: _Commits) -> None:
        self.message = SimpleNamespace(offset=offset)
        self._commits = commits

    def ack(self) -> bool:
        self._commits.acked.append(self.message.offset)
        return True


CASES = pytest.mark.parametrize(
    ("committed", "unfinished", "finished", "faust_commits"),
    [(None, 0, [1], 2), (31, 31, [32, 33], 34)],
)


@CASES
def test_faust_commits_past_a_message_that_is_still_being_processed(
    committed: int | None, unfinished: int, finished: Sequence[int], faust_commits: int
) -> None:
    # faust-streaming/faust #606
    commits = _Commits(committed)
    commits.acked = list(finished)
    assert commits.next_offset() == faust_commits


@CASES
def test_with_ordered_acks_nothing_is_committed_before_the_message_that_is_unfinished(
    committed: int | None, unfinished: int, finished: Sequence[int], faust_commits: int
) -> None:
    async def scenario() -> None:
        commits = _Commits(committed)
        acks = OrderedAcks(lambda failure: pytest.fail(str(failure)))
        loop = asyncio.get_running_loop()
        confirmations = {offset: loop.create_future() for offset in (unfinished, *finished)}
        for offset, confirmation in confirmations.items():
            acks.hold(_Event(offset, commits))  # type: ignore[arg-type]
            acks.settle(offset + 1, [confirmation])
        for offset in finished:
            confirmations[offset].set_result(None)
        await _let_callbacks_run()
        assert commits.next_offset() is None
        confirmations[unfinished].set_result(None)
        await _let_callbacks_run()
        assert commits.next_offset() == faust_commits

    asyncio.run(scenario())


async def _let_callbacks_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def _restored(changelog: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    """What a table of Faust holds after its recovery from a changelog; None is a tombstone."""
    events = [
        SimpleNamespace(key=key, value=value, message=SimpleNamespace(value=value, partition=0))
        for key, value in changelog
    ]

    async def restore() -> dict[Any, Any]:
        app = faust.App("restore", broker="memory://")
        store: Store[Any, Any] = Store("memory://", app, app.Table("table"))
        store.apply_changelog_batch(events, lambda key: key, lambda value: value)  # type: ignore[arg-type]
        return dict(store.data)

    return asyncio.run(restore())


@pytest.mark.parametrize("falsy", [0, "", [], {}, False])
def test_faust_loses_a_restored_key_whose_newest_value_is_falsy_and_was_deleted_before(falsy: Any) -> None:
    # faust-streaming/faust #171: {1: "Foo", 2: falsy} is right
    assert _restored([(1, "Foo"), (2, 5), (2, None), (2, falsy)]) == {1: "Foo"}
    assert _restored([(1, "Foo"), (2, 5), (2, None), (2, "Baz")]) == {1: "Foo", 2: "Baz"}
