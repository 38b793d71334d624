"""GPUs are remembered: one that is lost is told once, and so is its return."""

from collections.abc import Sequence

from pulsetrain.agents.collectors.base import Notice
from pulsetrain.agents.collectors.nvml.identity import Gpu
from pulsetrain.agents.collectors.nvml.inventory import Inventory
from pulsetrain.schemas.status import StatusEvent

_A, _B, _C = (
    Gpu(f"GPU-{letter}", index, "NVIDIA H100", f"serial-{letter}", f"0000:{index:02x}:00.0", index + 1)
    for index, letter in enumerate("abc")
)


def _events(notices: Sequence[Notice]) -> list[tuple[StatusEvent, str | None]]:
    return [(notice.event, notice.entity) for notice in notices]


def test_nothing_has_happened_when_gpus_are_seen_first() -> None:
    assert Inventory().saw([_A, _B, _C], {}) == []


def test_a_gpu_that_the_driver_counts_no_more_is_lost_once() -> None:
    inventory = Inventory()
    inventory.saw([_A, _B, _C], {})

    first, later = inventory.saw([_A, _C], {}), inventory.saw([_A, _C], {})

    assert _events(first) == [(StatusEvent.GPU_LOST, "gpu:GPU-b")]
    assert later == []
    assert "GPU-b" in first[0].message
    assert first[0].details["serial"] == "serial-b"


def test_a_gpu_that_is_counted_but_lost_is_lost_once() -> None:
    inventory = Inventory()
    inventory.saw([_A, _B], {})

    assert _events(inventory.saw([_A], {1: 15})) == [(StatusEvent.GPU_LOST, "gpu:GPU-b")]
    assert inventory.saw([_A], {1: 15}) == []


def test_it_has_returned_when_it_answers_and_not_when_it_is_shown() -> None:
    inventory = Inventory()
    inventory.saw([_A, _B], {})
    inventory.saw([_A], {})

    assert inventory.saw([_A, _B], {}) == []
    returned = inventory.answered("GPU-b")

    assert returned is not None
    assert (returned.event, returned.entity) == (StatusEvent.GPU_RETURNED, "gpu:GPU-b")
    assert inventory.answered("GPU-b") is None


def test_each_loss_is_told_anew_after_a_return() -> None:
    inventory = Inventory()
    inventory.saw([_A, _B], {})
    told = [inventory.lose("GPU-b", "test"), inventory.lose("GPU-b", "test")]
    inventory.answered("GPU-b")

    assert [notice is not None for notice in (*told, inventory.lose("GPU-b", "test"))] == [True, False, True]


def test_gpus_that_change_places_are_still_themselves() -> None:
    inventory = Inventory()
    inventory.saw([_A, _B], {})
    swapped = [Gpu("GPU-b", 0, "NVIDIA H100", "", "", 1), Gpu("GPU-a", 1, "NVIDIA H100", "", "", 2)]

    assert inventory.saw(swapped, {}) == []
    assert inventory.known["GPU-a"].index == 1


def test_an_index_that_fails_for_another_reason_loses_nobody() -> None:
    inventory = Inventory()
    inventory.saw([_A, _B], {})

    assert inventory.saw([_A], {1: 10}) == []
    assert inventory.lost == set()


def test_a_gpu_that_was_lost_before_the_start_is_told_once_without_a_name() -> None:
    inventory = Inventory()

    first, later = inventory.saw([_A], {1: 15}), inventory.saw([_A], {1: 15})

    assert _events(first) == [(StatusEvent.GPU_LOST, None)]
    assert first[0].details == {"index": 1}
    assert later == []
