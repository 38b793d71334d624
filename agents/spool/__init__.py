"""Messages on disk while Kafka can't take them: bounded, in order, and still there after a crash."""

from pulsetrain.agents.spool.record import SpooledMessage
from pulsetrain.agents.spool.segment import Position
from pulsetrain.agents.spool.spool import Spool, SpoolError

__all__ = ["Position", "Spool", "SpoolError", "SpooledMessage"]
