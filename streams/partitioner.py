"""Where a key's records go: the Java client's murmur2, computed once a key.

aiokafka computes it in Python for every record, 15 microseconds for a node's name, and the names are few.
"""

from collections.abc import Sequence
from functools import lru_cache

from aiokafka.partitioner import DefaultPartitioner, murmur2

_REMEMBERED_KEYS = 65_536
_LONGEST_REMEMBERED_KEY = 256

_default = DefaultPartitioner()


def _positive_hash(key: bytes) -> int:
    return int(murmur2(key)) & 0x7FFFFFFF


_remembered_hash = lru_cache(_REMEMBERED_KEYS)(_positive_hash)


def partition_of_key(key: bytes | None, partitions: Sequence[int], available: Sequence[int]) -> int:
    """The partition that every producer of the project chooses for a key; any available one for no key."""
    if key is None:
        return int(_default(key, partitions, available))
    # The key of a dead letter is its sender's, and may be as long as a message.
    positive_hash = _remembered_hash if len(key) <= _LONGEST_REMEMBERED_KEY else _positive_hash
    return partitions[positive_hash(key) % len(partitions)]
