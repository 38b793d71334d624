"""Nodes of a fleet send at different times within a tenth of a second, each always at the same one."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.linger import LONGEST_MS, SHORTEST_MS, linger_ms

NODES = 10_000


def test_a_name_has_its_time_by_a_hash_that_is_the_same_everywhere() -> None:
    # The check value of CRC-32 (ISO-HDLC), as its specification gives it.
    assert linger_ms("123456789") == 20 + 0xCBF43926 % 81


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=60))
def test_no_node_waits_longer_than_a_tenth_of_a_second(node: str) -> None:
    assert SHORTEST_MS <= linger_ms(node) <= LONGEST_MS == 100


@pytest.mark.parametrize(
    "name",
    [
        lambda number: f"node-{number}",
        lambda number: f"node-{number:05}.cluster.example.org",
        lambda number: f"ip-10-{number // 4096}-{number // 64 % 64}-{number % 64}.ec2.internal",
        lambda number: f"rack{number // 32:03}-gpu{number % 32:02}",
        lambda number: f"gke-train-a3-{number * 2654435761 % 2**32:08x}-{number * 40503 % 2**16:04x}",
    ],
    ids=["numbers", "padded", "addresses", "racks", "random"],
)
def test_ten_thousand_nodes_of_any_naming_are_spread_evenly(name: Callable[[int], str]) -> None:
    times = Counter((linger_ms(name(number)) - SHORTEST_MS) // 9 for number in range(NODES))
    # 9 bins of 9 ms: 1,111 nodes in each if they are even.
    assert set(times) == set(range(9))
    assert 0.75 * NODES / 9 <= min(times.values()) <= max(times.values()) <= 1.25 * NODES / 9
