"""`pulsetrain agent`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pulsetrain.cli.commands.options import BootstrapOption, ConfigOption, PrefixOption, configuration

# What numpy and the C library would set aside for many threads.
_FRUGAL = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}


def agent(config: ConfigOption = None, bootstrap: BootstrapOption = None, prefix: PrefixOption = None) -> None:
    """Read this machine's metrics and send them to Kafka until stopped.

    One agent runs on each node. While Kafka is away it holds what it reads: on disk if agent.spool.folder is set, else
    in memory. Ctrl-C or SIGTERM ends it, after it has delivered what it holds; SIGHUP makes it read its settings anew.

    Example: pulsetrain agent --bootstrap kafka-0:9092

    Exit codes: 0 stopped, 1 failed, 2 the configuration can't be used.
    """
    configuration(config, bootstrap, prefix)
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


def _become_the_agent(environment: dict[str, str]) -> None:
    """Go on in the same process with a program that loads a sixth less."""
    sys.stdout.flush()
    sys.stderr.flush()
    # -P: a file in the working directory must not stand in for a module.
    command = [sys.executable, "-P", "-m", "pulsetrain.cli.node_agent"]
    os.execve(sys.executable, command, environment)  # noqa: S606
