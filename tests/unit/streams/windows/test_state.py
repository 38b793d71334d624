"""What an engine holds: visible, in proportion to what open windows need, and let go in the end."""

import gc
import tracemalloc
import weakref

import numpy as np

from pulsetrain.schemas.sample_block import decode_sample_block, encode_sample_block
from pulsetrain.streams.settings import WindowSettings
from pulsetrain.streams.windows import WindowEngine
from pulsetrain.streams.windows.engine import FORGET_NS
from tests.simulation import SECOND_NS, SimulatedNode
from tests.unit.streams.windows.partition import EPOCH, SECOND, Partition, at

METRICS = tuple(f"test.gauge.{number}" for number in range(100))
RAW_WINDOW_BYTES = 300 * 100 * 8
"""30 s of 100 metrics at 10 Hz."""


def test_state_is_told_in_bytes_and_open_windows() -> None:
    partition = Partition()
    partition.send(*range(12), node="a", session="a", metrics=("x", "y"))
    partition.send(0, 1, node="b", session="b")
    # 12 ticks of 8 bytes and 12 x 2 values; 2 ticks and 2 values
    assert partition.engine.state_bytes == {"a": 12 * 8 * 3, "b": 2 * 8 * 2}
    assert partition.engine.windows_open == 3 + 1
    partition.engine.advance(at(200))
    assert partition.engine.state_bytes == {}
    assert partition.engine.windows_open == 0
    assert partition.engine.remembered_nodes == 2


def test_a_block_is_let_go_when_no_open_window_can_hold_its_samples() -> None:
    partition = Partition()
    block = partition.block(0, 1, 2)
    values = weakref.ref(block.values)
    partition.read(block)
    del block
    partition.send(*range(3, 20))
    assert values() is not None
    partition.send(*range(20, 33))
    assert values() is None


def test_a_silent_node_holds_no_samples() -> None:
    partition = Partition()
    block = partition.block(0, 1, 2)
    values = weakref.ref(block.values)
    partition.read(block)
    del block
    partition.send(70, node="other", session="o", append=71)
    assert values() is None
    assert partition.engine.state_bytes.keys() == {"other"}


def test_nodes_that_come_and_go_are_forgotten_after_a_day_of_append_time() -> None:
    partition = Partition()
    remembered = []
    every_seconds = 600
    for number in range(400):
        second = number * every_seconds
        partition.send(second, node=f"n-{number}", session=f"s-{number}")
        remembered.append(partition.engine.remembered_nodes)
    a_day = FORGET_NS // (every_seconds * SECOND)
    assert a_day == 144
    assert max(remembered) == a_day
    assert remembered[-100:] == [a_day] * 100
    assert partition.engine.state_bytes.keys() == {"n-399"}


def test_a_quarantined_node_is_forgotten_too() -> None:
    partition = Partition()
    partition.send(1_000_000, node="ahead", session="a", append=0)
    partition.send(0, append=1)
    assert partition.engine.remembered_nodes == 2
    partition.send(90_000, session="next", append=90_000)
    assert partition.engine.remembered_nodes == 1


def test_a_node_takes_less_than_twice_its_raw_window() -> None:
    nodes = [SimulatedNode(f"n-{number}", number, EPOCH, METRICS) for number in range(10)]
    engine = WindowEngine(WindowSettings())
    offset = 0

    def read(seconds: range) -> None:
        nonlocal offset
        for second in seconds:
            for node in nodes:
                block = decode_sample_block(encode_sample_block(node.block()))
                engine.process(block, offset, EPOCH + (second + 2) * SECOND_NS)
                offset += 1

    read(range(1))  # what the engine keeps of names and limits is not a node's
    gc.collect()
    tracemalloc.start()
    read(range(1, 66))  # the last block before the next window closes: 36 s are held
    gc.collect()
    held_bytes = tracemalloc.get_traced_memory()[0] / len(nodes)
    tracemalloc.stop()
    assert held_bytes < 2 * RAW_WINDOW_BYTES
    counted_bytes = np.array(list(engine.state_bytes.values()))
    assert (counted_bytes > RAW_WINDOW_BYTES).all()
    assert (counted_bytes < held_bytes).all()
