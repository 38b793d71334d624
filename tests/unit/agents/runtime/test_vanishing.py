"""Files that vanish between open and read, devices that are unplugged: what is missing is counted, no more is lost."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.disk import disk_collector
from pulsetrain.agents.collectors.fields import Field, FieldReader
from pulsetrain.agents.collectors.file_collector import FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.collectors.scheduled import Scheduled
from tests.unit.agents.fakes import ScriptedCollector
from tests.unit.agents.test_runner import Outlet, Script, run

RECORDED = Path(__file__).parents[3] / "data/proc/epyc_vm"


def missing_cells(outlet: Outlet) -> int:
    return sum(int(np.isnan(block.values).sum()) for block in outlet.blocks)


def test_a_process_that_ends_between_open_and_read_leaves_a_reason_and_a_count() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    memory = KernelFile(Path(f"/proc/{child.pid}/statm"))
    reader = FieldReader(lambda content: ((b"size",), content.split()[:1]), [Field("size", (b"size",))])
    collector = FileCollector("child", memory, reader)
    assert collector.is_supported().supported
    memory.read()
    child.kill()
    child.communicate()

    outlet, stats = run(Script(ticks=20), ScriptedCollector("cpu", ["a"]), Scheduled(collector))
    collector.close()
    assert missing_cells(outlet) == stats.ticks == 20
    # One failure more: the reading before the first tick.
    assert stats.collectors["child"].failures == 21
    assert not stats.collectors["child"].is_up
    assert stats.collectors["cpu"].failures == 0
    for block in outlet.blocks:
        assert block.missing.keys() == {"size"}
        assert "No such" in block.missing["size"]
    assert {failure is None for name, failure in outlet.fates if name == "child"} == {False}


def test_a_disk_that_is_unplugged_is_missing_until_it_returns_and_the_others_go_on(tmp_path: Path) -> None:
    shutil.copytree(RECORDED, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "proc/diskstats"
    content = file.read_text()
    collector = disk_collector(Roots(tmp_path / "proc", tmp_path / "sys"))
    assert collector.is_supported().supported
    script = Script(ticks=30)
    wait = script.wait

    def unplugging(seconds: float) -> bool:
        """vda is away from the 11th to the 20th tick."""
        if script.left == 20:
            file.write_text("".join(line for line in content.splitlines(True) if " vda " not in line))
        elif script.left == 10:
            file.write_text(content)
        return wait(seconds)

    script.wait = unplugging  # type: ignore[method-assign]
    outlet, stats = run(script, Scheduled(collector), ScriptedCollector("cpu", ["a"]))
    collector.close()
    metrics = [metric for metric in outlet.blocks[0].metrics if "vda" in metric]
    assert metrics
    values = np.concatenate([block.values for block in outlet.blocks])
    column = {metric: index for index, metric in enumerate(outlet.blocks[0].metrics)}
    for metric in metrics:
        assert np.flatnonzero(np.isnan(values[:, column[metric]])).tolist() == list(range(10, 20)), metric
    assert not np.isnan(values[:, column["a"]]).any()
    reasons = {block.missing.get(metrics[0]) for block in outlet.blocks}
    assert reasons >= {None, f"no value in {file}"}
    assert stats.ticks == 30


def test_a_file_that_is_gone_and_comes_back_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_text("1\n")
    reader = FieldReader(lambda content: ((b"n",), content.split()[:1]), [Field("n", (b"n",))])
    collector = FileCollector("numbers", KernelFile(path), reader)
    assert collector.is_supported().supported
    collector.close()
    path.unlink()
    script = Script(ticks=20)
    wait = script.wait

    def returning(seconds: float) -> bool:
        if script.left == 10:
            path.write_text("2\n")
        return wait(seconds)

    script.wait = returning  # type: ignore[method-assign]
    outlet, stats = run(script, Scheduled(collector))
    collector.close()
    values = np.concatenate([block.values[:, 0] for block in outlet.blocks])
    np.testing.assert_array_equal(values, [np.nan] * 10 + [2.0] * 10)
    assert (stats.collectors["numbers"].failures, stats.collectors["numbers"].is_up) == (11, True)
