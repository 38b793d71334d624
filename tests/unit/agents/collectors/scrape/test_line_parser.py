"""Lines of an exposition: bad ones are lost alone, remembered ones give what the library gives."""

import math
import string
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from pulsetrain.agents.collectors.scrape.line_parser import MAX_LINE_BYTES, LineParser

FORMATS: dict[bool, Callable[[CollectorRegistry], bytes]] = {False: generate_latest, True: generate_openmetrics}

Identity = tuple[str, tuple[tuple[str, str], ...]]


def identity(name: str, labels: Mapping[str, str], kind: str) -> Identity:
    return name, tuple(sorted(labels.items()))


def parser(max_series: int = 1000) -> LineParser[Identity]:
    return LineParser(lambda name: not name.startswith("unwanted"), lambda _: False, identity, max_series)


def read(text: str | bytes, is_openmetrics: bool = False) -> tuple[dict[Identity, float], int]:
    """Values by series and the number of bad lines; the same when the lines are known already."""
    lines = (text.encode() if isinstance(text, str) else text).split(b"\n")
    tested = parser()
    samples, counts = tested.read(lines, is_openmetrics)
    again, same_counts = tested.read(lines, is_openmetrics)
    assert repr(samples) == repr(again)
    assert counts == same_counts
    return {sample.series: sample.value for sample in samples}, counts.bad


def test_a_value_that_is_no_number_loses_one_line_and_not_what_follows() -> None:
    assert read('good 1\npower{gpu="3"} N/A\nafter 2\n') == ({("good", ()): 1.0, ("after", ()): 2.0}, 1)


@pytest.mark.parametrize(
    "bad",
    [
        'power{gpu="3"} ',
        'power{gpu="3"}',
        "power",
        'power{name="14" rack"} 5',
        'power{gpu="3} 5',
        'power{gpu="3" 5',
        "power{gpu=3} 5",
        'power{gpu="3",gpu="4"} 5',
        "power 1 2 3 x",
        "power 1_000",
        "9power 5",
        "{} 5",
        "}{",
        '{"',
        "power 0x10",
    ],
)
def test_a_line_that_is_not_understood_is_counted_and_its_neighbours_are_kept(bad: str) -> None:
    assert read(f"good 1\n{bad}\nafter 2\n") == ({("good", ()): 1.0, ("after", ()): 2.0}, 1)


def test_bytes_that_are_no_text_are_one_bad_line() -> None:
    assert read(b'good 1\npower{gpu="\xff\xfe"} 5\nafter 2') == ({("good", ()): 1.0, ("after", ()): 2.0}, 1)


def test_a_line_longer_than_any_real_one_is_bad() -> None:
    long = 'power{gpu="' + "x" * MAX_LINE_BYTES + '"} 5'
    assert read(f"good 1\n{long}\nafter 2\n") == ({("good", ()): 1.0, ("after", ()): 2.0}, 1)


def test_escapes_braces_and_commas_in_label_values_are_text() -> None:
    values, bad = read('a{x="1}",y="2 # {",z="c:\\\\d\\"e\\nf,g"} 5\n')
    assert values == {("a", (("x", "1}"), ("y", "2 # {"), ("z", 'c:\\d"e\nf,g'))): 5.0}
    assert bad == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [("NaN", math.nan), ("+Inf", math.inf), ("-Inf", -math.inf), ("1e3", 1000.0), (".5", 0.5), ("-5", -5.0)],
)
def test_every_number_of_the_format_is_read(text: str, value: float) -> None:
    values, bad = read(f"a {text}\n")
    assert values[("a", ())] == pytest.approx(value, nan_ok=True)
    assert bad == 0


def test_times_are_milliseconds_in_the_text_format_and_seconds_in_openmetrics() -> None:
    tested = parser()
    for _ in range(2):
        (text,), _ = tested.read([b"a 1 1395066363500"], is_openmetrics=False)
        assert text.timestamp == pytest.approx(1395066363.5)
        (openmetrics,), _ = tested.read([b"b 1 1395066363.5", b"# EOF"], is_openmetrics=True)
        assert openmetrics.timestamp == pytest.approx(1395066363.5)


def test_of_a_series_that_comes_twice_the_first_sample_counts() -> None:
    samples, counts = parser().read([b'a{x="1"} 5', b'a{x="2"} 6', b'a{x="1"} 7'], False)
    assert [sample.value for sample in samples] == [5.0, 6.0]
    assert (counts.wanted, counts.duplicate) == (2, 1)


def test_a_series_that_vanishes_is_gone_and_may_come_back() -> None:
    tested = parser()
    assert len(tested.read([b"a 1", b"b 1"], False)[0]) == 2
    assert [sample.series[0] for sample in tested.read([b"a 2"], False)[0]] == ["a"]
    assert [sample.value for sample in tested.read([b"a 3", b"b 3"], False)[0]] == [3.0, 3.0]


def test_series_beyond_the_limit_are_counted_and_the_first_ones_kept() -> None:
    tested = parser(max_series=3)
    for _ in range(2):
        samples, counts = tested.read([b"a%d 1" % number for number in range(5)], False)
        assert [sample.series[0] for sample in samples] == ["a0", "a1", "a2"]
        assert counts.over_limit == 2


