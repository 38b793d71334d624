"""Samples of an exposition, a line at a time, by prometheus_client's parsers.

A parser that is given a whole text ends at the first bad line; given a line each, it loses that line alone. It costs
some tens of microseconds a line. So what stands before a value is remembered from scrape to scrape, with the series
that it is, and only lines that are new, or strange, are parsed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from prometheus_client import Metric
from prometheus_client import parser as text_parser
from prometheus_client.openmetrics import parser as openmetrics_parser

SeriesT = TypeVar("SeriesT")

Resolve = Callable[[str, Mapping[str, str], str], SeriesT | None]
"""What a series is, by name, labels and type (`counter`, `gauge` ...; empty where the exposition says none, or nobody
needs it); None for one that is not wanted."""

MAX_LINE_BYTES = 16 * 1024
"""A longer line is a bad one: the parsers' time may grow with the square of its length."""

_MAX_REMEMBERED_BYTES = 4 * 1024 * 1024
_MAX_REMEMBERED_HASHES = 50_000
_MAX_TYPES = 2_000

_LABEL = rb'[a-zA-Z_][a-zA-Z0-9_]*="[^"\\]*(?:\\.[^"\\]*)*"'
_LABELS = rb"\{(?:" + _LABEL + rb"(?:," + _LABEL + rb")*,?)?\}"
_NUMBER = rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|[iI]nf|[nN]a[nN])"
_PLAIN_VALUE = re.compile(rb"[ \t]*(" + _NUMBER + rb")(?:[ \t]+(-?[0-9]+(?:\.[0-9]+)?))?")
_PLAIN_LINE = re.compile(rb"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:" + _LABELS + rb")?[ \t]+" + _PLAIN_VALUE.pattern)
_EXEMPLAR = re.compile(rb" # " + _LABELS + rb" " + _NUMBER + rb"(?: [0-9.]+)?$")

_FAMILIES_OF: dict[bool, Callable[[str], Iterable[Metric]]] = {
    False: text_parser.text_string_to_metric_families,
    True: openmetrics_parser.text_string_to_metric_families,
}

_SUFFIXES = ("_total", "_sum", "_count", "_bucket", "_created", "_gsum", "_gcount")
_TYPE_WORDS = 4
_END = b"# EOF"
_SHOWN_BYTES = 80
_MILLISECOND = 1e-3


@dataclass(frozen=True, slots=True)
class Sample(Generic[SeriesT]):
    """A value of a wanted series; `timestamp` is the exporter's own, Unix seconds, None where it gives none."""

    series: SeriesT
    value: float
    timestamp: float | None


@dataclass(slots=True)
class Counts:
    """What became of the lines of one exposition that are no comments.

    `first_bad` is what the first bad one begins with; `is_whole` says whether the text has the end that its format asks
    for.
    """

    wanted: int = 0
    unwanted: int = 0
    duplicate: int = 0
    over_limit: int = 0
    bad: int = 0
    first_bad: str = ""
    is_whole: bool = True


@dataclass(slots=True)
class _Known(Generic[SeriesT]):
    """What stands before a value; its series, None for one that is not wanted."""

    series: SeriesT | None
    seen_in: int = 0


