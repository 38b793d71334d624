"""`pulsetrain agent`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pulsetrain.cli.commands.options import BootstrapOption, ConfigOption, PrefixOption, configuration
from pulsetrain.cli.errors import ConfigError

if TYPE_CHECKING:
    from pulsetrain.agents.settings import AgentSettings

# What numpy and the C library would set aside for many threads.
_FRUGAL = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}


def agent(
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
    prefix: PrefixOption = None,
    list_sources: Annotated[
        bool, typer.Option("--list", help="Show every source and metric, and which of them this machine has; then end.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="With --print: look once, without Kafka; then end.")] = False,
    to_terminal: Annotated[bool, typer.Option("--print", help="With --once: show what was read.")] = False,
) -> None:
    """Read this machine's metrics and send them to Kafka until stopped.

    One agent runs on each node. While Kafka is away it holds what it reads: on disk if agent.spool.folder is set, else
    in memory. Ctrl-C or SIGTERM ends it, after it has delivered what it holds; SIGHUP makes it read its settings anew.

    Example: pulsetrain agent --bootstrap kafka-0:9092

    Exit codes: 0 stopped, 1 failed, 2 the configuration or an argument can't be used.
    """
    settings = configuration(config, bootstrap, prefix)
    if once != to_terminal or (once and list_sources):
        raise ConfigError("Write `pulsetrain agent --once --print` for one look, or `pulsetrain agent --list`.")
    if list_sources or once:
        _show(settings.agent, once)
        return
    _become_the_agent(agent_environment(os.environ, config, bootstrap, prefix))


def agent_environment(
    environment: Mapping[str, str], config: Path | None, bootstrap: str | None, prefix: str | None
) -> dict[str, str]:
    """The environment with the flags in it, as variables, which win over the file as flags do."""
    from pulsetrain.cli.config import CONFIG_VARIABLE
    from pulsetrain.cli.config_sources import variable_name

    flags = {
        CONFIG_VARIABLE: None if config is None else str(config),
        variable_name(("kafka", "bootstrap")): bootstrap,
        variable_name(("topics", "prefix")): prefix,
    }
    return {**_FRUGAL, **environment, **{name: value for name, value in flags.items() if value is not None}}


def _show(settings: AgentSettings, values: bool) -> None:
    """Print what there is to be read, or what is read now."""
    from pulsetrain.agents.look import look
    from pulsetrain.agents.sources import configured_sources
    from pulsetrain.cli.agent_tables import source_lines, value_lines
    from pulsetrain.cli.open_files import allow_open_files

    allow_open_files()  # as many containers as the agent reads
    with closing(configured_sources(settings)) as sources:
        if values:
            found, failures = look(sources)
            absent = {
                source.collector: source.support.reason for source in sources.listed() if not source.support.supported
            }
            lines = value_lines(found, {**failures, **absent})
        else:
            lines = source_lines(sources.listed())
        for line in lines:
            typer.echo(line)


def _become_the_agent(environment: dict[str, str]) -> None:
    """Go on in the same process with a program that loads a sixth less."""
    sys.stdout.flush()
    sys.stderr.flush()
    # -P: a file in the working directory must not stand in for a module.
    command = [sys.executable, "-P", "-m", "pulsetrain.cli.node_agent"]
    os.execve(sys.executable, command, environment)  # noqa: S606
