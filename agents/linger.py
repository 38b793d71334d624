"""How long the producer gathers messages before it sends them: another time for each node (decision 0017)."""

import zlib

from pulsetrain.schemas.kafka import checked_key

SHORTEST_MS, LONGEST_MS = 20, 100


def linger_ms(node: str) -> int:
    """The node's `linger.ms`: always the same for a name, and spread evenly over a fleet.

    Blocks end at whole seconds on all nodes, whose samples meet on one grid; what differs is when they are sent.

    Raises:
        EncodeError: the name can't be a key.
    """
    return SHORTEST_MS + zlib.crc32(checked_key(node)) % (LONGEST_MS - SHORTEST_MS + 1)