class LineParser(Generic[SeriesT]):
    """Reads the expositions of one target, one after the other.

    Args:
        is_wanted: whether series of this name may be wanted.
        needs_type: whether `resolve` asks for the type of this family.
        resolve: what a series is.
        max_series: of an exposition at most so many wanted series are read, and twice as many lines parsed; the others
            are counted.
    """

    def __init__(
        self,
        is_wanted: Callable[[str], bool],
        needs_type: Callable[[str], bool],
        resolve: Resolve[SeriesT],
        max_series: int,
    ) -> None:
        self._is_wanted = is_wanted
        self._needs_type = needs_type
        self._resolve = resolve
        self._max_series = max_series
        self._left_to_parse = 0
        self._known: dict[bytes, _Known[SeriesT]] = {}
        self._remembered_bytes = 0
        # Of what is not wanted a hash will do: a collision would cost one sample.
        self._plainly_unwanted: set[int] = set()
        self._unwanted_now: set[int] = set()
        self._scrape = 0
        self._types: dict[str, str] = {}
        self._counts = Counts()
        self._is_openmetrics = False

    def read(self, lines: Iterable[bytes], is_openmetrics: bool) -> tuple[list[Sample[SeriesT]], Counts]:
        """The samples of wanted series, in the order of the text; of a series that comes twice the first.

        Raises:
            CollectError: from `lines`.
        """
        self._scrape += 1
        self._types = {}
        self._counts = Counts(is_whole=not is_openmetrics)
        self._is_openmetrics = is_openmetrics
        self._unwanted_now = set()
        self._left_to_parse = 2 * self._max_series
        samples = list(self._samples(lines))
        self._known = {head: known for head, known in self._known.items() if known.seen_in == self._scrape}
        self._remembered_bytes = sum(map(len, self._known))
        self._plainly_unwanted = self._unwanted_now
        return samples, self._counts

    def _samples(self, lines: Iterable[bytes]) -> Iterator[Sample[SeriesT]]:
        for line in lines:
            stripped = line.strip(b" \t\r")
            if len(stripped) > MAX_LINE_BYTES:
                self._note_bad(stripped)
            elif stripped.startswith(b"#"):
                self._read_comment(stripped)
            elif stripped:
                sample = self._sample(stripped)
                if sample is not None:
                    self._counts.wanted += 1
                    yield sample

    def _sample(self, line: bytes) -> Sample[SeriesT] | None:
        if self._is_openmetrics:
            line = _EXEMPLAR.sub(b"", line)
        head, brace, rest = line.rpartition(b"}")
        if not brace:
            head, _, rest = line.partition(b" ")
        known = self._known.get(head)
        plain = _PLAIN_VALUE.fullmatch(rest)
        if plain is not None and known is None and hash(head) in self._plainly_unwanted:
            self._leave_out(head)
            return None
        if known is None or plain is None:
            return self._new_sample(line, head)
        value, timestamp = plain.groups()
        if timestamp is None:
            return self._first(known, float(value), None)
        return self._first(known, float(value), float(timestamp) * (1.0 if self._is_openmetrics else _MILLISECOND))

    def _new_sample(self, line: bytes, head: bytes) -> Sample[SeriesT] | None:
        """The sample of a line that has to be parsed, unless it is plainly one that nobody wants."""
        plain = _PLAIN_LINE.fullmatch(line)
        if plain is not None and not self._is_wanted(plain[1].decode()):
            self._leave_out(head)
            return None
        if not self._left_to_parse:
            self._counts.over_limit += 1
            return None
        self._left_to_parse -= 1
        try:
            name, labels, value, timestamp = self._parsed(line)
        except Exception:  # besides ValueError the parsers raise what comes of their slips: IndexError, TypeError ...
            self._note_bad(line)
            return None
        series = self._resolve(name, labels, self._type_of(name)) if self._is_wanted(name) else None
        return self._first(self._remember(head, series), value, timestamp)

    def _leave_out(self, head: bytes) -> None:
        self._counts.unwanted += 1
        if len(self._unwanted_now) < _MAX_REMEMBERED_HASHES:
            self._unwanted_now.add(hash(head))

    def _remember(self, head: bytes, series: SeriesT | None) -> _Known[SeriesT]:
        known = self._known.get(head)
        if known is None:
            known = _Known(series)
            has_room = self._remembered_bytes + len(head) <= _MAX_REMEMBERED_BYTES
            if has_room and len(self._known) < 2 * self._max_series:
                self._remembered_bytes += len(head)
                self._known[head] = known
        return known

    def _first(self, known: _Known[SeriesT], value: float, timestamp: float | None) -> Sample[SeriesT] | None:
        if known.seen_in == self._scrape:
            self._counts.duplicate += 1
            return None
        if known.series is not None and self._counts.wanted >= self._max_series:
            self._counts.over_limit += 1
            return None
        known.seen_in = self._scrape
        if known.series is None:
            self._counts.unwanted += 1
            return None
        return Sample(known.series, value, timestamp)

    def _parsed(self, line: bytes) -> tuple[str, Mapping[str, str], float, float | None]:
        text = line.decode()
        if self._is_openmetrics:
            text = f"{text}\n{_END.decode()}\n"
        families = _FAMILIES_OF[self._is_openmetrics](text)
        (sample,) = (sample for family in families for sample in family.samples)
        return (
            sample.name,
            sample.labels,
            float(sample.value),
            None if sample.timestamp is None else float(sample.timestamp),
        )

    def _read_comment(self, line: bytes) -> None:
        """Note the type of a family, and the end."""
        if line == _END:
            self._counts.is_whole = True
            return
        if not line.startswith(b"# TYPE") or len(self._types) >= _MAX_TYPES:
            return
        words = line.decode(errors="replace").split()
        if len(words) == _TYPE_WORDS and self._needs_type(words[2]):
            self._types[words[2]] = words[3]

    def _type_of(self, name: str) -> str:
        families = (name, *(name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)))
        return next((self._types[family] for family in families if family in self._types), "")

    def _note_bad(self, line: bytes) -> None:
        self._counts.bad += 1
        self._counts.first_bad = self._counts.first_bad or line[:_SHOWN_BYTES].decode(errors="replace")
