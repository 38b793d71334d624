"""Options that several commands share, and the configuration that they lead to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pulsetrain.cli.config import Config

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="TOML file with settings (or the variable PULSETRAIN_CONFIG)."),
]
BootstrapOption = Annotated[
    str | None,
    typer.Option("--bootstrap", metavar="HOST:PORT", help="Kafka's address; several separated by commas."),
]
PrefixOption = Annotated[
    str | None, typer.Option("--prefix", metavar="TEXT", help="Beginning of every topic's name (pulsetrain.).")
]
PartitionsOption = Annotated[
    int | None, typer.Option("--partitions", metavar="N", help="Partitions of the partitioned topics (4).")
]


def configuration(
    file: Path | None, bootstrap: str | None = None, prefix: str | None = None, partitions: int | None = None
) -> Config:
    """The configuration from the built-in settings, the file, this process's variables and the flags given.

    Raises:
        ConfigError: something in it can't be used.
    """
    from pulsetrain.cli.config import load_config

    return load_config(
        file,
        os.environ,
        {("kafka", "bootstrap"): bootstrap, ("topics", "prefix"): prefix, ("topics", "partitions"): partitions},
    )


def say(sentence: str) -> None:
    """Tell the user something that is not the command's output."""
    typer.echo(sentence, err=True)
