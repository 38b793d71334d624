"""Event-time windows of one partition, decided by the log alone (decision 0005)."""

from pulsetrain.streams.windows.closed import ClosedWindow, EntityWindow, SourceWindow
from pulsetrain.streams.windows.engine import WindowEngine
from pulsetrain.streams.windows.step import NodeEvent, SampleCounts, Step

__all__ = ["ClosedWindow", "EntityWindow", "NodeEvent", "SampleCounts", "SourceWindow", "Step", "WindowEngine"]
