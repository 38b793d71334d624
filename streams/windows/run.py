"""A run: the uninterrupted stretch of one node's session, and which of its windows are still open."""

from collections import deque
from collections.abc import Iterator

from pulsetrain.streams.windows.arrival import Arrival
from pulsetrain.streams.windows.closed import ClosedWindow, EntityWindow
from pulsetrain.streams.windows.source import Source, SourceCut
from pulsetrain.streams.windows.stretch import Origin
from pulsetrain.streams.windows.times import WindowTimes


class Run:
    """Windows of one node and session, emitted in order of their starts.

    All ticks are shifted by the tolerance. `next` is the start of the next window to emit: everything before it is
    emitted or never will be. `newest` is the newest tick that is known to have been sent, `newest_seen` the newest
    that has come.
    """

    def __init__(self, arrival: Arrival, begins_at: int, times: WindowTimes) -> None:
        self.node = arrival.block.node
        self.session = arrival.block.session
        self.newest = arrival.newest
        self.newest_seen = arrival.last
        self.first = self.next = times.first_start(begins_at)
        self._emitted_until = self.first
        self._times = times
        self._holes: deque[tuple[int, int]] = deque()
        self._sources: dict[tuple[str, str], Source] = {}
        self._prepared: ClosedWindow | None = None
        self._prepared_until = self.next

    def source(self, entity: str, collector: str) -> Source:
        """The state of a source, made at first sight."""
        key = (entity, collector)
        if key not in self._sources:
            self._sources[key] = Source(entity, collector)
        return self._sources[key]

    def remembers(self, entity: str, collector: str, sequence: int) -> bool:
        """Whether a block with this number could still change a window, so that a copy of it is recognised."""
        source = self._sources.get((entity, collector))
        return source is not None and source.has(sequence)

    def extend(self, arrival: Arrival) -> None:
        """Move on with a block; where others were lost before it, no window starts in the hole they left."""
        if arrival.sent_until is not None and arrival.sent_until > self.newest:
            self._holes.append((self.newest, arrival.sent_until))
            self.newest = arrival.sent_until
            self._skip_holes()
        self.newest = max(self.newest, arrival.last)
        self.newest_seen = max(self.newest_seen, arrival.last)

    def late_rows(self, origin: Origin) -> slice:
        """Rows of a block in time whose windows have all been emitted by now."""
        if origin.first >= self._emitted_until:
            return slice(0, 0)
        return origin.rows_between(self.first, self._emitted_until)

    def touch(self, tick: int) -> None:
        """Forget what was prepared if samples or counts from this tick on can be part of it."""
        if self._prepared is not None and tick < self._prepared.end_ns:
            self._prepared = None

    def prepare(self, newest_of: Source) -> ClosedWindow | None:
        """Put the next window together before the watermark passes it, once all sources have sent what lies in it.

        Each window once: if something comes for it afterwards, it is put together again when it closes. None where it
        is too early or was done; `close_passed` gives the same object unless something came. `newest_of` is the source
        that has just sent, which is asked first.
        """
        end = self.next + self._times.length_ns
        if end <= self._prepared_until or not newest_of.reaches(end):
            return None
        if not all(source.reaches(end) for source in self._sources.values()):
            return None
        self._prepared_until = end
        self._prepared = self._cut(self.next, complete=True)
        return self._prepared

    def close_passed(self) -> Iterator[ClosedWindow]:
        """Emit every window that the watermark has passed."""
        return self._close(self.newest - self._times.lateness_ns - self._times.length_ns, complete=True)

    def close_through(self, tick: int) -> Iterator[ClosedWindow]:
        """Emit every window that starts at or before a tick, whatever is still to come."""
        return self._close(tick, complete=False)

    def leave_through_newest(self) -> None:
        """Leave every window that starts at or before `newest` to the worker that has emitted it."""
        self._sources.clear()
        self._holes.clear()
        self.first = self.next = self._emitted_until = self._times.first_start(self.newest + 1)

    @property
    def state_bytes(self) -> int:
        """Bytes of the samples that open windows still need."""
        return sum(source.state_bytes for source in self._sources.values())

    @property
    def windows_open(self) -> int:
        """How many windows have started and are not emitted; those that will start in a hole included."""
        return max(0, (self.newest - self.next) // self._times.hop_ns + 1)

    def _close(self, last_start: int, complete: bool) -> Iterator[ClosedWindow]:
        while self.next <= last_start:
            prepared, self._prepared = self._prepared, None
            window = prepared if complete and prepared is not None else self._cut(self.next, complete)
            self.next += self._times.hop_ns
            self._emitted_until = self.next
            self._skip_holes()
            self._sources = {key: source for key, source in self._sources.items() if source.prune(self.next)}
            if window is not None:
                yield window

    def _skip_holes(self) -> None:
        while self._holes and self.next > self._holes[0][0]:
            _, sent_until = self._holes.popleft()
            self.next = max(self.next, self._times.first_start(sent_until + 1))

    def _cut(self, start: int, complete: bool) -> ClosedWindow | None:
        end = start + self._times.length_ns
        cuts: dict[str, list[SourceCut]] = {}
        for (entity, _), source in sorted(self._sources.items()):
            cut = source.cut(start, end)
            if cut is not None:
                cuts.setdefault(entity, []).append(cut)
        if not cuts:
            return None
        entities = tuple(_entity_window(entity, parts) for entity, parts in cuts.items())
        offsets = [cut.clock_offset_ns for parts in cuts.values() for cut in parts if cut.clock_offset_ns is not None]
        return ClosedWindow(
            self.node, self.session, start, end, complete, entities, clock_offset_ns=min(offsets, default=None)
        )


def _entity_window(entity: str, parts: list[SourceCut]) -> EntityWindow:
    labels: dict[str, str] = {}
    for part in sorted(parts, key=lambda part: part.newest.offset):
        labels.update(part.newest.labels)
    labels = {name: value for name, value in labels.items() if value}
    return EntityWindow(entity, labels, tuple(part.window for part in parts))
