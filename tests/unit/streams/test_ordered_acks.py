"""Acks of one partition: an ordered prefix, and only what the broker has confirmed (faust-streaming/faust #606)."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.streams.ordered_acks import OrderedAcks


class _Event:
    """A delivered message that notes its acknowledgement."""

    def __init__(self, offset: int, acked: list[int]) -> None:
        self.message = SimpleNamespace(offset=offset)
        self._acked = acked

    def ack(self) -> bool:
        self._acked.append(self.message.offset)
        return True


def _unexpected(failure: BaseException) -> None:
    raise AssertionError(failure)


def _run(scenario: Callable[[asyncio.AbstractEventLoop], Any]) -> None:
    async def main() -> None:
        await scenario(asyncio.get_running_loop())

    asyncio.run(main())


async def _let_callbacks_run() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def test_a_finished_message_waits_for_an_unfinished_one_before_it() -> None:
    async def scenario(loop: asyncio.AbstractEventLoop) -> None:
        acked: list[int] = []
        acks = OrderedAcks(_unexpected)
        slow, fast = loop.create_future(), loop.create_future()
        for offset, confirmation in ((31, slow), (32, fast)):
            acks.hold(_Event(offset, acked))  # type: ignore[arg-type]
            acks.settle(offset + 1, [confirmation])
        fast.set_result(None)
        await _let_callbacks_run()
        assert acked == []
        slow.set_result(None)
        await _let_callbacks_run()
        assert acked == [31, 32]

    _run(scenario)


def test_nothing_of_a_revoked_assignment_is_acknowledged() -> None:
    async def scenario(loop: asyncio.AbstractEventLoop) -> None:
        acked: list[int] = []
        acks = OrderedAcks(_unexpected)
        confirmation = loop.create_future()
        acks.hold(_Event(0, acked))  # type: ignore[arg-type]
        acks.settle(1, [confirmation])
        acks.close()
        confirmation.set_result(None)
        acks.settle(1, [])
        await _let_callbacks_run()
        assert acked == []
        assert acks.held == 0

    _run(scenario)


def test_a_refused_record_stops_the_worker_and_acknowledges_nothing_more() -> None:
    async def scenario(loop: asyncio.AbstractEventLoop) -> None:
        acked: list[int] = []
        failures: list[BaseException] = []
        acks = OrderedAcks(failures.append)
        refused, confirmed = loop.create_future(), loop.create_future()
        for offset, confirmation in ((0, refused), (1, confirmed)):
            acks.hold(_Event(offset, acked))  # type: ignore[arg-type]
            acks.settle(offset + 1, [confirmation])
        confirmed.set_result(None)
        refused.set_exception(TimeoutError("broker away"))
        await _let_callbacks_run()
        assert acked == []
        assert [str(failure) for failure in failures] == ["broker away"]

    _run(scenario)


@given(data=st.data(), sent=st.lists(st.integers(0, 2), min_size=1, max_size=12))
def test_in_any_order_of_confirmations_the_acks_are_the_confirmed_safe_prefix(
    data: st.DataObject, sent: list[int]
) -> None:
    async def scenario(loop: asyncio.AbstractEventLoop) -> None:
        acked: list[int] = []
        acks = OrderedAcks(_unexpected)
        confirmations: list[list[asyncio.Future[Any]]] = [[loop.create_future() for _ in range(n)] for n in sent]
        safe = [0]

        def expected() -> list[int]:
            settled = 0
            while settled < len(safe) - 1 and all(one.done() for one in confirmations[settled]):
                settled += 1
            return list(range(safe[settled]))

        for offset, several in enumerate(confirmations):
            safe.append(data.draw(st.integers(safe[-1], offset + 1)))
            acks.hold(_Event(offset, acked))  # type: ignore[arg-type]
            acks.settle(safe[-1], several)
            assert acked == expected()
        for confirmation in data.draw(st.permutations([one for several in confirmations for one in several])):
            confirmation.set_result(None)
            await _let_callbacks_run()
            assert acked == expected()

    _run(scenario)
