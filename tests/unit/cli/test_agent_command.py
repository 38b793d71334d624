"""`pulsetrain agent`: what it shows, and how its flags reach the agent's own process."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pulsetrain.agents.collectors.base import Support
from pulsetrain.agents.look import Value
from pulsetrain.agents.sources import Source
from pulsetrain.cli.agent_tables import source_lines, value_lines
from pulsetrain.cli.commands.agent import agent_environment
from pulsetrain.cli.config import load_config
from pulsetrain.cli.main import app

LOAD = "system.linux.load"


def test_sources_stand_in_columns_with_what_they_are_and_why_they_are_absent() -> None:
    lines = source_lines(
        [
            Source("memory", "/proc/meminfo", 100, ("system.memory.limit",), Support(True)),
            Source("irq", "/proc/irq", 1000, (), Support(False, "no such file")),
        ]
    )
    assert list(lines) == [
        "collector  metric               unit  kind   every    here  read from, or why not",
        "memory     system.memory.limit  By    gauge  100 ms   yes   /proc/meminfo",
        "irq        -                    ?     ?      1000 ms  no    no such file",
    ]


def test_values_stand_under_their_entity_and_what_brought_none_at_the_end() -> None:
    lines = value_lines(
        [
            Value("memory", "host", "system.memory.limit", 17179869184.0),
            Value("cpu", "host", "system.linux.interrupts", 1234.0, 12.3456789),
            Value("gpu", "gpu:0", "a.b", float("nan"), None, "not permitted"),
        ],
        {"rapl": "no RAPL"},
    )
    assert list(lines) == [
        "host:",
        "metric                         value  unit         per second",
        "system.memory.limit      17179869184  By",
        "system.linux.interrupts         1234  {interrupt}     12.3457",
        "",
        "gpu:0:",
        "metric  value  unit  per second",
        "a.b         -  ?                 not permitted",
        "",
        "nothing from:",
        "rapl  no RAPL",
    ]


def test_this_machines_sources_are_listed() -> None:
    result = CliRunner().invoke(app, ["agent", "--list"])
    assert result.exit_code == 0
    assert any(line.startswith("cpu ") and "system.cpu.utilization" in line for line in result.output.splitlines())


def test_one_look_needs_no_kafka() -> None:
    result = CliRunner().invoke(app, ["agent", "--once", "--print", "--bootstrap", "127.0.0.1:1"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0] == "host:"
    memory = next(line.split() for line in lines if line.startswith("system.memory.limit "))
    total = Path("/proc/meminfo").read_text().splitlines()[0].split()[1]
    assert memory == ["system.memory.limit", str(int(total) * 1024), "By"]


@pytest.mark.parametrize("flags", [["--once"], ["--print"], ["--once", "--print", "--list"]], ids=" ".join)
def test_flags_that_belong_together_are_asked_for_together(flags: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    result = CliRunner().invoke(app, ["agent", *flags])
    assert result.exit_code == 1
    assert "pulsetrain agent --once --print" in str(result.exception)


def test_flags_win_over_variables_and_the_file_in_the_agents_own_process_too(tmp_path: Path) -> None:
    file = tmp_path / "pulsetrain.toml"
    file.write_text("[kafka]\nbootstrap = 'file:1'\n[topics]\nprefix = 'file.'\n[agent]\nnode = 'from-file'\n")
    variables = {"PULSETRAIN_KAFKA__BOOTSTRAP": "variable:1", "PULSETRAIN_TOPICS__PREFIX": "variable.", "HOME": "/x"}
    environment = agent_environment(variables, file, "flag:1", None)
    config = load_config(environment=environment)
    assert config.kafka.bootstrap == "flag:1"
    assert config.topics.prefix == "variable."
    assert config.agent.node == "from-file"
    assert environment["HOME"] == "/x"


def test_the_operators_own_limits_of_threads_and_arenas_are_kept() -> None:
    environment = agent_environment({"MALLOC_ARENA_MAX": "8"}, None, None, None)
    assert environment == {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "8"}
