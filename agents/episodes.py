"""Failures of collectors as episodes, so that one that comes and goes is not told each time."""

_STEADY_NS = 60_000_000_000
"""A collector that fails again within so long of its recovery has to work for so long before that is told again."""


class Episodes:
    """What of each collector's readings is news."""

    def __init__(self) -> None:
        self._open: dict[str, int | None] = {}
        self._unsteady: set[str] = set()
        self._recovered_ns: dict[str, int] = {}
        self._told_before: set[str] = set()

    def failed(self, collector: str, now_ns: int) -> bool:
        """Whether it is news that a collector failed."""
        is_news = collector not in self._open
        if is_news and _within(self._recovered_ns.get(collector), now_ns):
            self._unsteady.add(collector)
        self._open[collector] = None
        return is_news

    def worked(self, collector: str, now_ns: int) -> bool:
        """Whether it is news that a collector worked, since it had failed before."""
        if collector not in self._open:
            if collector not in self._told_before:
                return False
            self._told_before.discard(collector)
            return True
        works_since_ns = self._open[collector]
        if works_since_ns is None or works_since_ns > now_ns:
            works_since_ns = self._open[collector] = now_ns
        if collector in self._unsteady and _within(works_since_ns, now_ns):
            return False
        del self._open[collector]
        self._told_before.discard(collector)
        self._unsteady.discard(collector)
        self._recovered_ns[collector] = now_ns
        return True

    def forget(self, collector: str) -> None:
        """A collector has nothing to read, which is no failure."""
        self._open.pop(collector, None)

    def begin_anew(self) -> None:
        """What fails from now on is news, and so is what works that failed before."""
        self._told_before.update(self._open)
        self._open.clear()
        self._unsteady.clear()


def _within(since_ns: int | None, now_ns: int) -> bool:
    return since_ns is not None and 0 <= now_ns - since_ns < _STEADY_NS