def test_lines_are_no_longer_parsed_when_very_many_were_in_vain() -> None:
    tested: LineParser[str] = LineParser(lambda _: True, lambda _: False, lambda *_: None, 3)
    samples, counts = tested.read([b"a%d 1" % number for number in range(10)], False)
    assert (samples, counts.unwanted, counts.over_limit) == ([], 6, 4)
    # What is remembered needs no parsing, so the next ones have their turn.
    _, counts = tested.read([b"a%d 1" % number for number in range(10)], False)
    assert (counts.unwanted, counts.over_limit) == (10, 0)


def test_unwanted_series_are_counted_and_bad_ones_among_them_too() -> None:
    _, counts = parser().read([b"unwanted 1", b'unwanted{a="b"} 2', b"unwanted N/A"], False)
    assert (counts.unwanted, counts.bad, counts.wanted) == (2, 1, 0)
    assert counts.first_bad == "unwanted N/A"


def test_an_exemplar_is_ignored() -> None:
    text = 'a_total{x="1"} 5 # {trace_id="a}b"} 0.5 1395066363.5\n# EOF'
    assert read(text, is_openmetrics=True) == ({("a_total", (("x", "1"),)): 5.0}, 0)


def test_openmetrics_without_its_end_is_not_whole() -> None:
    assert not parser().read([b"a 1"], True)[1].is_whole
    assert parser().read([b"a 1", b"# EOF"], True)[1].is_whole
    assert parser().read([b"a 1"], False)[1].is_whole


def test_the_type_of_a_family_is_known_where_its_series_come() -> None:
    kinds: dict[str, str] = {}

    def note(name: str, labels: Mapping[str, str], kind: str) -> str:
        kinds[name] = kind
        return name

    lines = [
        b"# TYPE a counter", b"a_total 1",
        b"# TYPE h histogram", b"h_sum 1", b'h_bucket{le="1"} 1',
        b"other 1", b"# TYPE broken",
        b"# TYPE unneeded counter", b"unneeded 1", b"# EOF",
    ]  # fmt: skip
    LineParser(lambda _: True, lambda family: family != "unneeded", note, 10).read(lines, True)
    assert kinds == {"a_total": "counter", "h_sum": "histogram", "h_bucket": "histogram", "other": "", "unneeded": ""}


def test_what_prometheus_client_writes_is_read_in_both_formats() -> None:
    registry = CollectorRegistry()
    Gauge("g", "help", ["path"], registry=registry).labels('a "quoted" \\ path\n').set(2.5)
    Counter("c", "help", registry=registry).inc(3)
    for is_openmetrics, write in FORMATS.items():
        text = write(registry)
        values, bad = read(text, is_openmetrics)
        assert values[("g", (("path", 'a "quoted" \\ path\n'),))] == 2.5
        assert values[("c_total", ())] == 3.0
        assert bad == 0


LABEL_NAMES = st.text(string.ascii_lowercase, min_size=1, max_size=3).filter(lambda name: name != "le")
LABELS = st.dictionaries(LABEL_NAMES, st.text(max_size=8), max_size=3)
NAMES = st.text(string.ascii_lowercase + "_:", min_size=1, max_size=8)
VALUES = st.floats() | st.integers(-(2**70), 2**70)
GARBAGE = st.binary(max_size=60).map(lambda line: line.replace(b"\n", b" ")) | st.text(
    'abc{}=",\\# 0123456789.eE+-\t', max_size=40
).map(str.encode)


def written(name: str, labels: dict[str, str], value: float) -> bytes:
    """A line as an exporter writes it."""
    escaped = {
        label: text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"") for label, text in labels.items()
    }
    pairs = ",".join(f'{label}="{text}"' for label, text in escaped.items())
    return f"{name}{{{pairs}}} {value}".encode()


@given(st.lists(GARBAGE, max_size=8), st.booleans())
def test_garbage_raises_nothing(lines: list[bytes], is_openmetrics: bool) -> None:
    tested = parser()
    for _ in range(2):
        samples, counts = tested.read(lines, is_openmetrics)
        assert len(samples) + counts.unwanted + counts.duplicate + counts.bad <= len(lines)


@given(
    st.dictionaries(NAMES, st.tuples(LABELS, VALUES), min_size=1, max_size=5), st.lists(GARBAGE, max_size=5), st.data()
)
def test_good_lines_are_kept_whatever_stands_between_them(
    series: dict[str, tuple[dict[str, str], float]], garbage: list[bytes], data: st.DataObject
) -> None:
    good = [written(f"good:{name}", labels, value) for name, (labels, value) in series.items()]
    lines = data.draw(st.permutations([*good, *garbage]))
    tested = parser()
    for _ in range(2):
        samples, _ = tested.read(lines, False)
        found = {sample.series: sample.value for sample in samples}
        for name, (labels, value) in series.items():
            expected = identity(f"good:{name}", labels, "")
            assert found[expected] == pytest.approx(float(value), nan_ok=True)


@given(NAMES, LABELS, VALUES, VALUES)
def test_a_remembered_series_gives_what_the_library_gives(
    name: str, labels: dict[str, str], first: float, second: float
) -> None:
    tested = parser()
    tested.read([written(name, labels, first)], False)
    line = written(name, labels, second)
    (sample,), _ = tested.read([line], False)
    ((theirs,),) = (family.samples for family in text_string_to_metric_families(line.decode()))
    assert sample.series == identity(theirs.name, theirs.labels, "")
    assert sample.value == pytest.approx(float(theirs.value), nan_ok=True)
