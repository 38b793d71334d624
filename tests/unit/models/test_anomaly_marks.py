"""The marks of anomalies answer as a walk through all of them would."""

from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.models.anomaly_marks import MAX_MARKS, AnomalyMarks

ENTITIES = ("node7/host", "node8/host")
TIMES = st.integers(0, 60)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("mark"), st.sampled_from(ENTITIES), TIMES, TIMES),
        st.tuples(st.just("unmark"), st.sampled_from(ENTITIES), TIMES, st.just(0)),
        st.tuples(st.just("forget"), st.sampled_from(ENTITIES), TIMES, st.just(0)),
        st.tuples(st.just("look up"), st.sampled_from(ENTITIES), TIMES, st.integers(0, 20)),
    ),
    max_size=40,
)


@given(CHANGES, st.integers(0, 10))
def test_a_lookup_finds_what_a_walk_through_all_spans_finds(
    changes: list[tuple[str, str, int, int]], margin: int
) -> None:
    marks = AnomalyMarks()
    spans: dict[tuple[str, int], int] = {}
    for what, entity, first, number in changes:
        if what == "mark":
            marks.mark(entity, first, first + number)
            spans[entity, first] = first + number
        elif what == "unmark":
            marks.unmark(entity, first)
            spans.pop((entity, first), None)
        elif what == "forget":
            marks.forget_before(entity, first)
            spans = {key: last for key, last in spans.items() if key[0] != entity or last >= first}
        else:
            marks.is_near(entity, first, number)

    assert len(marks) == len(spans)
    for entity in ENTITIES:
        for time in range(130):
            near = [
                last for (of, first), last in spans.items() if of == entity and first - margin <= time <= last + margin
            ]
            assert marks.is_near(entity, time, margin) is bool(near)


def test_the_mark_set_longest_ago_gives_way() -> None:
    marks = AnomalyMarks()
    for number in range(MAX_MARKS):
        marks.mark("node7/host", 10 * number, 10 * number)
    marks.mark("node7/host", 0, 1)
    marks.mark("node8/host", 5, 5)

    assert len(marks) == MAX_MARKS
    assert marks.is_near("node7/host", 0)
    assert not marks.is_near("node7/host", 10)
    assert marks.is_near("node8/host", 5)
