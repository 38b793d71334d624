"""A key's partition is the one that other Kafka clients choose."""

from typing import Any

from aiokafka.partitioner import DefaultPartitioner
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams import partitioner
from pulsetrain.streams.faust_app import make_app
from pulsetrain.streams.partitioner import partition_of_key


@given(st.binary(), st.integers(1, 100))
def test_a_key_has_the_partition_of_aiokafkas_own_partitioner(key: bytes, partitions: int) -> None:
    numbers = list(range(partitions))
    expected = DefaultPartitioner()(key, numbers, numbers)
    assert [partition_of_key(key, numbers, numbers) for _ in range(2)] == [expected] * 2


def test_keys_have_the_partitions_of_the_java_client() -> None:
    # Hashes from the test of Apache Kafka's org.apache.kafka.common.utils.Utils.murmur2.
    hashes = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536}
    numbers = list(range(1000))
    found = {key: partition_of_key(key, numbers, numbers) for key in hashes}
    assert found == {key: (value & 0x7FFFFFFF) % 1000 for key, value in hashes.items()}


def test_without_a_key_the_partition_is_one_that_is_available() -> None:
    assert partition_of_key(None, [0, 1, 2], [1]) == 1


def test_the_workers_producer_places_by_it() -> None:
    app = make_app("features", KafkaSettings(bootstrap="b:9092"), TopicNames("t."), 4, declare_topics=False)
    configured: Any = app.conf.producer_partitioner
    assert configured is partition_of_key


def test_a_long_key_is_placed_but_not_remembered() -> None:
    before = partitioner._remembered_hash.cache_info().currsize
    key = b"k" * 257
    assert partition_of_key(key, range(7), range(7)) == DefaultPartitioner()(key, range(7), range(7))
    assert partitioner._remembered_hash.cache_info().currsize == before
