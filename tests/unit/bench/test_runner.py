"""Benches run one after another, whatever becomes of one of them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench.__main__ import main
from tests.bench.figures import BenchError, Figure
from tests.bench.runner import Bench, Results, run_benches

_FAST = Figure("fast_ms", "ms", "how long it takes")
_SLOW = Figure("slow_ms", "ms", "how long that takes")


def _fails() -> dict[str, float]:
    raise BenchError("the broker is gone")


def _run(tmp_path: Path, **benches: Callable[[], dict[str, float]]) -> tuple[Results, list[str]]:
    said: list[str] = []
    loaded = {name: Bench((_FAST, _SLOW), run) for name, run in benches.items()}
    return run_benches(list(benches), tmp_path, said.append, loaded.__getitem__), said


def test_figures_come_in_the_order_of_their_declaration(tmp_path: Path) -> None:
    results, _ = _run(tmp_path, one=lambda: {"slow_ms": 2.0, "fast_ms": 1.0})
    assert results.measured == [(_FAST, 1.0), (_SLOW, 2.0)]
    assert list(json.loads((tmp_path / "one.json").read_text())) == ["fast_ms", "slow_ms"]


def test_a_bench_that_fails_is_named_with_its_reason_and_the_next_one_runs(tmp_path: Path) -> None:
    results, said = _run(tmp_path, broken=_fails, sound=lambda: {"fast_ms": 1.0, "slow_ms": 2.0})
    assert results.failed == ["broken"]
    assert "broken could not run (BenchError): the broker is gone" in said
    assert (tmp_path / "sound.json").exists()


def test_a_bench_that_fails_leaves_no_figures_of_an_earlier_run(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"fast_ms": 1.0}')
    _run(tmp_path, broken=_fails)
    assert not (tmp_path / "broken.json").exists()


@pytest.mark.parametrize("values", [{"fast_ms": 1.0}, {"fast_ms": 1.0, "slow_ms": 2.0, "other_ms": 3.0}])
def test_a_bench_measures_exactly_what_it_declares(tmp_path: Path, values: dict[str, float]) -> None:
    results, said = _run(tmp_path, one=lambda: values)
    assert results.failed == ["one"]
    assert any("not measured" in sentence for sentence in said)


def test_a_figure_that_needs_what_this_machine_lacks_may_be_left_out(tmp_path: Path) -> None:
    peer = Figure("peer_ms", "ms", "how long a neighbour takes", needs="Debian's neighbour")
    results = run_benches(["one"], tmp_path, lambda _: None, lambda _: Bench((_FAST, peer), lambda: {"fast_ms": 1.0}))
    assert results.measured == [(_FAST, 1.0), (peer, None)]
    assert json.loads((tmp_path / "one.json").read_text()) == {"fast_ms": 1.0}


def test_progress_says_how_many_benches_there_are(tmp_path: Path) -> None:
    _, said = _run(tmp_path, broken=_fails, second=_fails)
    assert [sentence for sentence in said if "of 2" in sentence] == ["broken (1 of 2) ...", "second (2 of 2) ..."]


def test_an_unknown_bench_is_a_sentence_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["kernel"])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "there is no bench 'kernel': choose from kernels, efficient, scoring, worker, agent" in said
